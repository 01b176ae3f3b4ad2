"""Single operations that break a rule by themselves, gathered by ledger and kind.

Recorders write beside each operation what the rule demands of it, so a row convicts or not
without its neighbours. Kept per (kind, ledger): the exact number, the range of entries, and the
first such operation as the example.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from checkers.rows import Rows


class Offence(NamedTuple):
    """``number`` operations on ``first``..``last``; the example told ``told`` where ``due`` was right."""

    number: int
    first: int
    last: int
    client: int
    seq: int
    told: int
    due: int


Offences = Mapping[tuple[str, int], Offence]
"""(kind, ledger) -> offence."""


def offences(kind: str, rows: Rows, *, told: str, due: str) -> dict[tuple[str, int], Offence]:
    """Gather the rows; ``told`` and ``due`` name the columns that differ, ``told`` the entries."""
    if not rows.number:
        return {}
    at = np.lexsort((rows["seq"], rows["client"], rows["ledger"]))
    ledger, values = rows["ledger"][at], rows[told][at]
    starts = np.flatnonzero(np.concatenate([[True], ledger[1:] != ledger[:-1]]))
    sizes = np.diff(np.append(starts, len(at)))
    lows, highs = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    found = {}
    for start, size, low, high in zip(
        starts.tolist(), sizes.tolist(), lows.tolist(), highs.tolist(), strict=True
    ):
        row = at[start]
        found[kind, int(ledger[start])] = Offence(
            size,
            low,
            high,
            int(rows["client"][row]),
            int(rows["seq"][row]),
            int(rows[told][row]),
            int(rows[due][row]),
        )
    return found


def merge_offences(left: Offences, right: Offences) -> dict[tuple[str, int], Offence]:
    """Numbers added, the earlier example kept."""
    merged = dict(left)
    for key, theirs in right.items():
        mine = merged.get(key)
        merged[key] = theirs if mine is None else _joined(mine, theirs)
    return merged


def _joined(left: Offence, right: Offence) -> Offence:
    example = min(left, right, key=lambda offence: (offence.client, offence.seq))
    return example._replace(
        number=left.number + right.number,
        first=min(left.first, right.first),
        last=max(left.last, right.last),
    )
