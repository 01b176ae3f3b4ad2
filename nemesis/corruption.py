"""Corruption of a bookie's files while it is down: flipped bits, missing ends, old copies.

The run's seed chooses the places, within the part of a file that was written: journals are preallocated,
and a flipped bit in unused space has no effect. Confirmed by the files' checksums. Depends on the names of
BookKeeper's files, not on how a bookie reacts to the damage.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from cluster.interface import Cluster, HasSnapshots
from nemesis.processes import capture_disk
from nemesis.registry import FaultContext, Proof, register
from nemesis.storage import Part, Tampering, files_below, folders, folders_in, unreachable
from plans.names import BookieName, GivenFault, Params
from protocol.errors import FaultError

_WHERE: Mapping[str, tuple[Part, Sequence[str]]] = {
    "entry_log": ("ledgers", ("*.log",)),
    "index": ("index", ("*.sst", "*.log")),
    "journal": ("journal", ("*.txn",)),
}
_OF_INDEX = ("ledgers", "locations")
_SHOWN = 16


class Corrupt(Params):
    """The bookie, its files, and what is done to them; each way has its own parameters.

    ``flip`` flips ``bits`` bits, anywhere in the files; ``truncate`` cuts ``cut_bytes``, or a share of
    the written part, off the newest file; ``roll_back`` restores a snapshot's files.
    """

    target: BookieName
    what: Literal["entry_log", "index", "journal"]
    how: Literal["flip", "truncate", "roll_back"]
    bits: int = Field(default=8, ge=1, le=100_000)
    cut_bytes: int | None = Field(default=None, ge=1)
    cut_share: float | None = Field(default=None, gt=0, le=1)
    to: GivenFault | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.how == "truncate") != ((self.cut_bytes is None) != (self.cut_share is None)):
            raise ValueError("`truncate`, and nothing else, takes one of `cut_bytes` and `cut_share`")
        if (self.how == "roll_back") != (self.to is not None):
            raise ValueError("`roll_back`, and nothing else, takes `to`, the name of a snapshot")
        return self


class _Corrupt(Tampering):
    """Done at once, and never undone."""

    name = "corrupt"
    about = "damage a stopped bookie's files: flip bits, cut off the end, or restore an old copy"
    params: type[BaseModel] = Corrupt

    def available(self, params: Corrupt, cluster: Cluster) -> str | None:
        if refusal := unreachable(params.target, cluster):
            return refusal
        process: Any = cluster.process(params.target)
        if params.to is None:
            return None
        if not isinstance(process, HasSnapshots):
            return f"{params.target} takes no snapshots on this backend"
        if params.to not in process.snapshots():
            return f"{params.target} has no snapshot {params.to!r}"
        return None

    def inject(self, params: Corrupt, cluster: Cluster, context: FaultContext) -> Proof:
        process = cluster.process(params.target)
        capture_disk(process)  # What it held at its death is not what we leave of it.
        before = _sums(params, cluster)
        done = _WAYS[params.how](params, cluster, context.random(f"fault/{context.number}"))
        after = _sums(params, cluster)
        changed = {
            name: {"before": before.get(name), "after": after.get(name)}
            for name in sorted(before.keys() | after.keys())
            if before.get(name) != after.get(name)
        }
        return {"boot": process.boot, **done, "changed": changed}

    def confirm(self, params: Corrupt, cluster: Cluster, injected: Proof) -> Proof:
        if not injected["changed"]:
            raise FaultError(f"no file of {params.target}'s {params.what} is another than before")
        now = _sums(params, cluster)
        wrong = [name for name, sums in injected["changed"].items() if now.get(name) != sums["after"]]
        if wrong or unreachable(params.target, cluster):
            raise FaultError(f"{params.target} was started meanwhile, or {', '.join(wrong)} changed again")
        return {"files": len(injected["changed"])}

    def heal(self, params: Corrupt, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        return {"stays": "what was corrupted stays so"}


def _flip(params: Corrupt, cluster: Cluster, random: Random) -> Proof:
    """Flip distinct bits; the proof names the places of the first few."""
    written = {path: len(_written(path)) for path in _files(params, cluster)}
    total = 8 * sum(written.values())
    if total < params.bits:
        raise FaultError(f"{params.target}'s {params.what} has {total} bits, too few to flip {params.bits}")
    places = []
    for place in sorted(random.sample(range(total), params.bits)):
        path, bit = _located(place, written)
        _turn_over(path, bit)
        places.append(f"{path.name}:{bit // 8}.{bit % 8}")
    return {"bits": len(places), "first": places[:_SHOWN]}


def _located(place: int, written: Mapping[Path, int]) -> tuple[Path, int]:
    for path, size_bytes in written.items():
        if place < 8 * size_bytes:
            return path, place
        place -= 8 * size_bytes
    raise ValueError(f"{place} is behind the last file")


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


def _truncate(params: Corrupt, cluster: Cluster, random: Random) -> Proof:  # noqa: ARG001  # one of the ways
    """Cut the end of the newest file's written part off."""
    path = max(_files(params, cluster), key=lambda one: (one.stat().st_mtime_ns, one.name), default=None)
    if path is None:
        raise FaultError(f"{params.target} has nothing written in its {params.what}")
    written = len(_written(path))
    cut = params.cut_bytes if params.cut_share is None else max(1, int(written * params.cut_share))
    assert cut is not None  # noqa: S101  # the model demands one of the two
    _alone(path)
    with path.open("r+b") as file:
        file.truncate(max(0, written - cut))
    return {"file": path.name, "written_bytes": written, "cut_bytes": min(cut, written)}


def _roll_back(params: Corrupt, cluster: Cluster, random: Random) -> Proof:  # noqa: ARG001  # one of the ways
    """Replace the present files of that part with the snapshot's."""
    process: Any = cluster.process(params.target)
    copy, places = process.snapshots()[params.to], process.places()
    for path in _files(params, cluster, empty=True):
        path.unlink()
    back = 0
    for old in _old_files(params, copy):
        new = places[old.relative_to(copy).parts[0]].joinpath(*old.relative_to(copy).parts[1:])
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(old, new)
        back += 1
    return {"snapshot": params.to, "brought_back": back}


_WAYS: Mapping[str, Callable[[Corrupt, Cluster, Random], Proof]] = {
    "flip": _flip,
    "truncate": _truncate,
    "roll_back": _roll_back,
}


def _files(params: Corrupt, cluster: Cluster, *, empty: bool = False) -> list[Path]:
    """The selected files, without empty ones; for an index that is rolled back, all files."""
    part, _ = _WHERE[params.what]
    found = [path for folder in folders(params.target, part, cluster) for path in files_below(folder)]
    return [path for path in found if _meant(params, path) and (empty or path.stat().st_size)]


def _old_files(params: Corrupt, copy: Path) -> Iterator[Path]:
    part, _ = _WHERE[params.what]
    for folder in folders_in({path.name: path for path in sorted(copy.iterdir())}, part):
        yield from (path for path in files_below(folder) if _meant(params, path))


def _meant(params: Corrupt, path: Path) -> bool:
    """Whether a file below the part's folders is selected; RocksDB's files are only rolled back together."""
    if params.what == "entry_log" and path.parent.name in _OF_INDEX:
        return False
    if params.what == "index" and params.how == "roll_back":
        return True
    return any(path.match(pattern) for pattern in _WHERE[params.what][1])


def _written(path: Path) -> bytes:
    """A file without the zeros at its end."""
    return path.read_bytes().rstrip(b"\0")


def _sums(params: Corrupt, cluster: Cluster) -> dict[str, str]:
    """The checksum of each file, by its place and its path from there."""
    process: Any = cluster.process(params.target)
    places = process.places()
    return {
        f"{name}/{path.relative_to(root)}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in _files(params, cluster, empty=True)
        for name, root in places.items()
        if path.is_relative_to(root)
    }


register(_Corrupt())
