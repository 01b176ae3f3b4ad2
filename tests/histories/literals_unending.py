"""What never ends, each as a literal history; ``LITERALS`` includes the literals of the other module."""

from __future__ import annotations

from tests.histories.boots import boot, server
from tests.histories.literals import BOTH, EVERYWHERE, MADE, NO_RECOVERY, THREE, Says
from tests.histories.literals_servers import LITERALS
from tests.histories.repairs import audit, elected, event, marked, shown, tried, unmarked
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
MOVED = closed(1, 2, earliest_ns=700, latest_ns=702, fragments={0: ("b1", "b2", "b4")})
MARKED = (*UP, elected(), marked(100, "b3"))
says(
    "replicas/not_copied",
    [MADE, MOVED, shown({1: BOTH, 2: BOTH, 3: BOTH, 4: (0,)}, last=1)],
    bookies={**THREE, "b4": 4},
    servers=MARKED,
    lawful=[MADE, MOVED, shown({1: BOTH, 2: BOTH, 3: BOTH, 4: BOTH}, last=1)],
)
GONE = [*boot(1), *boot(2), *boot(3, killed=50), *boot(4), elected(), event(60, "b3", "znode_gone")]
AUDITED = [row for at in range(100, 600, 100) for row in audit(at, at + 5)]
says(
    "replicas/not_marked",
    EVERYWHERE,
    bookies={**THREE, "b4": 4},
    servers=(*GONE, *AUDITED),
    lawful_servers=(*GONE, *AUDITED[2:]),
)
says(
    "replicas/unmarked_unrepaired",
    EVERYWHERE,
    bookies={**THREE, "b4": 4},
    servers=(*GONE, marked(100, "b3"), unmarked(200)),
    lawful_servers=(*GONE, marked(100, "b3"), *boot(3, 2, began=150), unmarked(200)),
)
