"""Exchanging the disks of two bookies while both are down, as by disks that were put into the wrong machines.

Healing puts each disk back where it was. Only the folders that the bookies themselves name
(:class:`cluster.interface.Bookie`) are touched. Depends neither on the names of BookKeeper's files nor
on how a bookie reacts to the disks of another.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from cluster.interface import Bookie, Cluster, ProcessState
from nemesis.registry import BookiesFault, FaultContext, HealOrder, Proof, register
from nemesis.storage import assert_down, files_below
from plans.names import BookieName
from protocol.errors import FaultError, UsageError

_ASIDE = ".swapped"
"""A folder on one of the two disks, for what is moved first."""


@register
class SwapDisks(BookiesFault):
    """The two bookies."""

    kind = "swap_disks"
    about = "exchange the files of two stopped bookies; healing exchanges them back"
    heal_order: ClassVar[HealOrder] = HealOrder.DISKS
    targets: tuple[BookieName, ...] = Field(min_length=2, max_length=2)
    ready_timeout_s: float = Field(default=120, gt=0)

    def assert_available(self, cluster: Cluster) -> None:
        one, other = self._bookies(cluster)
        assert_down(one)
        assert_down(other)
        if one.places().keys() != other.places().keys():
            raise UsageError(f"{' and '.join(self.targets)} have different directories")

    def inject(self, context: FaultContext) -> Proof:
        """Everything that is stored changes places, cookies included."""
        bookies = self._bookies(context.cluster)
        for bookie in bookies:
            bookie.capture_disk()  # What it held at its death is not what it gets now.
        before = {bookie.name: _listed(bookie) for bookie in bookies}
        _exchange(*bookies)
        return {"files": before}

    def confirm(self, context: FaultContext) -> Proof:
        one, other = self._bookies(context.cluster)
        for bookie, former in ((one, other), (other, one)):
            if _listed(bookie) != context.injected["files"][former.name]:
                raise FaultError(f"{bookie.name} does not have the files that {former.name} had")
        return {"swapped": list(self.targets)}

    def heal(self, context: FaultContext) -> Proof:
        """A bookie that runs on the disks of another is killed, and started on its own."""
        if not context.injected:
            return {"swapped_back": False}
        bookies = self._bookies(context.cluster)
        running = [one for one in bookies if one.state is not ProcessState.DOWN]
        for bookie in running:
            bookie.kill()
            bookie.capture_disk()
        _exchange(*bookies)
        for bookie in running:
            bookie.start()
        for bookie in running:
            bookie.wait_ready(self.ready_timeout_s)
        return {"swapped_back": True, "restarted": [bookie.name for bookie in running]}

    def _bookies(self, cluster: Cluster) -> tuple[Bookie, Bookie]:
        one, other = self.targets
        return cluster.bookie(one), cluster.bookie(other)


def _listed(bookie: Bookie) -> dict[str, int]:
    """The size of each file, by its place and its path from there."""
    return {
        f"{name}/{path.relative_to(folder)}": path.stat().st_size
        for name, folder in bookie.places().items()
        for path in files_below(folder)
    }


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
        if path.name not in (_ASIDE, "lost+found"):
            shutil.move(path, target / path.name)
