"""What a bookie must know because its own disk held it when an earlier boot died.

What the index lists is there, and what the journal has from its mark on is replayed before the next boot
serves. A disk that a fault may have changed since, or that lost power again, proves nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.contract import RunFacts
from checkers.facts.boots import bookie_of, life_of
from checkers.facts.disks import altered, copied_disks
from checkers.sets.moments import Pieces
from checkers.sets.stripes import Stripes
from evidence.codes import NEVER


class Disks:
    """The disks of a run's bookies at their unclean deaths."""

    def __init__(self, held: Stripes, run: RunFacts) -> None:
        self._held = held
        self._altered = altered(run, copied_disks(run))

    def before(self, ledger: int, bookie: int, boot: int) -> Iterator[tuple[int, Pieces]]:
        """(boot that died, entries of the ledger that the disk held then) of the bookie's earlier boots."""
        held = self._held.of(ledger)
        for life in held.everyone():
            if bookie_of(life) == bookie and life < life_of(bookie, boot) and life not in self._altered:
                yield life - int(life_of(bookie, 0)), _pieces(held, life)


def _pieces(held: Stripes, life: int) -> Pieces:
    """What one life held, as ascending pieces; they have no times."""
    spans = held.spans(life)
    none = np.full(len(spans), NEVER, dtype=np.int64)
    return Pieces(spans.first, spans.last, none, none)
