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
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from cluster.interface import Bookie, Cluster, Links, ProcessState
from cluster.servers.disks import Probe, unavailable_reason
from nemesis.disks import disks_of, stop_slowing
from nemesis.links import do_each
from nemesis.registry import BookiesFault, FaultContext, HealOrder, Proof, assert_still_down, register
from plans.grammar.names import EVERY_DISK, DiskName
from protocol.addresses import OBSERVER
from protocol.errors import FaultError, UsageError

_EXPECTED = {"power": Probe(synced=True, unsynced=False), "process": Probe(synced=True, unsynced=True)}


@register
class PowerLoss(BookiesFault):
    """Cut the power of bookies at one instant: everything that was never synced is lost.

    Names of files are lost too. The bookies are paused, their links cut, their file systems shut down, the
    processes killed, the disks mounted again. ``disk`` selects which disk loses power. With ``level:
    process`` the file systems are left alone: what the operating system had survives, as after ``kill``.

    Two files on each disk confirm it: the first was synced when the disk was mounted and must be there with
    its bytes; the second was never synced and must be gone (with ``level: process`` both must be there). The
    bookies stay down until a ``start``; it is healed when the last of them runs.
    """

    kind = "power_loss"
    supersedes = frozenset({"pause", "slow_disk"})
    heal_order: ClassVar[HealOrder] = HealOrder.BOOKIES
    disk: DiskName = EVERY_DISK
    level: Literal["power", "process"] = "power"
    ready_timeout_s: float = Field(default=120, gt=0)

    @classmethod
    def unavailable_reason(cls) -> str | None:
        return unavailable_reason()

    def assert_available(self, cluster: Cluster) -> None:
        for bookie in self.bookies(cluster):
            disks_of(bookie, self.disk)
            if bookie.state is ProcessState.DOWN:
                raise UsageError(f"{bookie.name} is down already")

    @property
    def takes_down(self) -> tuple[str, ...]:
        return self.targets

    @property
    def occupies(self) -> frozenset[str]:
        return super().occupies | {*self.targets}

    def inject(self, context: FaultContext) -> Proof:
        bookies = self.bookies(context.cluster)
        disks = [disk for bookie in bookies for disk in disks_of(bookie, self.disk).values()]
        for bookie in bookies:
            bookie.pause()
        with _without_links(self.targets, context.cluster.links):
            for disk in (disk for bookie in bookies for disk in bookie.disks().values()):
                stop_slowing(disk)  # it would sync the probe, and this fault ends it, also on other disks
            for disk in disks:
                disk.write_unsynced()
            if self.level == "power":
                for disk in disks:
                    disk.lose_power()
            ends = [bookie.kill() for bookie in bookies]
        found = {bookie.name: self._afterwards(bookie) for bookie in bookies}
        boots = {end.server: {"boot": end.boot, "signal": end.signal, "exit_ns": end.at_ns} for end in ends}
        return {"level": self.level, "boots": boots, "probes": found}

    def confirm(self, context: FaultContext) -> Proof:
        for bookie in self.bookies(context.cluster):
            for name, found in context.injected["probes"][bookie.name].items():
                if Probe(**found) != _EXPECTED[self.level]:
                    raise FaultError(
                        f"{bookie.name} did not lose {self.level} on disk {name}: {_format(found)}"
                    )
            assert_still_down(bookie, context.injected["boots"][bookie.name]["boot"])
        return {"probes": context.injected["probes"]}

    def heal(self, context: FaultContext) -> Proof:
        bookies = self.bookies(context.cluster)
        for bookie in bookies:
            _make_sound(bookie)
        for bookie in bookies:
            if bookie.state is ProcessState.DOWN:
                bookie.start()
        for bookie in bookies:
            bookie.wait_ready(self.ready_timeout_s)
        return {"boots": {bookie.name: bookie.boot for bookie in bookies}, "ready": True}

    def _afterwards(self, bookie: Bookie) -> dict[str, dict[str, bool]]:
        """What the probes find on each disk of a dead bookie; disks that lost power are mounted again."""
        disks = disks_of(bookie, self.disk)
        power = self.level == "power"
        found = {name: disk.mount_again() if power else disk.probe() for name, disk in disks.items()}
        bookie.capture_disk()
        return {name: asdict(probe) for name, probe in found.items()}


def _make_sound(bookie: Bookie) -> None:
    """After a failed injection: no process may continue on a disk that was shut down."""
    harmed = [disk for disk in disks_of(bookie, EVERY_DISK).values() if not disk.sound]
    if harmed and bookie.state is not ProcessState.DOWN:
        bookie.kill()
    for disk in harmed:
        disk.mount_again()
    if bookie.state is ProcessState.PAUSED:
        bookie.resume()


@contextmanager
def _without_links(targets: Sequence[str], links: Links) -> Iterator[None]:
    """Every link of the targets but the observer's is cut; afterwards each is as it was."""
    pairs = [pair for pair in links.pairs() if not {*pair}.isdisjoint(targets) and pair[0] != OBSERVER]
    whole = [pair for pair in pairs if not links.state(*pair).cut]
    try:
        for pair in whole:
            links.cut(*pair)
        yield
    finally:
        do_each(*(partial(links.uncut, *pair) for pair in whole))


def _format(found: dict[str, bool]) -> str:
    there = {True: "there", False: "gone"}
    return f"the synced file is {there[found['synced']]}, the unsynced one {there[found['unsynced']]}"
