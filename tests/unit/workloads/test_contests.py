"""Whether the recoveries of a ledger agree is counted once, however often a recoverer comes back to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workloads.recovery import Contests
from workloads.registry import Totals

R1, R2 = "r1", "r2"


@pytest.mark.parametrize(
    ("ends", "agreed", "disagreed"),
    [
        (((R1, 7),), 0, 0),
        (((R1, 7), (R2, 7)), 1, 0),
        (((R1, 7), (R2, 6)), 0, 1),
        # Killed after its recovery, before it continued: its next boot recovers the ledger again.
        (((R1, 7), (R2, 7), (R2, 7)), 1, 0),
        (((R2, 7), (R2, 7), (R1, 7)), 1, 0),
        (((R1, 7), (R2, 7), (R2, 6)), 1, 1),
    ],
)
def test_the_last_recovery_tells(ends: tuple[tuple[str, int], ...], agreed: int, disagreed: int) -> None:
    totals, said = Totals(("agreed", "disagreed")), list[str]()
    crew: Any = SimpleNamespace(totals=totals, say=said.append)
    contests = Contests(crew, (R1, R2))
    contest = contests.begin(1)
    for recoverer, end in ends:
        contests.ended(contest, recoverer, end)
    assert totals.counts() == {"agreed": agreed, "disagreed": disagreed}
    assert contest.over.is_set() is (len(dict(ends)) == 2)
    assert len(said) == disagreed
