"""What the bookies answered in the census and what the final reads delivered.

These are the facts against which a promise is held. Summaries only; who was promised what is
:mod:`checkers.obliged`, and what follows from both is :mod:`checkers.losses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from checkers.marks import Marks
from checkers.spans import Spans
from evidence.codes import Flag, Holding, Kind, Outcome, Proof

Columns = Mapping[str, NDArray[Any]]
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


def scan_census(rows: Columns) -> Census:
    """The census rows of one chunk, in any order."""
    holding = rows["holding"]
    kinds = {
        name: _by_asked(rows, holding == code)
        for name, code in (
            ("absent", Holding.ABSENT),
            ("damaged", Holding.DAMAGED),
            ("unknown", Holding.UNKNOWN),
        )
    }
    present = {
        asked: Marks.of_rows(
            rows["ledger"][pick], rows["entry"][pick], rows["origin"][pick], rows["size_bytes"][pick]
        )
        for asked, pick in _picks(rows, holding == Holding.PRESENT)
    }
    return Census(**kinds, present=present, answers=len(holding))


def merge_census(left: Census, right: Census) -> Census:
    """The answers of both."""
    return Census(
        absent=_joined(left.absent, right.absent),
        damaged=_joined(left.damaged, right.damaged),
        unknown=_joined(left.unknown, right.unknown),
        present=_joined(left.present, right.present),
        answers=left.answers + right.answers,
    )


def _by_asked(rows: Columns, wanted: NDArray[np.bool_]) -> dict[Asked, Spans]:
    return {
        asked: Spans.of_entries(rows["ledger"][pick], rows["entry"][pick])
        for asked, pick in _picks(rows, wanted)
    }


def _picks(rows: Columns, wanted: NDArray[np.bool_]) -> list[tuple[Asked, NDArray[np.bool_]]]:
    key = rows["pass_number"].astype(np.int64) << 32 | rows["bookie"].astype(np.int64)
    return [((int(k) >> 32, int(k) & 0xFFFF), wanted & (key == k)) for k in np.unique(key[wanted])]


def _joined(left: Mapping[Asked, _Set], right: Mapping[Asked, _Set]) -> dict[Asked, _Set]:
    joined: dict[Asked, _Set] = dict(left)
    for asked, entries in right.items():
        joined[asked] = joined[asked] | entries if asked in joined else entries
    return joined


@dataclass(frozen=True, slots=True)
class Finals:
    """The final reads: what they delivered, and how the final opens went.

    ``kept`` are entries whose payload proves itself, ``spoiled`` those delivered as anything
    else; ``opened`` and ``refused`` are ledgers by the outcome of a final open with recovery
    (a ledger may be in both, after several attempts).
    """

    kept: Marks
    spoiled: Spans
    opened: frozenset[int]
    refused: Mapping[int, int]


def scan_finals(rows: Columns) -> Finals:
    """The final reads in the rows of one chunk; ``refused`` keeps the lowest error code."""
    final = (rows["flags"] & Flag.FINAL) != 0
    ok = rows["outcome"] == Outcome.OK
    entry = final & ok & (rows["kind"] == Kind.ENTRY) & (rows["entry"] >= 0)
    proves = rows["proof"] == Proof.PROVES_ITSELF
    kept, spoiled = entry & proves, entry & ~proves
    opens = final & (rows["kind"] == Kind.OPEN)
    refused: dict[int, int] = {}
    failed = opens & ~ok
    for ledger, error in zip(rows["ledger"][failed].tolist(), rows["error"][failed].tolist(), strict=True):
        refused[ledger] = min(refused.get(ledger, error), error)
    return Finals(
        kept=Marks.of_rows(
            rows["ledger"][kept], rows["entry"][kept], rows["origin"][kept], rows["size_bytes"][kept]
        ),
        spoiled=Spans.of_entries(rows["ledger"][spoiled], rows["entry"][spoiled]),
        opened=frozenset(np.unique(rows["ledger"][opens & ok]).tolist()),
        refused=refused,
    )


def merge_finals(left: Finals, right: Finals) -> Finals:
    """The final reads of both."""
    refused = dict(left.refused)
    for ledger, error in right.refused.items():
        refused[ledger] = min(refused.get(ledger, error), error)
    return Finals(left.kept | right.kept, left.spoiled | right.spoiled, left.opened | right.opened, refused)
