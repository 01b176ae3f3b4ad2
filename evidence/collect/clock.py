"""Converts wall-clock milliseconds to the run's monotonic clock, with error bounds.

ZooKeeper stamps its transactions with the wall clock. A run notes both clocks at its start and
at its end; how far they moved against each other in between bounds every conversion. Reads no
file: the pairs come from ``run.json`` and ``end.json``.
"""

from __future__ import annotations

from dataclasses import dataclass

from evidence.shapes import Clocks

MS = 1_000_000
READING_ERROR_NS = 2 * MS
"""The two clocks of a pair are read one after the other, at most this far apart."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """Converts wall time; ``least_ns`` and ``most_ns`` bound (monotonic - wall)."""

    least_ns: int
    most_ns: int

    @classmethod
    def of(cls, start: Clocks, end: Clocks | None) -> WallClock:
        """From the readings at a run's start and end."""
        offsets = [pair["monotonic_ns"] - pair["wall_ns"] for pair in (start, end) if pair]
        return cls(min(offsets), max(offsets))

    @property
    def jumped_ns(self) -> int:
        """By how much the wall clock was set, or the machine slept, between the readings; 0 for neither.

        A clock that is slewed takes the monotonic one along (adjtime(3), clock_gettime(2)).
        """
        moved_ns = self.most_ns - self.least_ns
        return moved_ns if moved_ns > 2 * READING_ERROR_NS else 0

    def interval_ns(self, wall_ms: int) -> tuple[int, int]:
        """The monotonic interval in which a wall clock that cuts to milliseconds read ``wall_ms``."""
        wall_ns = wall_ms * MS
        return wall_ns + self.least_ns - READING_ERROR_NS, wall_ns + MS + self.most_ns + READING_ERROR_NS
