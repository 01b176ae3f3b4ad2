"""Bookies' storage while they are down: wiped, as by replaced disks, or exchanged, as in the wrong machines.

A wipe is permanent: healing says so and undoes nothing. Healing puts exchanged files back where they were.
Only the folders that the bookies themselves name (:class:`cluster.interface.Bookie`) are touched. Depends
on the names of BookKeeper's files in them, not on how a bookie reacts.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from cluster.interface import Bookie, Cluster, Metadata, ProcessState
from nemesis.registry import (
    BookieFault,
    BookiesFault,
    Fault,
    FaultContext,
    HealOrder,
    Proof,
    assert_still_down,
    register,
)
from plans.cluster import of_index, of_journal
from plans.grammar.names import Bookies
from protocol.errors import FaultError, UsageError

Part = Literal["journal", "ledgers", "index", "all"]

COOKIE = "VERSION"
"""The file that holds a folder's copy of the cookie (``BookKeeperConstants.VERSION_FILENAME``)."""

_ASIDE = ".swapped"
"""A folder on one of two exchanged disks, for what is moved first."""
_OF_THE_FILE_SYSTEM = "lost+found"
_INDEX = ("ledgers", "locations")
"""RocksDB's folders, in ``current`` of each ledger directory."""


class Tampering(Fault):
    """A fault that changes a stopped server's files: done at once, never undone, and possible again."""

    heal_order: ClassVar[HealOrder] = HealOrder.BOOKIES
    stays: ClassVar[str]
    """Why its healing undoes nothing."""

    def heal(self, context: FaultContext) -> Proof:  # noqa: ARG002  # there is nothing to undo
        return {"stays": self.stays}


@register
class Wipe(BookieFault, Tampering):
    """Remove the files of a stopped bookie, with or without its cookie.

    ``what`` is its ``journal``, its ``ledgers`` (entry logs, index, marks), its ``index`` (RocksDB, or all of
    a separate index directory), or ``all``. ``cookie`` is ``remove`` (with the files), ``keep``, or
    ``remove_everywhere``: from ZooKeeper too, which is how a dead bookie is brought back as a new one by
    mistake. Healing restores nothing.
    """

    kind = "wipe"
    stays = "wiped files are not restored"
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

    def assert_available(self, cluster: Cluster) -> None:
        bookie = cluster.bookie(self.target)
        assert_down(bookie)
        if self.what == "index" and self.cookie != "keep" and not any(map(of_index, bookie.places())):
            raise UsageError(f"the index of {self.target} has no separate directory, and so no cookie")

    def inject(self, context: FaultContext) -> Proof:
        """The folders stay, like a newly mounted empty disk."""
        bookie = context.cluster.bookie(self.target)
        bookie.capture_disk()  # What it held at its death is not what we leave of it.
        gone = [path for path in self._files(bookie) if not self._stays(path)]
        size_bytes = sum(path.stat().st_size for path in gone)
        for path in gone:
            path.unlink()
        for folder in folders(bookie.places(), self.what):
            _drop_empty(folder)
        forgotten = self._forget(context.cluster.metadata)
        if not gone and not forgotten:
            raise FaultError(f"{self.target} had nothing to wipe (what: {self.what})")
        return {
            "boot": bookie.boot,
            "files": len(gone),
            "size_bytes": size_bytes,
            "cookie_forgotten": forgotten,
        }

    def confirm(self, context: FaultContext) -> Proof:
        bookie = context.cluster.bookie(self.target)
        still = self._files(bookie)
        wrong = [path for path in still if not self._stays(path)]
        if wrong:
            raise FaultError(f"{len(wrong)} files are still there, such as {wrong[0]}")
        assert_still_down(bookie, context.injected["boot"])
        metadata = context.cluster.metadata
        if self.cookie == "remove_everywhere" and metadata.cookie(self.target) is not None:
            raise FaultError(f"the metadata store still has the cookie of {self.target}")
        return {"kept": [str(path) for path in still]}

    def _files(self, bookie: Bookie) -> list[Path]:
        return [path for folder in folders(bookie.places(), self.what) for path in files_below(folder)]

    def _stays(self, path: Path) -> bool:
        return self.cookie == "keep" and path.name == COOKIE

    def _forget(self, metadata: Metadata) -> bool:
        """Remove the cookie if requested; whether the metadata store had one."""
        if self.cookie != "remove_everywhere" or metadata.cookie(self.target) is None:
            return False
        metadata.forget_cookie(self.target)
        return True


def assert_down(bookie: Bookie) -> None:
    """Raise ``UsageError`` if a bookie runs, so that its files cannot be changed now."""
    if bookie.state is not ProcessState.DOWN:
        raise UsageError(
            f"{bookie.name} is {bookie.state}, and its files can be changed only while it is down",
            remedy="kill or stop it first",
        )


def folders(places: Mapping[str, Path], what: Part) -> Iterator[Path]:
    """The existing folders of a part of a bookie's storage, or of a copy of it.

    A place for neither journal nor index is a ledger directory, with its index.
    """
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


def _drop_empty(folder: Path) -> None:
    """Remove the empty folders below, because a new bookie requires an empty disk."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and path.name != _OF_THE_FILE_SYSTEM and not any(path.iterdir()):
            path.rmdir()


@register
class SwapDisks(BookiesFault):
    """Exchange the files of two stopped bookies, cookies included.

    Healing exchanges them back: a bookie that runs by then is killed, and started on its own files.
    """

    kind = "swap_disks"
    heal_order: ClassVar[HealOrder] = HealOrder.DISKS
    targets: Bookies = Field(min_length=2, max_length=2)
    ready_timeout_s: float = Field(default=120, gt=0)

    def assert_available(self, cluster: Cluster) -> None:
        one, other = self.bookies(cluster)
        assert_down(one)
        assert_down(other)
        if one.places().keys() != other.places().keys():
            raise UsageError(f"{' and '.join(self.targets)} have different directories")

    def inject(self, context: FaultContext) -> Proof:
        """Everything that is stored changes places, cookies included."""
        bookies = self.bookies(context.cluster)
        for bookie in bookies:
            bookie.capture_disk()  # What it held at its death is not what it gets now.
        before = {bookie.name: _sizes(bookie) for bookie in bookies}
        _exchange(*bookies)
        return {"files": before}

    def confirm(self, context: FaultContext) -> Proof:
        one, other = self.bookies(context.cluster)
        for bookie, former in ((one, other), (other, one)):
            if _sizes(bookie) != context.injected["files"][former.name]:
                raise FaultError(f"{bookie.name} does not have the files that {former.name} had")
        return {"swapped": list(self.targets)}

    def heal(self, context: FaultContext) -> Proof:
        """A bookie that runs on the disks of another is killed, and started on its own.

        A second healing finds the files exchanged back, and starts again what ran before the first.
        """
        if not context.injected:
            return {"swapped_back": False}
        bookies = self.bookies(context.cluster)
        ran = [bookie.name for bookie in bookies if bookie.state is not ProcessState.DOWN]
        context.injected = {"ran": ran} | context.injected
        if "files" in context.injected:
            for bookie in bookies:
                if bookie.state is not ProcessState.DOWN:
                    bookie.kill()
                    bookie.capture_disk()
            _exchange(*bookies)
            context.injected = {"ran": context.injected["ran"]}
        restarted = [bookie for bookie in bookies if bookie.name in context.injected["ran"]]
        for bookie in restarted:
            if bookie.state is ProcessState.DOWN:
                bookie.start()
        for bookie in restarted:
            bookie.wait_ready(self.ready_timeout_s)
        return {"swapped_back": True, "restarted": [bookie.name for bookie in restarted]}


def by_place(bookie: Bookie) -> dict[str, Path]:
    """Every file of a bookie, by its place and its path from there."""
    places = bookie.places().items()
    return {f"{name}/{path.relative_to(root)}": path for name, root in places for path in files_below(root)}


def _sizes(bookie: Bookie) -> dict[str, int]:
    return {name: path.stat().st_size for name, path in by_place(bookie).items()}


def _exchange(one: Bookie, other: Bookie) -> None:
    """The folders stay, since they may be mounted disks; what is in them moves."""
    there = other.places()
    for name, here in one.places().items():
        aside = here / _ASIDE
        aside.mkdir()
        _move(here, aside)
        _move(there[name], here)
        _move(aside, there[name])
        aside.rmdir()


def _move(source: Path, target: Path) -> None:
    for path in sorted(source.iterdir()):
        if path.name not in (_ASIDE, _OF_THE_FILE_SYSTEM):
            shutil.move(path, target / path.name)
