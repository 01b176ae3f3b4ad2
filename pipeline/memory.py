"""What collecting and judging need of memory, reckoned before they begin: rows x bytes x cores, and the rest.

The shares were measured by ``scripts/bench judge``, which fails when a run takes more than is reckoned here.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from protocol.errors import JudgementError

MB = 1_000_000
JVM, DRIVER, WORKER = 450 * MB, 250 * MB, 150 * MB
"""Spark's JVM, this process, and a worker before it has rows."""
CORE = 1_500 * MB
"""What we take for each core, of everything: 3 GB for two."""
LEDGER = 4_000
"""Of the summaries that meet in this process, for each version of a ledger's metadata."""
SUMMARY = 12 * MB
"""Of the summaries that meet in this process, for each bucket."""
JUDGED = 650
"""Bytes of a row while it is judged: as read, as arrays, as parts, and what is kept of the slice before."""
COLLECTED = 335 * MB
"""Of a core while it collects, a million operations at a time. Workers keep it for what they do next."""
MOST_ROWS, FEWEST_ROWS = 75_000, 25_000
"""Rows of a slice; larger ones are slower, for fresh memory costs more than one more merge. A task holds
fewer than two slices at a time."""


@dataclass(frozen=True, slots=True)
class Need:
    """What judging takes with slices of so many rows on so many cores."""

    cores: int
    rows: int
    versions: int
    buckets: int

    @property
    def size_bytes(self) -> int:
        """All processes together."""
        return self._with(2 * self.rows * JUDGED)

    @property
    def after_collecting_bytes(self) -> int:
        """The same where the same workers have collected the run."""
        return self._with(max(COLLECTED, 2 * self.rows * JUDGED))

    def _with(self, core: int) -> int:
        summaries = LEDGER * self.versions + SUMMARY * self.buckets
        return JVM + DRIVER + summaries + self.cores * (WORKER + core)


def slice_rows(cores: int, versions: int, buckets: int, *, free_bytes: int | None = None) -> int:
    """Rows of a slice with which judging fits into ``CORE`` bytes a core, and into what is free.

    ``versions`` are those of the metadata of all ledgers. Raises ``JudgementError`` when not even small
    slices fit.
    """
    free = psutil.virtual_memory().available if free_bytes is None else free_bytes
    least = Need(cores, FEWEST_ROWS, versions, buckets)
    if least.size_bytes > free:
        raise JudgementError(
            f"judging on {cores} cores takes {least.size_bytes / 1e9:.1f} GB at least, "
            f"{free / 1e9:.1f} GB are free",
            remedy="judge on fewer cores, with --master 'local[1]'",
        )
    room = min(free, max(CORE * cores, least.size_bytes))
    spare = room - Need(cores, 0, versions, buckets).size_bytes
    return max(FEWEST_ROWS, min(MOST_ROWS, spare // (2 * JUDGED * cores)))
