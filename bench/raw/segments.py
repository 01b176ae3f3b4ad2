"""Writes slots and frames as segments on disk: headers, sequence numbers, checksums."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.raw.shape import RUN_ID
from evidence import history, wirelog
from evidence.crc import crc32
from evidence.history import BOOT_SHIFT, SLOT, SLOT_BYTES, SLOTS
from evidence.wirelog import RECORD, RECORD_BYTES, RECORDS, first_seq_of

Rows = NDArray[Any]


def write_slots(folder: Path, client: tuple[str, int], blocks: Iterable[Rows]) -> int:
    """Write the segments of boot 1 of one client; return how many slots they hold.

    ``blocks`` have their sequence numbers already; a slot whose outcome is 0 never completed.
    """
    name, number = client
    total = 0
    for index, slots in enumerate(_cut(blocks, SLOT, SLOTS)):
        header = np.zeros(1, dtype=history.HEADER)
        header["magic"], header["version"] = history.MAGIC, history.VERSION
        header["slot_size"], header["run_id"], header["client"] = SLOT_BYTES, RUN_ID, number
        header["first_seq"], header["slots"] = (1 << BOOT_SHIFT) + 1 + index * SLOTS, SLOTS
        header["name"] = name.encode()
        _seal(header, history.SLOT_BYTES - 4)
        halves = slots.view(np.uint8).reshape(len(slots), 2, history.HALF_BYTES)
        for half, part in enumerate(("invoked", "completed")):
            slots[part]["crc"] = crc32(halves[:, half, : history.CRC_AT])
        with (folder / f"{name}-001-{index + 1:06d}.hist").open("wb") as file:
            header.tofile(file)
            slots.tofile(file)
            file.truncate(history.FILE_BYTES)
        total += len(slots)
    return total


def write_frames(folder: Path, blocks: Iterable[Rows]) -> int:
    """Write the segments of a wire log; return how many records they hold. Numbers the records."""
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    for number, records in enumerate(_cut(blocks, RECORD, RECORDS), start=1):
        header = np.zeros(1, dtype=wirelog.HEADER)
        header["magic"], header["version"] = wirelog.MAGIC, wirelog.VERSION
        header["record_bytes"], header["run_id"], header["records"] = RECORD_BYTES, RUN_ID, RECORDS
        header["number"], header["first_seq"] = number, first_seq_of(number)
        _seal(header, wirelog.HEADER_CRC_AT)
        records["seq"] = first_seq_of(number) + np.arange(len(records))
        raw = records.view(np.uint8).reshape(len(records), RECORD_BYTES)
        records["crc"] = crc32(raw[:, : wirelog.CRC_AT])
        with (folder / f"frames-{number:06d}.wire").open("wb") as file:
            header.tofile(file)
            records.tofile(file)
        total += len(records)
    return total


def _cut(blocks: Iterable[Rows], kind: np.dtype[Any], size: int) -> Iterable[Rows]:
    """The same rows in arrays of ``size``, the last one shorter."""
    room, used = np.zeros(size, dtype=kind), 0
    for block in blocks:
        taken = 0
        while taken < len(block):
            count = min(size - used, len(block) - taken)
            room[used : used + count] = block[taken : taken + count]
            used, taken = used + count, taken + count
            if used == size:
                yield room
                used = 0
    if used:
        yield room[:used]


def _seal(header: Rows, length: int) -> None:
    header["crc"] = crc32(header.view(np.uint8).reshape(1, -1)[:, :length])
