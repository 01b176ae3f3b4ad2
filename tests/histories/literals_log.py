"""The findings of the log of a run, each as a literal history; ``LITERALS`` has those of all checkers."""

from __future__ import annotations

from typing import Any

from evidence.codes import Flag, Outcome
from tests.histories.literals import Says
from tests.histories.literals_recovery import LITERALS
from tests.histories.story import READER
from tests.histories.story_chain import EVENTS, last, put, seen, shown

__all__ = ("LITERALS",)
of_a_log = Says({"chains": (EVENTS,)})
TWO: list[Any] = [put(7, 0, (10, 11)), put(7, 1, (12, 13)), put(8, 0, (60, 61))]
END = last((7, 1), (8, 0), at=(900, 950))
LAWFUL = [TWO, seen((7, 0), (7, 1), at=(20, 21)), END]
REFUSED = [put(7, 0, (10, 11)), put(7, 1, (12, 13), Outcome.FAIL), put(8, 0, (60, 61))]
UNSURE = [put(7, 0, (10, 11)), put(7, 1, (12, 13), Outcome.UNKNOWN), put(8, 0, (60, 61))]
OTHER_BYTES = [
    *seen((7, 0), at=(20, 21))[:-1],
    shown((7, 0), 1010, digest=5, client=READER, handle=1, flags=Flag.PASS),
]

of_a_log(
    "log/duplicate-elements",
    [TWO, seen((7, 0), (7, 0), at=(20, 21)), END],
    beside={"log/incompatible-order"},
    lawful=LAWFUL,
)
of_a_log("log/garbage-read", [TWO, OTHER_BYTES, END], beside={"log/incompatible-order"}, lawful=LAWFUL)
of_a_log("log/G1a", [REFUSED[:2], last((7, 1), (8, -1), at=(900, 950))], lawful=[UNSURE, END])
of_a_log("log/dirty-update", [REFUSED, END], beside={"log/G1a"}, lawful=[UNSURE, END])
of_a_log(
    "log/incompatible-order",
    [TWO, seen((7, 0), (8, 0), at=(70, 71)), END],
    lawful=[TWO, seen((7, 0), (7, 1), (8, 0), at=(70, 71)), END],
)
of_a_log(
    "log/G0-realtime",
    [put(7, 0, (10, 11)), put(7, 1, (72, 73)), put(8, 0, (60, 61)), END],
    lawful=[put(7, 0, (10, 11)), put(7, 1, (55, 73)), put(8, 0, (60, 61)), END],
)
of_a_log(
    "log/G1c-realtime",
    [TWO, seen((7, 0), (7, 1), at=(8, 9)), END],
    lawful=[TWO, seen((7, 0), (7, 1), at=(8, 12)), END],
)
of_a_log(
    "log/G-single-realtime",
    [TWO, seen((7, 0), at=(100, 110), end=1), END],
    lawful=[TWO, seen((7, 0), at=(100, 110)), END],
)
