"""Exchanging the disks of two bookies while both are down, as by disks that were put into the wrong machines.

Healing puts each disk back where it was. Only the folders that the bookies themselves name
(:class:`cluster.interface.HasFiles`) are touched. Depends neither on the names of BookKeeper's files nor
on how a bookie reacts to the disks of another.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, field_validator

from cluster.interface import CanKill, Cluster, ProcessState
from nemesis.processes import capture_disk
from nemesis.registry import FaultContext, HealOrder, Proof, register
from nemesis.storage import files_below, unreachable
from plans.names import BookieName, Params
from protocol.errors import FaultError

_ASIDE = ".swapped"
"""A folder on one of the two disks, for what is moved first."""


class SwapDisks(Params):
    """The two bookies."""

    targets: tuple[BookieName, ...] = Field(min_length=2, max_length=2)
    ready_timeout_s: float = Field(default=120, gt=0)

    @field_validator("targets")
    @classmethod
    def _two(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise ValueError(f"a bookie is named twice: {', '.join(value)}")
        return value


class _SwapDisks:
    """Everything that is stored changes places, cookies included."""

    name = "swap_disks"
    about = "exchange the files of two stopped bookies; healing exchanges them back"
    params: type[BaseModel] = SwapDisks
    supersedes: frozenset[str] = frozenset()

    def available(self, params: SwapDisks, cluster: Cluster) -> str | None:
        reasons = [unreachable(target, cluster) for target in params.targets]
        if any(reasons):
            return next(filter(None, reasons))
        one, other = (set(_places(target, cluster)) for target in params.targets)
        if one != other:
            return f"{' and '.join(params.targets)} have different directories"
        return None

    def target(self, params: SwapDisks) -> str:
        return ",".join(params.targets)

    def claims(self, params: SwapDisks, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # the protocol's
        return frozenset(f"the disk of {target}" for target in params.targets)

    def heal_order(self, params: SwapDisks) -> HealOrder:  # noqa: ARG002
        return HealOrder.DISKS

    def inject(self, params: SwapDisks, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        for target in params.targets:
            capture_disk(cluster.process(target))  # What it held at its death is not what it gets now.
        before = {target: _listed(target, cluster) for target in params.targets}
        _exchange(params, cluster)
        return {"files": before}

    def confirm(self, params: SwapDisks, cluster: Cluster, injected: Proof) -> Proof:
        one, other = params.targets
        for target, former in ((one, other), (other, one)):
            if _listed(target, cluster) != injected["files"][former]:
                raise FaultError(f"{target} does not have the files that {former} had")
        return {"swapped": list(params.targets)}

    def heal(self, params: SwapDisks, cluster: Cluster, injected: Proof) -> Proof:
        """A bookie that runs on the disks of another is killed, and started on its own."""
        if not injected:
            return {"swapped_back": False}
        processes: list[Any] = [cluster.process(target) for target in params.targets]
        running = [one for one in processes if one.state is not ProcessState.DOWN]
        staying = [one.name for one in running if not isinstance(one, CanKill)]
        if staying:
            raise FaultError(f"{staying[0]} cannot be ended, so it keeps the disks of another")
        for process in running:
            process.kill()
            capture_disk(process)
        _exchange(params, cluster)
        for process in running:
            process.start()
        for process in running:
            process.wait_ready(params.ready_timeout_s)
        return {"swapped_back": True, "restarted": [process.name for process in running]}


def _places(target: str, cluster: Cluster) -> Mapping[str, Path]:
    process: Any = cluster.process(target)
    places: Mapping[str, Path] = process.places()
    return places


def _listed(target: str, cluster: Cluster) -> dict[str, int]:
    """The size of each file, by its place and its path from there."""
    return {
        f"{name}/{path.relative_to(folder)}": path.stat().st_size
        for name, folder in _places(target, cluster).items()
        for path in files_below(folder)
    }


def _exchange(params: SwapDisks, cluster: Cluster) -> None:
    """The folders stay, since they may be mounted disks; what is in them moves."""
    one, other = (_places(target, cluster) for target in params.targets)
    for name, here in one.items():
        aside = here / _ASIDE
        aside.mkdir()
        _move(here, aside)
        _move(other[name], here)
        _move(aside, other[name])
        aside.rmdir()


def _move(source: Path, target: Path) -> None:
    for path in sorted(source.iterdir()):
        if path.name not in (_ASIDE, "lost+found"):
            shutil.move(path, target / path.name)


register(_SwapDisks())
