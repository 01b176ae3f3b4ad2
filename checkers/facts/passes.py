"""When each pass of the census began and ended; what it found is :mod:`checkers.facts.observations`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from checkers.rows import Rows, at_once


class Pass(NamedTuple):
    """First question and last answer of one pass (ns)."""

    began_ns: int
    ended_ns: int


Passes = Mapping[int, Pass]
"""Number of the pass -> when."""


@at_once
def scan_passes(rows: Rows) -> dict[int, Pass]:
    """The passes in some rows of ``census``."""
    found = {}
    for number in np.unique(rows["pass_number"]).tolist():
        mine = rows.of(pass_number=number)
        found[number] = Pass(int(mine["asked_ns"].min()), int(mine["answered_ns"].max()))
    return found


def merge_passes(left: Passes, right: Passes) -> dict[int, Pass]:
    """The passes of both."""
    merged = dict(left)
    for number, theirs in right.items():
        mine = merged.get(number, theirs)
        merged[number] = Pass(min(mine.began_ns, theirs.began_ns), max(mine.ended_ns, theirs.ended_ns))
    return merged
