"""Corruption of a bookie's files while it is down: flipped bits, missing ends, old copies.

The run's seed chooses the places, within the part of a file that was written: journals are preallocated,
and a flipped bit in unused space has no effect. Confirmed by the files' checksums. Depends on the names of
BookKeeper's files, not on how a bookie reacts to the damage.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Literal, Self

from pydantic import Field, model_validator

from cluster.interface import Bookie, Cluster, ProcessState
from nemesis.registry import BookieFault, FaultContext, Proof, register
from nemesis.storage import Part, Tampering, assert_down, by_place, files_below, folders
from plans.grammar.names import GivenFault
from protocol.errors import FaultError, UsageError

_WHERE: Mapping[str, tuple[Part, Sequence[str]]] = {
    "entry_log": ("ledgers", ("*.log",)),
    "index": ("index", ("*.sst", "*.log")),
    "journal": ("journal", ("*.txn",)),
    "ledgers_wal": ("index", ("ledgers/*.log",)),
    "locations_wal": ("index", ("locations/*.log",)),
}
_OF_INDEX = ("ledgers", "locations")
_SHOWN = 16
_HEADER_BYTES = 1024
"""The header of an entry log. A record is its length, big-endian in four bytes, and that many bytes."""
_MIB_BIT = 12  # counted from the lowest bit of each byte, the first byte first: 2 ** 20 of the length


@register
class Corrupt(BookieFault, Tampering):
    """Damage a stopped bookie's files: flip bits, cut off the end, or restore an old copy.

    ``index`` is RocksDB; ``ledgers_wal`` and ``locations_wal`` are the write-ahead logs of its two databases.
    ``flip`` flips ``bits`` bits, at places that the seed chooses, or one bit of the length of that ``record``
    (0, 1, ...) of the oldest entry log, which makes it 1 MiB larger; ``truncate`` cuts ``cut_bytes``, or a
    share of the written part, off the newest file; ``roll_back`` restores the files of the snapshot ``to``.
    Healing restores nothing.
    """

    kind = "corrupt"
    stays = "what was corrupted stays so"
    what: Literal["entry_log", "index", "journal", "ledgers_wal", "locations_wal"]
    how: Literal["flip", "truncate", "roll_back"]
    bits: int = Field(default=8, ge=1, le=100_000)
    record: int | None = Field(default=None, ge=0)
    cut_bytes: int | None = Field(default=None, ge=1)
    cut_share: float | None = Field(default=None, gt=0, le=1)
    to: GivenFault | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.how == "truncate") != ((self.cut_bytes is None) != (self.cut_share is None)):
            raise ValueError("`truncate`, and nothing else, takes one of `cut_bytes` and `cut_share`")
        if (self.how == "roll_back") != (self.to is not None):
            raise ValueError("`roll_back`, and nothing else, takes `to`, the name of a snapshot")
        if self.record is not None and (self.what, self.how) != ("entry_log", "flip"):
            raise ValueError("only an `entry_log` has records, of which `flip` takes one")
        return self

    def assert_available(self, cluster: Cluster) -> None:
        bookie = cluster.bookie(self.target)
        assert_down(bookie)
        if self.to is not None and self.to not in bookie.snapshots():
            raise UsageError(f"{self.target} has no snapshot {self.to!r}")

    def inject(self, context: FaultContext) -> Proof:
        bookie = context.cluster.bookie(self.target)
        bookie.capture_disk()  # What it held at its death is not what we leave of it.
        before = self._sums(bookie)
        if self.record is not None:
            done = self._lengthen(bookie, self.record)
        elif self.how == "flip":
            done = self._flip(bookie, context.random(f"fault/{context.number}"))
        else:
            done = self._truncate(bookie) if self.how == "truncate" else self._roll_back(bookie)
        after = self._sums(bookie)
        changed = {
            name: {"before": before.get(name), "after": after.get(name)}
            for name in sorted(before.keys() | after.keys())
            if before.get(name) != after.get(name)
        }
        return {"boot": bookie.boot, **done, "changed": changed}

    def confirm(self, context: FaultContext) -> Proof:
        bookie, changed = context.cluster.bookie(self.target), context.injected["changed"]
        if not changed:
            raise FaultError(f"no file of {self.target}'s {self.what} has changed")
        now = self._sums(bookie)
        wrong = [name for name, sums in changed.items() if now.get(name) != sums["after"]]
        if wrong or bookie.state is not ProcessState.DOWN:
            raise FaultError(f"{self.target} was started meanwhile, or {', '.join(wrong)} changed again")
        return {"files": len(changed)}

    def _flip(self, bookie: Bookie, random: Random) -> Proof:
        """Flip distinct bits; the proof names the places of the first few."""
        written = {path: len(_written(path)) for path in self._files(bookie.places())}
        total = 8 * sum(written.values())
        if total < self.bits:
            raise FaultError(f"{self.target}'s {self.what} has {total} bits, too few to flip {self.bits}")
        places = []
        for place in sorted(random.sample(range(total), self.bits)):
            path, bit = _located(place, written)
            _turn_over(path, bit)
            places.append(f"{path.name}:{bit // 8}.{bit % 8}")
        return {"bits": len(places), "first": places[:_SHOWN]}

    def _lengthen(self, bookie: Bookie, record: int) -> Proof:
        path = min(self._files(bookie.places()), key=lambda one: int(one.stem, 16))
        log, place = _written(path), _HEADER_BYTES
        for _ in range(record):
            place += 4 + int.from_bytes(log[place : place + 4])
        if place + 4 > len(log):
            raise FaultError(f"{path.name} of {self.target} has no record {record}")
        _turn_over(path, 8 * place + _MIB_BIT)
        return {"file": path.name, "place": place}

    def _truncate(self, bookie: Bookie) -> Proof:
        """Cut the end of the newest file's written part off."""
        files = self._files(bookie.places())
        sizes = {path: size for path in files if (size := len(_written(path)))}
        path = max(sizes, key=lambda one: (one.stat().st_mtime_ns, one.name), default=None)
        if path is None:
            raise FaultError(f"{self.target} has nothing written in its {self.what}")
        written = sizes[path]
        cut = self.cut_bytes or max(1, int(written * (self.cut_share or 0)))
        _alone(path)
        with path.open("r+b") as file:
            file.truncate(max(0, written - cut))
        return {"file": path.name, "written_bytes": written, "cut_bytes": min(cut, written)}

    def _roll_back(self, bookie: Bookie) -> Proof:
        """Replace the present files of that part with the snapshot's."""
        copy, places = bookie.snapshots()[str(self.to)], bookie.places()
        for path in self._files(places):
            path.unlink()
        old_files = self._files({path.name: path for path in sorted(copy.iterdir())})
        for old in old_files:
            new = places[old.relative_to(copy).parts[0]].joinpath(*old.relative_to(copy).parts[1:])
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(old, new)
        return {"snapshot": self.to, "brought_back": len(old_files)}

    def _files(self, places: Mapping[str, Path]) -> list[Path]:
        """The selected files of a bookie or of a copy; for an index that is rolled back, all files."""
        part, _ = _WHERE[self.what]
        found = (path for folder in folders(places, part) for path in files_below(folder))
        return [path for path in found if self._meant(path)]

    def _meant(self, path: Path) -> bool:
        """Whether a file below the part's folders is selected; RocksDB's are only rolled back together."""
        if self.what == "entry_log" and path.parent.name in _OF_INDEX:
            return False
        if self.what == "index" and self.how == "roll_back":
            return True
        return any(path.match(pattern) for pattern in _WHERE[self.what][1])

    def _sums(self, bookie: Bookie) -> dict[str, str]:
        """The checksum of each file, by its place and its path from there."""
        selected = {*self._files(bookie.places())}
        files = ((name, path) for name, path in by_place(bookie).items() if path in selected)
        return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files}


def _located(place: int, written: Mapping[Path, int]) -> tuple[Path, int]:
    for path, size_bytes in written.items():
        if place < 8 * size_bytes:
            return path, place
        place -= 8 * size_bytes
    raise ValueError(f"{place} is after the last file")


def _alone(path: Path) -> None:
    """Replace a hard-linked file by a copy: the evidence taken at the death may be a link to it."""
    if path.stat().st_nlink > 1:
        fresh = path.with_name(f".{path.name}.alone")
        shutil.copy2(path, fresh)
        fresh.replace(path)


def _turn_over(path: Path, bit: int) -> None:
    _alone(path)
    with path.open("r+b") as file:
        file.seek(bit // 8)
        (byte,) = file.read(1)
        file.seek(bit // 8)
        file.write(bytes([byte ^ (1 << bit % 8)]))


def _written(path: Path) -> bytes:
    """A file without the zeros at its end."""
    return path.read_bytes().rstrip(b"\0")
