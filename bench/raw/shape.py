"""How large a made run is, and what went wrong in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evidence.raw.history import SLOTS

WRITER, OBSERVER = ("writer", 101), ("observer", 250)
BOOKIES: Mapping[str, int] = {"b1": 1, "b2": 2, "b3": 3}
RUN_ID = 2**62 + 7
SIZE_BYTES = 1024
PASSES = (1, 2)
BATCH = 100
"""Entries that the observer asks for in one read, as the real one does."""
WINDOW = 100
"""Adds that the writer keeps in flight on each ledger."""
MS = 1_000_000
STEP_NS = 1_000
"""From one operation of a client to its next."""
BEGAN_NS = 1_000 * MS


@dataclass(frozen=True, slots=True)
class Shape:
    """``ledgers`` of ``entries`` each, of which ``together`` are written at a time.

    Every entry is added once and read back once. With ``census`` every bookie is asked for it in two
    passes; with ``frames`` there is a wire log of all that. ``with_anomalies`` plants one anomaly of each
    kind (:class:`Wounds`); a run without them is valid if it has its census.
    """

    ledgers: int
    entries: int
    together: int = 1
    census: bool = False
    frames: bool = False
    with_anomalies: bool = True

    @property
    def operations(self) -> int:
        """How many rows of operations there will be, about."""
        return self.ledgers * (2 * self.entries + self.entries // BATCH)

    @property
    def last(self) -> int:
        """The last entry of each ledger."""
        return self.entries - 1

    @property
    def written_ns(self) -> int:
        """When the writer had ended."""
        return BEGAN_NS + (self.ledgers * (self.entries + 2) + SLOTS) * STEP_NS

    @property
    def wounds(self) -> Wounds | None:
        """Where the anomalies are, in the middle of the middle ledger; None for a run without."""
        if not self.with_anomalies:
            return None
        lost = self.entries // 2 // BATCH * BATCH + 3
        return Wounds(
            self.ledgers // 2, lost, lost + 2, swapped=lost - 200, damaged=lost - 100, back=lost + 150
        )


@dataclass(frozen=True, slots=True)
class Wounds:
    """The entries of one ledger that suffer, each in a separate read of ``BATCH`` entries.

    ``lost`` to ``lost_last`` are on no bookie at the end; ``swapped`` is delivered after the next one;
    ``damaged`` comes back with other bytes in the final read; the add of ``back`` returned a lower LAC.
    """

    ledger: int
    lost: int
    lost_last: int
    swapped: int
    damaged: int
    back: int

    @property
    def told_back(self) -> int:
        """The lower LAC."""
        return self.back - 2 * WINDOW


def many(operations: int, **extras: bool) -> Shape:
    """Ledgers of 1,000 entries, eight written at a time; ``extras`` are fields of :class:`Shape`."""
    return Shape(max(8, operations // 2_010 // 8 * 8), 1_000, together=8, **extras)


def huge(operations: int, **extras: bool) -> Shape:
    """One ledger."""
    return Shape(1, max(1_000, operations * BATCH // (2 * BATCH + 1)), **extras)
