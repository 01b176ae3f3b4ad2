"""When each pass of the census began and ended; what it found is :mod:`checkers.observations`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Pass(NamedTuple):
    """First question and last answer of one pass (ns)."""

    began_ns: int
    ended_ns: int


Passes = Mapping[int, Pass]
"""Number of the pass -> when."""


def scan_passes(rows: Mapping[str, NDArray[Any]]) -> dict[int, Pass]:
    """The passes in some rows of ``census``."""
    found = {}
    for number in np.unique(rows["pass_number"]).tolist():
        mine = rows["pass_number"] == number
        found[number] = Pass(int(rows["asked_ns"][mine].min()), int(rows["answered_ns"][mine].max()))
    return found


def merge_passes(left: Passes, right: Passes) -> dict[int, Pass]:
    """The passes of both."""
    merged = dict(left)
    for number, theirs in right.items():
        mine = merged.get(number, theirs)
        merged[number] = Pass(min(mine.began_ns, theirs.began_ns), max(mine.ended_ns, theirs.ended_ns))
    return merged
