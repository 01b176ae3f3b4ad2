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
_FASTEST_SLEW = 2000
"""A wall clock is slewed by at most 500 parts per million (adjtimex(2)): one in 2000."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """Converts wall time; ``least_ns`` and ``most_ns`` bound (monotonic - wall) at ``since_ns``.

    ``drifts`` says that no second pair was noted, so that the bounds widen with time.
    """

    least_ns: int
    most_ns: int
    since_ns: int
    drifts: bool

    @classmethod
    def of(cls, start: Clocks, end: Clocks | None) -> WallClock:
        """From the readings at a run's start and end."""
        offsets = [pair["monotonic_ns"] - pair["wall_ns"] for pair in (start, end) if pair]
        return cls(min(offsets), max(offsets), start["wall_ns"], drifts=end is None)

    def interval_ns(self, wall_ms: int) -> tuple[int, int]:
        """The monotonic interval in which a wall clock that cuts to milliseconds read ``wall_ms``."""
        wall_ns = wall_ms * MS
        error_ns = READING_ERROR_NS
        if self.drifts:
            error_ns += abs(wall_ns - self.since_ns) // _FASTEST_SLEW
        return wall_ns + self.least_ns - error_ns, wall_ns + MS + self.most_ns + error_ns
