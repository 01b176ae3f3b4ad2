"""Power loss: what bookies never synced is gone, names of files included.

All targets are paused and their links cut, so that nothing is sent or written while their file systems
are shut down one after the other: in effect they lose power at one instant. Then they are killed, and
their disks are mounted again, which recovers the file systems' logs. Links are then as they were before;
the bookies stay down until a step starts them.

``level: process`` does the same without touching the file systems, so that a schedule can be compared:
written data in the page cache survives the process. Each level is proven by two files: the first was
synced when the disk was mounted, the second was never synced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from cluster.disks import Probe, disks_of, unavailable_reason
from cluster.interface import (
    CanKill,
    CanPause,
    Cluster,
    Links,
    LinkState,
    ProcessState,
    Way,
)
from nemesis.disks import stop_slowing
from nemesis.processes import capture_disk
from nemesis.registry import FaultContext, HealOrder, Proof, register
from plans.names import EVERY_DISK, BookieName, DiskName, Params
from protocol.addresses import OBSERVER
from protocol.errors import FaultError, FencepostError, UsageError

Pair = tuple[str, str]
_EXPECTED = {"power": Probe(synced=True, unsynced=False), "process": Probe(synced=True, unsynced=True)}


class PowerLoss(Params):
    """The bookies that lose power, the affected disks, and the level of the loss."""

    targets: tuple[BookieName, ...] = Field(min_length=1)
    disk: DiskName = EVERY_DISK
    level: Literal["power", "process"] = "power"
    ready_timeout_s: float = Field(default=120, gt=0)

    @field_validator("targets")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise ValueError(f"a bookie is named twice: {', '.join(value)}")
        return value


class _PowerLoss:
    """Pause, cut, shut down, kill, mount again; healed by the next boots."""

    name = "power_loss"
    about = "cut the power of bookies at one instant: everything that was never synced is lost"
    params: type[BaseModel] = PowerLoss
    supersedes = frozenset({"pause", "slow_disk"})

    def unavailable_reason(self) -> str | None:
        return unavailable_reason()

    def available(self, params: PowerLoss, cluster: Cluster) -> str | None:
        for target in params.targets:
            try:
                process = cluster.process(target)
                disks_of(process, params.disk)
            except UsageError as error:
                return str(error)
            if not (isinstance(process, CanPause) and isinstance(process, CanKill)):
                return f"{target} cannot be paused and killed on this backend"
            if process.state is ProcessState.DOWN:
                return f"{target} is down already"
        return None

    def target(self, params: PowerLoss) -> str:
        return ",".join(params.targets)

    def takes_down(self, params: PowerLoss) -> tuple[str, ...]:
        return params.targets

    def claims(self, params: PowerLoss, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # the protocol's
        return frozenset((*params.targets, *(f"the disk of {target}" for target in params.targets)))

    def heal_order(self, params: PowerLoss) -> HealOrder:  # noqa: ARG002
        return HealOrder.BOOKIES

    def inject(self, params: PowerLoss, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        processes: list[Any] = [cluster.process(target) for target in params.targets]
        disks = [disk for process in processes for disk in disks_of(process, params.disk).values()]
        for process in processes:
            process.pause()
        with _without_links(params.targets, cluster.links):
            for disk in disks:
                stop_slowing(disk)  # it would sync the probe
            for disk in disks:
                disk.write_unsynced()
            if params.level == "power":
                for disk in disks:
                    disk.lose_power()
            ends = [process.kill() for process in processes]
        found = {process.name: _afterwards(process, params) for process in processes}
        boots = {end.server: {"boot": end.boot, "signal": end.signal, "exit_ns": end.at_ns} for end in ends}
        return {"level": params.level, "boots": boots, "probes": found}

    def confirm(self, params: PowerLoss, cluster: Cluster, injected: Proof) -> Proof:
        for target, probes in injected["probes"].items():
            for name, found in probes.items():
                if Probe(**found) != _EXPECTED[params.level]:
                    raise FaultError(f"{target} did not lose {params.level} on disk {name}: {_format(found)}")
            process = cluster.process(target)
            ended = injected["boots"][target]
            if process.state is not ProcessState.DOWN or process.boot != ended["boot"]:
                raise FaultError(f"{target} is {process.state} in boot {process.boot}, not down")
        return {"probes": injected["probes"]}

    def heal(self, params: PowerLoss, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        processes = [cluster.process(target) for target in params.targets]
        for process in processes:
            _make_sound(process)
        for process in processes:
            if process.state is ProcessState.DOWN:
                process.start()
        for process in processes:
            process.wait_ready(params.ready_timeout_s)
        return {"boots": {process.name: process.boot for process in processes}, "ready": True}


def _afterwards(process: Any, params: PowerLoss) -> dict[str, dict[str, bool]]:
    """What the probes find on each disk of a dead bookie, after disks that lost power were mounted again."""
    disks = disks_of(process, params.disk)
    power = params.level == "power"
    found = {name: disk.mount_again() if power else disk.probe() for name, disk in disks.items()}
    capture_disk(process)
    return {name: asdict(probe) for name, probe in found.items()}


def _make_sound(process: Any) -> None:
    """After a failed injection: no process may continue on a disk that was shut down."""
    harmed = [disk for disk in disks_of(process, EVERY_DISK).values() if not disk.sound]
    if harmed and process.state is not ProcessState.DOWN:
        process.kill()
    for disk in harmed:
        disk.mount_again()
    if process.state is ProcessState.PAUSED:
        process.resume()


@contextmanager
def _without_links(targets: Sequence[str], links: Links) -> Iterator[None]:
    """Every link of the targets but the observer's is cut; afterwards each is as it was."""
    pairs = [pair for pair in links.pairs() if not {*pair}.isdisjoint(targets) and pair[0] != OBSERVER]
    before = {pair: links.state(*pair) for pair in pairs}
    try:
        for pair, state in before.items():
            if not state.cut:
                links.cut(*pair)
        yield
    finally:
        _restore(before, links)


def _restore(before: dict[Pair, LinkState], links: Links) -> None:
    errors = []
    for pair, state in before.items():
        try:
            if not state.cut:
                _put_back(pair, state, links)
        except FencepostError as error:
            errors.append(str(error))
    if errors:
        raise FaultError("; ".join(errors))


def _put_back(pair: Pair, state: LinkState, links: Links) -> None:
    links.heal(*pair)
    if state.held:
        links.hold(*pair, state.held[0] if len(state.held) == 1 else Way.BOTH)
    if state.latency_ms or state.rate_bytes_per_s:
        links.slow(*pair, latency_ms=state.latency_ms, rate_bytes_per_s=state.rate_bytes_per_s)


def _format(found: dict[str, bool]) -> str:
    there = {True: "there", False: "gone"}
    return f"the synced file is {there[found['synced']]}, the unsynced one {there[found['unsynced']]}"


register(_PowerLoss())
