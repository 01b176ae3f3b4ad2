"""Disks that refuse to be written, full or read-only, and disks whose syncs take long.

A bookie may shut itself down because of the first two; that is no unplanned death while the fault is in
force, and healing starts it again. Handles file systems without interpreting their content.
"""

from __future__ import annotations

import errno
import os
import shutil
import statistics
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from cluster.interface import Bookie, Cluster, ProcessState
from cluster.servers.disks import Disk, unavailable_reason
from nemesis.registry import BookieFault, FaultContext, HealOrder, MayEndBookie, Proof, await_effect, register
from plans.grammar.names import EVERY_DISK, DiskName
from protocol.errors import FaultError, UsageError
from protocol.faults import AFTERMATH_S

_REFUSED = (
    *(b"No space left", b"Read-only file system", b"out of space"),
    *(b"NoWritableLedgerDir", b"DiskErrorException"),
)
"""Words of a bookie's log about a disk that takes no writes."""
_BALLAST, _PROBE = ".ballast", ".probe"
_SLACK_BYTES = 64 << 10
_LEAST_BYTES = 4096
_PROBE_BYTES = 1 << 20
_FULL_TIMEOUT_S = 60.0
_SLOWING = "lost+found/slowing"  # not among the bookie's own files: a loss of power leaves it there
_SLOWERS = 32
_SLOWER_BYTES = 4 << 20
_SLOW_TIMEOUT_S = 60.0
_ENDING: set[Path] = set()
"""The folders whose threads must end now; a thread has the name of its folder."""
_SYNCS = 9


class DiskFault(BookieFault):
    """A fault of a bookie's disks, which have one such fault at a time."""

    heal_order: ClassVar[HealOrder] = HealOrder.DISKS
    disk: DiskName = EVERY_DISK

    @classmethod
    def unavailable_reason(cls) -> str | None:
        return unavailable_reason()

    def assert_available(self, cluster: Cluster) -> None:
        self.disks(cluster)

    @property
    def occupies(self) -> frozenset[str]:
        return frozenset({f"the disk of {self.target}"})

    def disks(self, cluster: Cluster) -> dict[str, Disk]:
        """The disks that it hits."""
        return disks_of(cluster.bookie(self.target), self.disk)


class RefusingFault(MayEndBookie, DiskFault):
    """A fault by which a disk refuses writes."""

    words = _REFUSED


@register
class Fill(RefusingFault):
    """Fill a bookie's disk except for ``rest_kb``, until healed.

    If the bookie ends because of that, this is no unplanned death, and healing starts it again.
    """

    kind = "fill"
    rest_kb: int = Field(default=0, ge=0)

    def inject(self, context: FaultContext) -> Proof:
        """One file takes all space except the rest."""
        context.cluster.bookie(self.target).allow_end(context.number, later_boots=True)
        disks, logged = self.disks(context.cluster), self.logged(context)
        filled = {name: _filled(disk, self.rest_kb << 10) for name, disk in disks.items()}
        return {"ballast_bytes": filled, "logged": logged}

    def confirm(self, context: FaultContext) -> Proof:
        """The rest is left; a disk that had less free space before was not filled."""
        for name, ballast_bytes in context.injected["ballast_bytes"].items():
            if self.rest_kb and not ballast_bytes:
                raise FaultError(f"disk {name} of {self.target} had less than {self.rest_kb} KB free before")
        disks = self.disks(context.cluster)
        return {"spare_bytes": {name: _seen_full(disk, self.rest_kb << 10) for name, disk in disks.items()}}

    def heal(self, context: FaultContext) -> Proof:
        spare, noticed = {}, self.noticed(context)
        for name, disk in self.disks(context.cluster).items():
            (disk.path / _BALLAST).unlink(missing_ok=True)
            spare[name] = disk.spare_bytes()
            filled = context.injected.get("ballast_bytes", {}).get(name, True)
            if filled and spare[name] <= (self.rest_kb << 10) + _SLACK_BYTES:
                raise FaultError(f"disk {name} of {self.target} is still full: {spare[name]} bytes are free")
        bookie = context.cluster.bookie(self.target)
        bookie.limit_end(context.number, AFTERMATH_S)
        return {"spare_bytes": spare, **noticed, **self.again(bookie, was_up=False)}


@register
class ReadOnly(RefusingFault):
    """Make a bookie's disk read-only, as after a disk error; healed by a restart on a new mount.

    Where files are open for writing, only ext4 can be made so. What the bookie had not synced is lost with
    the restart, as in a power loss. If it ends before that, this is no unplanned death.
    """

    kind = "read_only"

    def inject(self, context: FaultContext) -> Proof:
        """Writes in progress are lost."""
        context.cluster.bookie(self.target).allow_end(context.number, later_boots=True)
        disks, logged = self.disks(context.cluster), self.logged(context)
        return {"by": {name: disk.turn_read_only() for name, disk in disks.items()}, "logged": logged}

    def confirm(self, context: FaultContext) -> Proof:
        for name, disk in self.disks(context.cluster).items():
            refused = _refusal(disk.path / _PROBE, _LEAST_BYTES)
            if refused != errno.EROFS:
                raise FaultError(f"disk {name} of {self.target} is not read-only: {_word(refused)}")
        return {"refused": _word(errno.EROFS)}

    def heal(self, context: FaultContext) -> Proof:
        bookie = context.cluster.bookie(self.target)
        was_up, noticed = bookie.state is not ProcessState.DOWN, self.noticed(context)
        if was_up:
            bookie.kill()
        for name, disk in self.disks(context.cluster).items():
            disk.mount_again()
            refused = _refusal(disk.path / _PROBE, _LEAST_BYTES)
            if refused is not None:
                raise FaultError(f"disk {name} of {self.target} takes no writes yet: {_word(refused)}")
        bookie.capture_disk()
        bookie.limit_end(context.number, AFTERMATH_S)
        return {"killed": was_up, **noticed, **self.again(bookie, was_up=was_up)}


@register
class SlowDisk(DiskFault):
    """Slow down a bookie's syncs: other processes sync much data on its disk.

    They write and sync 32 files of 4 MiB without a pause (less where the disk has not 256 MiB to spare),
    until it is healed, the power is lost or the run ends. It counts once a sync of 4 KiB takes ``sync_ms``,
    in the median of nine.
    """

    kind = "slow_disk"
    sync_ms: float = Field(default=5, gt=0)

    def inject(self, context: FaultContext) -> Proof:
        """Threads replace and sync files on the disk, so that each of its syncs waits for theirs."""
        disks = self.disks(context.cluster)
        before = {name: _sync_ms(disk) for name, disk in disks.items()}
        for disk in disks.values():
            folder = disk.path / _SLOWING
            folder.mkdir(exist_ok=True)
            size = min(_SLOWER_BYTES, disk.spare_bytes() // 2 // _SLOWERS)
            for number in range(_SLOWERS):
                file = folder / str(number)
                threading.Thread(target=_slow, args=(file, size), name=str(folder), daemon=True).start()
        return {"sync_ms": before}

    def confirm(self, context: FaultContext) -> Proof:
        disks = self.disks(context.cluster)
        return {"sync_ms": {name: _seen_slow(disk, self.sync_ms) for name, disk in disks.items()}}

    def heal(self, context: FaultContext) -> Proof:
        disks = self.disks(context.cluster)
        for disk in disks.values():
            stop_slowing(disk)
            shutil.rmtree(disk.path / _SLOWING, ignore_errors=True)
        return {"sync_ms": {name: _sync_ms(disk) for name, disk in disks.items()}}

    def abandon(self, context: FaultContext) -> None:
        for disk in self.disks(context.cluster).values():
            stop_slowing(disk)


def disks_of(bookie: Bookie, disk: str) -> dict[str, Disk]:
    """The selected disks of a bookie, by name; ``UsageError`` when it does not have them."""
    found = dict(bookie.disks())
    if not found:
        raise UsageError(f"{bookie.name} has no dedicated disk", remedy="write `disks: {}` under `cluster`")
    if disk == EVERY_DISK:
        return found
    if disk not in found:
        raise UsageError(f"{bookie.name} has no disk {disk!r}; it has {', '.join(found)}")
    return {disk: found[disk]}


def stop_slowing(disk: Disk) -> None:
    """End the threads that slow the disk, if any; ``FaultError`` when one of them does not end."""
    folder = disk.path / _SLOWING
    slowing = [thread for thread in threading.enumerate() if thread.name == str(folder)]
    _ENDING.add(folder)
    try:
        for thread in slowing:
            thread.join(_SLOW_TIMEOUT_S)
            if thread.is_alive():
                raise FaultError(f"what slows disk {disk.name} does not end")
    finally:
        _ENDING.discard(folder)


def _slow(file: Path, size: int) -> None:
    with suppress(OSError), file.open("wb", buffering=0) as opened:  # the disk may be full or lose its power
        while file.parent not in _ENDING:
            opened.truncate(0)
            os.pwrite(opened.fileno(), bytes(size), 0)
            os.fdatasync(opened.fileno())


def _seen_slow(disk: Disk, sync_ms: float) -> float:
    """What a sync takes on the disk, in ms, once that is long enough."""
    took = 0.0

    def slow() -> tuple[bool, str]:
        nonlocal took
        took = _sync_ms(disk)
        return took >= sync_ms, f"a sync takes {took:g} ms"

    what = f"a sync on disk {disk.name} to take {sync_ms:g} ms"
    await_effect(slow, _SLOW_TIMEOUT_S, what, f"disk {disk.name} is not slow: ")
    return took


def _sync_ms(disk: Disk) -> float:
    """The median time of nine syncs after writing 4 KiB each, in ms."""
    took = []
    file = disk.path / _PROBE
    try:
        with file.open("wb", buffering=0) as probe:
            for _ in range(_SYNCS):
                probe.write(bytes(_LEAST_BYTES))
                began = time.monotonic()
                os.fdatasync(probe.fileno())
                took.append(time.monotonic() - began)
        file.unlink()
    except OSError as error:
        raise FaultError(f"disk {disk.name} cannot be synced: {error}") from error
    return round(statistics.median(took) * 1000, 1)


def _filled(disk: Disk, rest_bytes: int) -> int:
    """Give all but a rest to one file, which may have a part of it already; its size."""
    with (disk.path / _BALLAST).open("ab") as ballast:
        share = surplus = _surplus(disk, rest_bytes)
        while min(share, surplus) >= _LEAST_BYTES:
            size = os.fstat(ballast.fileno()).st_size
            try:
                os.posix_fallocate(ballast.fileno(), size, min(share, surplus))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise FaultError(f"disk {disk.name} cannot be filled: {error}") from error
                share = share // 2 // _LEAST_BYTES * _LEAST_BYTES  # it gives less than it says is free
            surplus = _surplus(disk, rest_bytes)
        return os.fstat(ballast.fileno()).st_size


def _surplus(disk: Disk, rest_bytes: int) -> int:
    return max(0, disk.spare_bytes() - rest_bytes) // _LEAST_BYTES * _LEAST_BYTES


def _seen_full(disk: Disk, rest_bytes: int) -> int:
    """Free space on the full disk; space that a running bookie freed meanwhile is filled as well."""

    def full() -> tuple[bool, str]:
        _filled(disk, rest_bytes)
        spare = disk.spare_bytes()
        if spare > rest_bytes + _SLACK_BYTES:
            return False, f"{spare} bytes are free, {rest_bytes} were to be left"
        if rest_bytes == 0 and (refused := _refusal(disk.path / _PROBE, _PROBE_BYTES)) != errno.ENOSPC:
            return False, f"writing {_PROBE_BYTES} bytes was {_word(refused)}"
        return True, "full"

    await_effect(full, _FULL_TIMEOUT_S, f"disk {disk.name} to be full", f"disk {disk.name} is not full: ")
    return disk.spare_bytes()


def _refusal(path: Path, size_bytes: int) -> int | None:
    """The error number with which writing a new file was refused, None when it was not."""
    try:
        with path.open("wb") as file:
            file.write(bytes(size_bytes))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno
    finally:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise FaultError(f"{path} cannot be removed: {error}") from error
    return None


def _word(number: int | None) -> str:
    return "taken" if number is None else f"refused with {errno.errorcode.get(number, str(number))}"
