"""Random histories by family: who makes them, who judges them, and what must be among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from checkers.answers import Answers
from checkers.availability import Availability
from checkers.durability.checker import Durability
from checkers.fencing import Fencing
from checkers.judging.contract import RunFacts
from checkers.judging.judge import CHECKERS, Checkers, judge
from checkers.lac.checker import Lac
from checkers.placement import Placement
from checkers.recovery.checker import Recovery
from checkers.replicas.checker import Replicas
from checkers.servers.checker import Servers
from tests.histories import twins_fencing
from tests.histories.story import Fact, chunk, run_facts
from tests.histories.strategies import random_nonsense
from tests.histories.strategies_placement import random_metadata
from tests.histories.strategies_replicas import random_repair
from tests.histories.strategies_servers import random_boots
from tests.histories.strategies_wire import random_acks, random_fates, random_recoveries
from tests.histories.twins_acks import judges

VERDICTS = ("valid", "unknown", "anomaly")
OF_THE_ROWS = ("durability", "closing", "order", "content", "lac", "metadata")


@dataclass(frozen=True)
class Family:
    """``seeds`` histories are judged. ``shown`` is what they must show often enough, ``least`` how often:

    kinds, classes and verdicts by the twins, and what ``also`` says of a history.
    """

    make: Callable[[int], tuple[list[Fact], RunFacts]]
    checkers: Checkers
    seeds: int
    shown: tuple[str, ...] = ()
    least: int = 4
    also: Callable[[list[Fact], RunFacts], Iterable[str]] = lambda _history, _run: ()


def _of_acks(history: list[Fact], run: RunFacts) -> Iterable[str]:
    in_time = judge([chunk(history)], run, checkers=(Lac(),)).judgements["lac"].seen["acked_in_time"]
    return [*(["not judged"] if not judges(run) else []), *["in time"] * in_time]


FAMILIES = {
    "nonsense": Family(
        lambda seed: (random_nonsense(seed), run_facts()),
        tuple(checker for checker in CHECKERS if checker.name in OF_THE_ROWS),
        300,
        (
            *("lost", "undetermined", "corrupt", "vanished"),
            *("closed_below", "closed_unwritten", "two_ends"),
            *("acked_twice", "added_out_of_order", "read_out_of_order", "ended_short"),
            *("damaged", "damaged_copy", "foreign", "not_a_payload", "two_writings"),
            *("went_back", "beyond_close", "covers_unsent"),
            *("malformed", "illegal_move", "wrong_length", "wrong_own_length", "impossible_length"),
            *VERDICTS,
        ),
    ),
    "acks": Family(
        random_acks,
        (Lac(),),
        90,
        ("acked_too_soon", "acked_by_replaced", "covers_unacked", "acked_outside", "not judged", "in time"),
        11,
        _of_acks,
    ),
    "fates": Family(
        random_fates,
        (Durability(), Fencing(), Availability()),
        600,
        (
            *("added_after_close", "accepted_when_fenced", "stuck", "unreadable", "stalled", "open"),
            *("nothing", "forged", "unexplained", "undetermined", *VERDICTS),
        ),
        11,
        lambda history, run: {twins_fencing.recovery(history, run, ledger) for ledger in (1, 2)},
    ),
    "recoveries": Family(
        random_recoveries,
        (Recovery(), Answers()),
        600,
        (
            *("legal", "by_writer", "by_bookie", "unseen", "ended_too_soon", "fenced_too_few"),
            *(
                "not_written_back",
                "not_read",
                "closed_below_lac",
                "wrote_back_unread",
                "not_in_recovery",
                "denied_own_ack",
                "denied_own_show",
                "denied_flushed",
                "denied_durable",
                "limbo_not_shown",
            ),
        ),
        12,
    ),
    "repairs": Family(
        random_repair,
        (Replicas(),),
        200,
        (
            *("under_replicated", "hole", "differing", "not_copied", "not_marked", "unmarked_unrepaired"),
            *("not judged", *VERDICTS),
        ),
    ),
    "boots": Family(random_boots, (Servers(),), 600, (*Servers.kinds, "not judged", *VERDICTS)),
    "metadata": Family(random_metadata, (Placement(),), 300, ("not judged", *VERDICTS)),
}
