"""What never comes to its end, each as a literal history; ``LITERALS`` has those before it too."""

from __future__ import annotations

from tests.histories.literals import EVERYWHERE, NO_RECOVERY, THREE, Says
from tests.histories.literals_servers import LITERALS
from tests.histories.lives import boot, server
from tests.histories.repairs import audit, elected, marked, tried, unmarked
from tests.histories.story import closed, created, opened, recovering

__all__ = ("LITERALS",)
says = Says()

OTHER_KEY = server(1, 1, "key_refused", 50, 50, ledgerId=1)
says(
    "availability/key_lost",
    [created(), recovering(), opened(-1, **NO_RECOVERY)],
    bookies=THREE,
    servers=(*boot(1), *boot(2), *boot(3), OTHER_KEY),
    lawful=[created(), recovering(), closed(-1, 2), opened(-1, invoked_ns=100, completed_ns=109)],
)

UP = [row for number in range(1, 5) for row in boot(number)]
LACKING = [elected(), marked(100, "b4"), *tried(200, 300, 400, 500)]
REPAIRED = [unmarked(700), *audit(900, 950)]
says(
    "replicas/never_repaired",
    EVERYWHERE,
    bookies={**THREE, "b4": 4},
    servers=(*UP, *LACKING, *tried(600), *REPAIRED),
    lawful_servers=(*UP, *LACKING, *REPAIRED),
)
