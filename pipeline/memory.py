"""What collecting and judging need of memory, reckoned before they begin: rows x bytes x cores, and the rest.

The shares were measured by ``scripts/bench judge``, which fails when a run takes more than is reckoned here.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from pipeline.blocks import Block
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
"""Bytes of a row while it is judged: as read, as arrays, as parts, and what is kept of the batch before."""
COLLECTED = 335 * MB
"""Of a core while it collects, a million operations at a time. Workers keep it for what they do next."""
MOST_ROWS, FEWEST_ROWS = 200_000, 25_000
"""Rows of a batch, where blocks are not larger: two of them, of which a task holds fewer, fit into the memory
that its worker kept from collecting. In small batches each rule's fixed cost is over half of the time."""
BLOCK_ROWS = 500_000
"""Rows that a block may well have, on every core at a time (0.3 GB). A block that has more, because one entry
was read a million times, is reckoned once."""


@dataclass(frozen=True, slots=True)
class Need:
    """What judging takes with batches of ``rows`` on ``cores``; ``largest`` is a block's most rows."""

    cores: int
    rows: int
    versions: int
    buckets: int
    largest: int = 0

    @property
    def size_bytes(self) -> int:
        """The sum over driver, JVM and workers."""
        return self._with(self._core)

    @property
    def after_collecting_bytes(self) -> int:
        """The same where the same workers have collected the run."""
        return self._with(max(COLLECTED, self._core))

    @property
    def _core(self) -> int:
        return 2 * max(self.rows, min(self.largest, BLOCK_ROWS)) * JUDGED

    def _with(self, core: int) -> int:
        summaries = LEDGER * self.versions + SUMMARY * self.buckets
        beyond = 2 * max(0, self.largest - BLOCK_ROWS) * JUDGED
        return JVM + DRIVER + summaries + self.cores * (WORKER + core) + beyond


def batch_rows(
    cores: int, versions: int, buckets: int, largest: Block | None = None, *, free_bytes: int | None = None
) -> int:
    """Rows of a batch with which judging fits into ``CORE`` bytes a core, and into what is free.

    ``versions`` counts the versions of all metadata. A block is never cut, however small batches are:
    ``JudgementError`` names the ``largest`` block when it does not fit, and is raised too when not even
    small batches do.
    """
    free = psutil.virtual_memory().available if free_bytes is None else free_bytes
    of_block = largest.rows if largest else 0
    least = Need(cores, FEWEST_ROWS, versions, buckets, of_block)
    if largest and least.size_bytes > free >= Need(cores, FEWEST_ROWS, versions, buckets).size_bytes:
        raise JudgementError(
            f"{largest.text} have {of_block:,} rows of evidence, which are judged together: that takes "
            f"{least.size_bytes / 1e9:.1f} GB on {cores} cores, {free / 1e9:.1f} GB are free",
            remedy="judge on fewer cores, with --master 'local[1]', or where more memory is free",
        )
    if least.size_bytes > free:
        raise JudgementError(
            f"judging on {cores} cores takes {least.size_bytes / 1e9:.1f} GB at least, "
            f"{free / 1e9:.1f} GB are free",
            remedy="judge on fewer cores, with --master 'local[1]'",
        )
    room = min(free, max(CORE * cores, least.size_bytes))
    spare = room - Need(cores, 0, versions, buckets).size_bytes
    return max(FEWEST_ROWS, min(MOST_ROWS, spare // (2 * JUDGED * cores)))
