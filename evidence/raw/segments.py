"""What clients' histories and the wire log have in common: segments of a log, each one file.

A segment is a header with a CRC-32 in its last four bytes, then records of one size, each numbered in its
first eight bytes. A file that is not full has zeros after its last record. Does not interpret records.

A record that ends in its own CRC-32 (IEEE, as in zlib) leaves the same remainder as any other. So the
checksum of many sound records in a row depends on their number and length only, and one call of zlib checks
them all. A damaged record among them is detected as reliably as alone; damage of two cancels out once in
2**32 times.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_NAMED_DAMAGES = 20
_NUMBER_BYTES = 8
_TOGETHER = 2048
"""Records that are checked by one call; if they disagree, each is checked alone."""


def packed(fields: str) -> np.dtype[np.void]:
    """The fields of a record in their order, each with NumPy's kind of it: ``seq <i8, kind u1``."""
    return np.dtype([(name, kind) for name, kind in map(str.split, fields.split(","))])


def wrong_header(
    header: bytes, kind: np.dtype[np.void], *, magic: bytes, layout: Mapping[str, int], run_id: int, what: str
) -> str:
    """What is wrong with a header, or nothing.

    ``layout`` are the fields that describe the file, with the only values that this version reads.
    """
    if len(header) < kind.itemsize:
        return "the header is cut off"
    (fields,) = np.frombuffer(header, dtype=kind)
    if zlib.crc32(header[: kind.itemsize - 4]) != int(fields["crc"]) or bytes(fields["magic"]) != magic:
        return "the header is damaged"
    found = tuple(int(fields[name]) for name in layout)
    if found != tuple(layout.values()):
        names = ", ".join(layout).replace("_", " ")
        return f"the layout ({names}) is {found}, not {tuple(layout.values())}"
    if int(fields["run_id"]) != run_id:
        return f"it is a {what} of run {int(fields['run_id'])}, not of run {run_id}"
    return ""


def named_damages(what: str, numbers: Iterable[int], name: Callable[[int], str]) -> list[str]:
    """A sentence for each damaged record, the many after the first ones in one."""
    names = [name(number) for number in numbers]
    named = [f"{one} {what}" for one in names[:_NAMED_DAMAGES]]
    if len(names) > _NAMED_DAMAGES:
        named.append(f"{len(names) - _NAMED_DAMAGES} more, up to {names[-1]}: {what}")
    return named


def in_use(words: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each record is anything but zeros; the last axis of ``words`` is one record."""
    found: NDArray[np.bool_] = words[..., 0] != 0
    found[~found] = words[~found].any(axis=-1)  # few, as a rule: a record begins with its number
    return found


def used_records(path: Path, *, header_bytes: int, record_bytes: int, most: int) -> int:
    """About how many records of a file were written: exact unless the file is damaged."""
    low, high = 0, min(most, max(0, path.stat().st_size - header_bytes) // record_bytes)
    with path.open("rb") as file:
        while low < high:
            middle = (low + high) // 2
            file.seek(header_bytes + middle * record_bytes)
            if any(file.read(_NUMBER_BYTES)):
                low = middle + 1
            else:
                high = middle
    return low


def records_at(
    files: Sequence[Path], places: NDArray[np.int64], *, kind: np.dtype[np.void], header_bytes: int, most: int
) -> NDArray[np.void]:
    """The records at these places, which ascend: place ``n * most + i`` is record ``i`` of the n-th file."""
    found = np.empty(len(places), dtype=kind)
    edges = np.searchsorted(places, most * np.arange(len(files) + 1))
    for path, begin, end in zip(files, edges[:-1], edges[1:], strict=True):
        if begin < end:
            mine = places[begin:end] % most
            stored = np.memmap(str(path), kind, "r", header_bytes, shape=(int(mine[-1]) + 1,))
            np.take(stored, mine, out=found[begin:end], mode="clip")  # another mode copies once more
    return found


def gaps(used: Mapping[int, int], full: int, name: Callable[[int], str], unit: str) -> Iterator[str]:
    """What a log lacks whose segments, by number from 1, hold ``used`` records: all but the last are full."""
    last = max((number for number, count in used.items() if count), default=1)
    for number in range(1, last + 1):
        if number not in used:
            yield f"{name(number)} is missing"
        elif number < last and used[number] < full:
            yield f"{name(number)} ends after {used[number]} {unit}, yet another segment follows"


def crc32(records: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The CRC-32 of each row of ``records``, of shape (rows, length)."""
    return np.fromiter((zlib.crc32(row.tobytes()) for row in records), dtype=np.uint32, count=len(records))


def agree(records: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each row of ``records`` ends in the CRC-32 of the bytes before it, the low byte first."""
    number, length = records.shape
    sound = np.empty(number, dtype=np.bool_)
    for at in range(0, number, _TOGETHER):
        rows = np.ascontiguousarray(records[at : at + _TOGETHER])
        together = zlib.crc32(rows.data) == _of_sound(len(rows), length)
        sound[at : at + _TOGETHER] = together or [
            zlib.crc32(row.data) == _of_sound(1, length) for row in rows
        ]
    return sound


@cache
def _of_sound(number: int, length: int) -> int:
    """The CRC-32 of any sound records in a row."""
    content = bytes(length - 4)
    return zlib.crc32((content + zlib.crc32(content).to_bytes(4, "little")) * number)
