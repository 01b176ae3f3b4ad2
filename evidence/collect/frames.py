"""Records of the wire log to rows of ``frames``: names for numbers, and the boots of bookies.

Row by row, no join: which boot got a request or gave an answer follows from the record's own times
and from when each boot began and ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evidence.codes import NEVER, Direction, Status
from evidence.raw.segments import records_at
from evidence.raw.wirelog import HEADER_BYTES, RECORD, RECORDS
from evidence.schemas import FRAMES, table_of

NO_BOOT = 0
_UNKNOWN_LINK = (0, 0)

Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BootTimes:
    """The boots of one bookie in their order: number, began not before, ended not later (ns)."""

    boots: tuple[tuple[int, int, int], ...]

    def at(self, earliest_ns: Array, latest_ns: Array) -> Array:
        """For each row the boot that ran at some time from ``earliest_ns`` to ``latest_ns``.

        ``NO_BOOT`` where several boots are possible, or none.
        """
        numbers, began, ended = (np.array(column) for column in zip(*self.boots, strict=True))
        first = np.searchsorted(began, earliest_ns, side="right") - 1
        last = np.searchsorted(began, latest_ns, side="right") - 1
        sure = (first >= 0) & (first == last) & (earliest_ns <= ended[np.maximum(first, 0)])
        return np.where(sure, numbers[np.maximum(first, 0)], NO_BOOT)


@dataclass(frozen=True, slots=True)
class WireNames:
    """The meaning of numbers in a log: link -> (source, bookie), bookie -> its boots."""

    links: Mapping[int, tuple[int, int]]
    boot_times: Mapping[int, BootTimes] = field(default_factory=dict)


def frames_at(names: WireNames, stamped: bool, files: Sequence[Path], places: Array) -> pa.Table:
    """The rows of ``frames`` that sound records are, by their places in segments of the log."""
    records = records_at(files, places, kind=RECORD, header_bytes=HEADER_BYTES, most=RECORDS)
    return frames(records, names, stamped=stamped)


def frames(records: NDArray[np.void], names: WireNames, *, stamped: bool = True) -> pa.Table:
    """Rows of ``frames`` in the order of the records; a link without a name is source 0, bookie 0.

    ``stamped=False``: the forwarding time is not trusted, because it has no checksum. It is then replaced
    by the earliest possible time, and stays ``NEVER`` where the frame was not forwarded.
    """
    sources, bookies = _ends(records["link"], names.links)
    asked_ns = _time(records["asked_ns"])
    forwarded_ns = _time(records["forwarded_ns"])
    if not stamped:
        forwarded_ns = np.where(forwarded_ns == NEVER, NEVER, records["received_ns"])
    columns = {name: records[name] for name in FRAMES.names if name in (records.dtype.names or ())}
    columns |= {
        "source": sources,
        "bookie": bookies,
        "boot": _boots(records, asked_ns, forwarded_ns, bookies, names.boot_times),
        "asked_ns": asked_ns,
        "forwarded_ns": forwarded_ns,
    }
    return table_of(FRAMES, columns)


def _time(stored: Array) -> Array:
    """A time as stored in tables: the log writes 0 where there is no time."""
    return np.where(stored == 0, NEVER, stored)


def _ends(links: Array, known: Mapping[int, tuple[int, int]]) -> tuple[Array, Array]:
    ends = np.array([known.get(link, _UNKNOWN_LINK) for link in range(int(links.max(initial=0)) + 1)])
    return ends[:, 0][links], ends[:, 1][links]


def _boots(
    records: NDArray[np.void],
    asked_ns: Array,
    forwarded_ns: Array,
    bookies: Array,
    boot_times: Mapping[int, BootTimes],
) -> Array:
    """The boot that got each request or gave each answer.

    An answer was given between the forwarding of its request and its arrival at the proxy. A request
    reached only the process at the other end of its connection at that time.
    """
    received_ns = records["received_ns"]
    is_answer = records["way"] == Direction.ANSWER
    earliest_ns = np.where(is_answer, asked_ns, received_ns)
    latest_ns = np.where(is_answer | (forwarded_ns == NEVER), received_ns, forwarded_ns)
    given = ~is_answer | ((asked_ns != NEVER) & (records["status"] != Status.NONE))
    boots = np.full(len(records), NO_BOOT)
    for bookie, times in boot_times.items():
        rows = np.flatnonzero((bookies == bookie) & given)
        boots[rows] = times.at(earliest_ns[rows], latest_ns[rows])
    return boots
