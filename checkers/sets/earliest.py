"""When each voter first voted for a place: exact where a block has few votes, one bound where it has many.

A *place* is a (ledger, entry); the entries of a ledger are taken in blocks of ``BLOCK``. Of a block with more
than ``FEW`` (place, voter) only its earliest vote is kept. Which blocks those are follows from all votes
together, so it does not matter how they were cut. Knows no frame and no operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.sets.folded import LEAST, Folded
from checkers.sets.spans import Ints

BLOCK = 256
"""Entries of a block."""
FEW = 64
"""Votes of one block that are kept one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Earliest:
    """``votes`` are (ledger, entry, voter; earliest ns), ``blocks`` (ledger, block; earliest ns) the rest."""

    votes: Folded
    blocks: Folded

    @classmethod
    def of_rows(
        cls, ledger: NDArray[Any], entry: NDArray[Any], voter: NDArray[Any], at_ns: NDArray[Any]
    ) -> Earliest:
        """Of votes in any order, with repeats."""
        return _thinned(Folded.of_rows([ledger, entry, voter], (at_ns, LEAST)), _NO_BLOCKS)

    def __or__(self, other: Earliest) -> Earliest:
        return _thinned(self.votes | other.votes, self.blocks | other.blocks)


_NONE = np.empty(0, dtype=np.int64)
_NO_BLOCKS = Folded.of_rows([_NONE, _NONE], (_NONE, LEAST))


def _thinned(votes: Folded, blocks: Folded) -> Earliest:
    """The same with the votes of full blocks made a part of their block."""
    ledger, entry, voter, at_ns = votes.columns
    block = entry // BLOCK
    begin = np.flatnonzero(_changes(ledger, block))
    size = np.diff(np.append(begin, len(ledger)))
    known = Folded.of_rows([ledger[begin], block[begin]]).among(_keys(blocks)) if len(blocks) else False
    full: Ints = np.repeat((size > FEW) | known, size)
    if not full.any():
        return Earliest(votes, blocks)
    fresh = Folded.of_rows([ledger[full], block[full]], (at_ns[full], LEAST))
    left = [column[~full] for column in (ledger, entry, voter)]
    return Earliest(Folded.of_rows(left, (at_ns[~full], LEAST)), blocks | fresh)


def _keys(blocks: Folded) -> Folded:
    return Folded(blocks.columns[:2], ())


def _changes(*columns: Ints) -> NDArray[np.bool_]:
    """Where a row differs from the row before it."""
    fresh = np.ones(len(columns[0]), dtype=np.bool_)
    fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return fresh
