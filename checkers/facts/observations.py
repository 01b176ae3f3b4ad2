"""What the bookies answered in the census, by pass and bookie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from checkers.facts.parts import entries_of, signed
from checkers.rows import Rows, at_once
from checkers.sets.marks import Marks
from checkers.sets.sharing import shared
from checkers.sets.spans import Spans
from evidence.codes import Holding

Asked = tuple[int, int]
"""(census pass, bookie number)."""
_Set = TypeVar("_Set", Spans, Marks)


@dataclass(frozen=True, slots=True)
class Census:
    """Answers by (pass, bookie): explicit negatives, other bytes, no answer worth the name, copies."""

    absent: Mapping[Asked, Spans] = field(default_factory=dict)
    damaged: Mapping[Asked, Spans] = field(default_factory=dict)
    unknown: Mapping[Asked, Spans] = field(default_factory=dict)
    present: Mapping[Asked, Marks] = field(default_factory=dict)
    answers: int = 0

    @property
    def passes(self) -> list[int]:
        """The census passes seen, ascending."""
        return sorted({asked[0] for asked in self._asked()})

    @property
    def last_pass(self) -> int:
        """The number of the last pass, 0 when there was none."""
        return max((asked[0] for asked in self._asked()), default=0)

    def bookies(self, number: int) -> list[int]:
        """The bookies that were asked in one pass."""
        return sorted({bookie for asked, bookie in self._asked() if asked == number})

    def _asked(self) -> set[Asked]:
        return {*self.absent, *self.damaged, *self.unknown, *self.present}


@at_once
def scan_census(rows: Rows) -> Census:
    """The rows of ``census`` of one chunk, in any order."""
    return Census(
        absent=_by_asked(rows.of(holding=Holding.ABSENT)),
        damaged=_by_asked(rows.of(holding=Holding.DAMAGED)),
        unknown=_by_asked(rows.of(holding=Holding.UNKNOWN)),
        present={asked: part.once(signed) for asked, part in each_asked(rows.of(holding=Holding.PRESENT))},
        answers=rows.number,
    )


@shared
def merge_census(left: Census, right: Census) -> Census:
    """The answers of both."""
    return Census(
        absent=_joined(left.absent, right.absent),
        damaged=_joined(left.damaged, right.damaged),
        unknown=_joined(left.unknown, right.unknown),
        present=_joined(left.present, right.present),
        answers=left.answers + right.answers,
    )


def _by_asked(rows: Rows) -> dict[Asked, Spans]:
    return {asked: part.once(entries_of) for asked, part in each_asked(rows)}


def each_asked(rows: Rows) -> Iterator[tuple[Asked, Rows]]:
    """The rows of ``census`` by who was asked in which pass, ascending."""
    for number in np.unique(rows["pass_number"]).tolist():
        during = rows.of(pass_number=number)
        for bookie in np.unique(during["bookie"]).tolist():
            yield (number, bookie), during.of(bookie=bookie)


def _joined(left: Mapping[Asked, _Set], right: Mapping[Asked, _Set]) -> dict[Asked, _Set]:
    joined: dict[Asked, _Set] = dict(left)
    for asked, entries in right.items():
        joined[asked] = joined[asked] | entries if asked in joined else entries
    return joined
