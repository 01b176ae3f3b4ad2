"""Wiping a bookie's storage while it is down, as by replaced disks or emptied folders.

The loss is permanent: healing says so and undoes nothing. Only the folders that the bookie itself
names (:class:`cluster.interface.HasFiles`) are touched. Depends on the names of BookKeeper's files in
them, not on how a bookie reacts to their absence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, model_validator

from cluster.interface import Cluster, HasFiles, KeepsCookies, ProcessState
from nemesis.processes import capture_disk
from nemesis.registry import FaultContext, HealOrder, Proof, register
from plans.names import BookieName, Params
from plans.settings import of_index, of_journal
from protocol.errors import FaultError, UsageError

Part = Literal["journal", "ledgers", "index", "all"]

COOKIE = "VERSION"
"""The file that holds a folder's copy of the cookie (``BookKeeperConstants.VERSION_FILENAME``)."""

_OF_THE_FILE_SYSTEM = "lost+found"
_INDEX = ("ledgers", "locations")
"""RocksDB's folders, in ``current`` of each ledger directory."""


class Wipe(Params):
    """The bookie, the part of its storage to wipe, and whether its cookie is removed."""

    target: BookieName
    what: Part = "all"
    cookie: Literal["keep", "remove", "remove_everywhere"] = "remove"

    @model_validator(mode="after")
    def _where_the_cookie_is(self) -> Self:
        if self.what == "index" and self.cookie != "keep" and "cookie" not in self.model_fields_set:
            raise ValueError(
                "the index holds no cookie: write `cookie: keep`, or wipe `ledgers`; "
                "where the plan sets `indexDirectories` it does, and `cookie: remove` removes it"
            )
        return self


class Tampering:
    """The common part of faults that change a stopped server's files: done at once, never undone."""

    supersedes: frozenset[str] = frozenset()

    def target(self, params: Any) -> str:
        """The bookie whose storage is hit."""
        return str(params.target)

    def claims(self, params: Any, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # the protocol's
        """Nothing: it is over when it is done, and may be done again."""
        return frozenset()

    def heal_order(self, params: Any) -> HealOrder:  # noqa: ARG002
        """Among the bookies', though there is nothing to undo."""
        return HealOrder.BOOKIES


class _Wipe(Tampering):
    """Remove the content of the folders; the folders stay, like a newly mounted empty disk."""

    name = "wipe"
    about = "remove the files of a stopped bookie, with or without its cookie"
    params: type[BaseModel] = Wipe

    def available(self, params: Wipe, cluster: Cluster) -> str | None:
        if params.cookie == "remove_everywhere" and not isinstance(cluster.metadata, KeepsCookies):
            return "the metadata store of this backend does not give its cookies away"
        lacking = unreachable(params.target, cluster)
        if lacking is None and params.what == "index" and params.cookie != "keep":
            places: Any = cluster.process(params.target)
            if not any(of_index(place) for place in places.places()):
                return f"the index of {params.target} has no directory of its own, and so no cookie"
        return lacking

    def inject(self, params: Wipe, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        process = cluster.process(params.target)
        capture_disk(process)  # What it held at its death is not what we leave of it.
        gone = [path for path in _files(params, cluster) if not _stays(path, params)]
        size_bytes = sum(path.stat().st_size for path in gone)
        for path in gone:
            path.unlink()
        for folder in folders(params.target, params.what, cluster):
            _drop_empty(folder)
        forgotten = _forget(params, cluster)
        if not gone and not forgotten:
            raise FaultError(f"there was nothing to wipe of {params.target}'s {params.what}")
        return {
            "boot": process.boot,
            "files": len(gone),
            "size_bytes": size_bytes,
            "cookie_forgotten": forgotten,
        }

    def confirm(self, params: Wipe, cluster: Cluster, injected: Proof) -> Proof:
        still = [str(path) for path in _files(params, cluster)]
        wrong = [path for path in still if not _stays(Path(path), params)]
        if wrong:
            raise FaultError(f"{len(wrong)} files are still there, such as {wrong[0]}")
        process = cluster.process(params.target)
        if process.state is not ProcessState.DOWN or process.boot != injected["boot"]:
            raise FaultError(
                f"{params.target} is {process.state} in boot {process.boot}: it was started meanwhile"
            )
        metadata: Any = cluster.metadata
        if params.cookie == "remove_everywhere" and metadata.cookie(params.target) is not None:
            raise FaultError(f"the metadata store still has the cookie of {params.target}")
        return {"kept": still}

    def heal(self, params: Wipe, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        return {"stays": "wiped files are not restored"}


def unreachable(bookie: str, cluster: Cluster) -> str | None:
    """Why the files of a bookie cannot be changed now, or None when they can."""
    try:
        process = cluster.process(bookie)
    except UsageError as error:
        return str(error)
    if not isinstance(process, HasFiles):
        return f"the files of {bookie} cannot be reached on this backend"
    if process.state is not ProcessState.DOWN:
        return (
            f"{bookie} is {process.state}, and its files are its own until it is down: kill or stop it first"
        )
    return None


def folders(bookie: str, what: Part, cluster: Cluster) -> Iterator[Path]:
    """The existing folders of a part of a bookie's storage."""
    process: Any = cluster.process(bookie)
    yield from folders_in(process.places(), what)


def folders_in(places: Mapping[str, Path], what: Part) -> Iterator[Path]:
    """The same of any copy of a bookie's places: every other place is a ledger directory, with its index."""
    for place, folder in places.items():
        if of_index(place) and what == "index":
            yield folder
        elif not of_journal(place) and what == "index":
            yield from (index for name in _INDEX if (index := folder / "current" / name).is_dir())
        elif what in ("all", "journal" if of_journal(place) else "ledgers") and folder.is_dir():
            yield folder


def files_below(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in the order of their paths, except the file system's own."""
    for path in sorted(folder.rglob("*")):
        if not path.is_dir() and _OF_THE_FILE_SYSTEM not in path.relative_to(folder).parts:
            yield path


def _files(params: Wipe, cluster: Cluster) -> list[Path]:
    found = folders(params.target, params.what, cluster)
    return [path for folder in found for path in files_below(folder)]


def _drop_empty(folder: Path) -> None:
    """Remove the empty folders below, because a new bookie requires an empty disk."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and path.name != _OF_THE_FILE_SYSTEM and not any(path.iterdir()):
            path.rmdir()


def _stays(path: Path, params: Wipe) -> bool:
    return params.cookie == "keep" and path.name == COOKIE


def _forget(params: Wipe, cluster: Cluster) -> bool:
    """Remove the cookie if requested; whether the metadata store had one."""
    metadata: Any = cluster.metadata
    if params.cookie != "remove_everywhere" or metadata.cookie(params.target) is None:
        return False
    metadata.forget_cookie(params.target)
    return True


register(_Wipe())
