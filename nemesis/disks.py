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
from typing import Any

from pydantic import BaseModel, Field

from cluster.disks import Disk, disks_of, unavailable_reason
from cluster.interface import CanRefuse, Cluster, ProcessState
from cluster.waiting import wait_until
from nemesis.processes import capture_disk
from nemesis.registry import FaultContext, HealOrder, Proof, register
from plans.names import EVERY_DISK, BookieName, DiskName, Params
from protocol.errors import FaultError, NotReadyError, UsageError

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


class DiskTarget(Params):
    """The bookie and its disk."""

    target: BookieName
    disk: DiskName = EVERY_DISK


class ReadOnly(DiskTarget):
    """Also how long healing may take, in seconds, where the bookie has to be started again."""

    ready_timeout_s: float = Field(default=120, gt=0)


class Fill(ReadOnly):
    """Which disk is filled, and how much is left of it."""

    rest_kb: int = Field(default=0, ge=0)


class SlowDisk(DiskTarget):
    """Which disk is slow; ``sync_ms`` is the least that a sync of 4 KiB takes then, in the median of nine."""

    sync_ms: float = Field(default=5, gt=0)


class _DiskFault:
    """The common part: the selected disk, which has one such fault at a time."""

    name: str
    supersedes: frozenset[str] = frozenset()

    def unavailable_reason(self) -> str | None:
        return unavailable_reason()

    def available(self, params: DiskTarget, cluster: Cluster) -> str | None:
        try:
            disks_of(cluster.process(params.target), params.disk)
        except UsageError as error:
            return str(error)
        return None

    def target(self, params: DiskTarget) -> str:
        return params.target

    def claims(self, params: DiskTarget, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # the protocol's
        return frozenset({f"the disk of {params.target}"})

    def heal_order(self, params: DiskTarget) -> HealOrder:  # noqa: ARG002
        return HealOrder.DISKS


class _Fill(_DiskFault):
    """A file takes all space except a rest."""

    name = "fill"
    about = "fill a bookie's disk except for a rest, until healed"
    params: type[BaseModel] = Fill

    def inject(self, params: Fill, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        process: Any = cluster.process(params.target)
        _allow_end(process)
        disks = disks_of(process, params.disk)
        return {"ballast_bytes": {name: _filled(disk, params.rest_kb << 10) for name, disk in disks.items()}}

    def confirm(self, params: Fill, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        disks = disks_of(cluster.process(params.target), params.disk)
        return {"spare_bytes": {name: _seen_full(disk, params.rest_kb << 10) for name, disk in disks.items()}}

    def heal(self, params: Fill, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        process: Any = cluster.process(params.target)
        spare = {}
        for name, disk in disks_of(process, params.disk).items():
            (disk.path / _BALLAST).unlink(missing_ok=True)
            spare[name] = disk.spare_bytes()
            if spare[name] <= (params.rest_kb << 10) + _SLACK_BYTES:
                raise FaultError(
                    f"disk {name} of {params.target} is still full: {spare[name]} bytes are free"
                )
        return {"spare_bytes": spare, **_again(process, params, was_up=False)}


class _ReadOnly(_DiskFault):
    """The file system refuses writes; writes in progress are lost."""

    name = "read_only"
    about = "make a bookie's disk read-only, as after a disk error; healed by a restart on a new mount"
    params: type[BaseModel] = ReadOnly

    def inject(self, params: ReadOnly, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        process: Any = cluster.process(params.target)
        _allow_end(process)
        disks = disks_of(process, params.disk)
        return {"by": {name: disk.turn_read_only() for name, disk in disks.items()}}

    def confirm(self, params: ReadOnly, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        for name, disk in disks_of(cluster.process(params.target), params.disk).items():
            refused = _refusal(disk.path / _PROBE, _LEAST_BYTES)
            if refused != errno.EROFS:
                raise FaultError(f"disk {name} of {params.target} is not read-only: {_word(refused)}")
        return {"refused": _word(errno.EROFS)}

    def heal(self, params: ReadOnly, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        process: Any = cluster.process(params.target)
        was_up = process.state is not ProcessState.DOWN
        if was_up:
            process.kill()
        disks = disks_of(process, params.disk)
        for name, disk in disks.items():
            disk.mount_again()
            refused = _refusal(disk.path / _PROBE, _LEAST_BYTES)
            if refused is not None:
                raise FaultError(f"disk {name} of {params.target} takes no writes yet: {_word(refused)}")
        capture_disk(process)
        return {"killed": was_up, **_again(process, params, was_up=was_up)}


class _SlowDisk(_DiskFault):
    """Threads that replace and sync files on the disk, so that each of its syncs waits for theirs."""

    name = "slow_disk"
    about = "slow down a bookie's syncs: other processes sync much data on its disk"
    params: type[BaseModel] = SlowDisk

    def inject(self, params: SlowDisk, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        disks = disks_of(cluster.process(params.target), params.disk)
        before = {name: _sync_ms(disk) for name, disk in disks.items()}
        for disk in disks.values():
            folder = disk.path / _SLOWING
            folder.mkdir(exist_ok=True)
            size = min(_SLOWER_BYTES, disk.spare_bytes() // 2 // _SLOWERS)
            for number in range(_SLOWERS):
                file = folder / str(number)
                threading.Thread(target=_slow, args=(file, size), name=str(folder), daemon=True).start()
        return {"sync_ms": before}

    def confirm(self, params: SlowDisk, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        disks = disks_of(cluster.process(params.target), params.disk)
        return {"sync_ms": {name: _seen_slow(disk, params.sync_ms) for name, disk in disks.items()}}

    def heal(self, params: SlowDisk, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        disks = disks_of(cluster.process(params.target), params.disk)
        for disk in disks.values():
            stop_slowing(disk)
            shutil.rmtree(disk.path / _SLOWING, ignore_errors=True)
        return {"sync_ms": {name: _sync_ms(disk) for name, disk in disks.items()}}


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

    try:
        wait_until(slow, _SLOW_TIMEOUT_S, f"a sync on disk {disk.name} to take {sync_ms:g} ms")
    except NotReadyError as error:
        raise FaultError(f"disk {disk.name} is not slow: {error}") from error
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


def _allow_end(process: Any) -> None:
    if isinstance(process, CanRefuse):
        process.allow_end()


def _again(process: Any, params: ReadOnly, *, was_up: bool) -> Proof:
    """Start a bookie that was stopped for healing or shut itself down; the facts of its boot."""
    gave_up = process.refusal() if isinstance(process, CanRefuse) else None
    if process.state is not ProcessState.DOWN or (gave_up is None and not was_up):
        return {}
    process.start()
    process.wait_ready(params.ready_timeout_s)
    return {"boot": process.boot, "gave_up": str(gave_up) if gave_up else ""}


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

    try:
        wait_until(full, _FULL_TIMEOUT_S, f"disk {disk.name} to be full")
    except NotReadyError as error:
        raise FaultError(f"disk {disk.name} is not full: {error}") from error
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
        if path.exists():
            _forget(path)
    return None


def _forget(path: Path) -> None:
    try:
        path.unlink()
    except OSError as error:
        if error.errno != errno.EROFS:
            raise FaultError(f"{path} cannot be removed: {error}") from error


def _word(number: int | None) -> str:
    return "taken" if number is None else f"refused with {errno.errorcode.get(number, str(number))}"


register(_Fill())
register(_ReadOnly())
register(_SlowDisk())
