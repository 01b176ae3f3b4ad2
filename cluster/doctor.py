"""Checks of this machine for a run; each result has what was seen and what to do.

A check looks; it installs and repairs nothing. ``fail`` means that no run on local servers can
work, ``warn`` that a run may work, but something is missing or scarce. Reads no plan and starts no server;
:mod:`cluster.advice` reports what a *configuration* lacks.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from cluster.docker.images import compose_command, images_of, ping, socket_path
from cluster.releases import artifacts
from cluster.releases.versions import DEFAULT_VERSION
from cluster.servers import disks
from protocol import java
from protocol.addresses import BOOKIE_PORT, FIRST_OCTET, LAST_OCTET, PROXY_PORT, ZOOKEEPER_PORT, AddressPlan
from protocol.errors import FencepostError, IncapableError, ServerError

State = Literal["ok", "warn", "fail"]
RUN_BYTES = 1536 << 20
LEAST_BYTES = 768 << 20
DISK_BYTES = 2 << 30
LEAST_DISK_BYTES = 512 << 20
"""What one mode of a short run takes while it runs: write-ahead files, histories, tables."""
STOCK_DISK_LIMIT = 0.95  # BookKeeper's own diskUsageThreshold; above it a bookie turns read-only
RUN_DISK_LIMIT = 0.99  # the threshold with which Fencepost's bookies start
_PYTHON = (3, 11)
_ONLY_DOCKER = "Only --backend docker needs it"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report: ``remedy`` is a sentence, empty when the state is ``ok``."""

    name: str
    state: State
    seen: str
    remedy: str = ""


def checks(results: Path | None = None) -> list[Check]:
    """Every check in a fixed order; ``results`` is the folder for runs, as given on the command line."""
    folder = results or Path(os.environ.get("FENCEPOST_RESULTS") or "results")
    return [
        _system(),
        _python(),
        _artifact("java", _java),
        _servers(),
        _artifact("client", lambda: str(artifacts.client_jar())),
        _artifact("proxy", lambda: str(artifacts.proxy_binary())),
        _memory(),
        _disk(folder),
        _addresses(),
        _lease(),
        _disks(),
        _docker(),
        _containers(),
        _root(),
    ]


def _system() -> Check:
    system, machine = platform.system(), platform.machine()
    seen = f"{system} {platform.release()} on {machine}"
    if system == "Linux" and machine in {"x86_64", "aarch64", "arm64"}:
        return Check("system", "ok", seen)
    return Check(
        "system", "fail", seen, "Run Fencepost on Linux on x86-64 or arm64, or in a container there."
    )


def _python() -> Check:
    seen = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] >= _PYTHON:
        return Check("python", "ok", seen)
    return Check("python", "fail", seen, "Install Python 3.11 or newer and run scripts/setup again.")


def _artifact(name: str, find: Callable[[], str]) -> Check:
    try:
        return Check(name, "ok", find())
    except FencepostError as error:
        return Check(name, "fail", str(error), error.remedy)


def _java() -> str:
    command = java.java()
    passed_over = [f"{place.place} {place.lacks}" for place in java.candidates() if place.lacks]
    why = f" ({'; '.join(passed_over)})" if passed_over else ""
    return f"Java {java.version_of(command)} at {command}{why}"


def _servers() -> Check:
    version = DEFAULT_VERSION
    try:
        if artifacts.is_cached(version):
            return _artifact("servers", lambda: _jars(version))
    except OSError as error:
        seen = f"cannot use {error.filename}: {error.strerror}"
        return Check("servers", "fail", seen, "Make it readable, or set FENCEPOST_CACHE to another folder.")
    seen = f"the jars of BookKeeper {version} are not fetched yet"
    return Check("servers", "warn", seen, "The first run fetches them (110 MB); scripts/setup does it now.")


def _jars(version: str) -> str:
    found = artifacts.class_path(version)
    return f"BookKeeper {version}: {len(found.jars)} jars as locked, in {found.folder}"


def _memory() -> Check:
    available = available_memory_bytes()
    seen = f"{_size(available)} available, a run of three bookies needs about {_size(RUN_BYTES)}"
    if available >= RUN_BYTES:
        return Check("memory", "ok", seen)
    state: State = "warn" if available >= LEAST_BYTES else "fail"
    return Check("memory", state, seen, "End other programs, or give this container more memory.")


def available_memory_bytes(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Memory available to new processes: the kernel's estimate, or the rest of the control group if less.

    The kernel drops cached files before a group reaches its limit, so they count as free.
    """
    available = psutil.virtual_memory().available
    try:
        limit = int((cgroup / "memory.max").read_text())
        left = limit - int((cgroup / "memory.current").read_text())
        stat = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
        left += int(stat["active_file"]) + int(stat["inactive_file"])
    except (OSError, ValueError):  # no control group of our own, or the limit is "max"
        return available
    return min(available, max(left, 0))


def _disk(results: Path) -> Check:
    folder = results.absolute()
    while not folder.exists():
        folder = folder.parent
    point = mount_point(folder.resolve())
    if str(point) not in {one.mountpoint for one in psutil.disk_partitions(all=True)}:
        seen = f"{point} is no mount point of /proc/self/mounts: bookies end with 'Mount point not found'"
        return Check("disk", "fail", seen, "In a chroot: mount --bind ROOT ROOT before entering it.")
    usage = shutil.disk_usage(folder)
    return disk_check(results, usage.total, usage.free)


def mount_point(folder: Path) -> Path:
    """The highest parent on the same device, which is where Java expects the mount point of ``folder``."""
    device = folder.stat().st_dev
    while folder != folder.parent and folder.parent.stat().st_dev == device:
        folder = folder.parent
    return folder


def disk_check(results: Path, total_bytes: int, free_bytes: int) -> Check:
    """The judgement on a disk of this size; bookies count every byte that is not free to them as used."""
    fill = 1 - free_bytes / total_bytes if total_bytes else 1.0  # /proc and its like have no size
    seen = f"{_size(free_bytes)} free under {results}, {fill:.0%} full"
    remedy = "Free some space, or name another folder: FENCEPOST_RESULTS, or --results of a run."
    if free_bytes < LEAST_DISK_BYTES:
        return Check("disk", "fail", f"{seen}; a run needs {_size(LEAST_DISK_BYTES)}", remedy)
    if fill >= RUN_DISK_LIMIT:
        return Check("disk", "fail", f"{seen}: bookies turn read-only at {RUN_DISK_LIMIT:.0%}", remedy)
    if fill >= STOCK_DISK_LIMIT:
        seen += f": bookies with BookKeeper's own threshold turn read-only at {STOCK_DISK_LIMIT:.0%}"
        return Check("disk", "warn", seen, remedy)
    if free_bytes < DISK_BYTES:
        return Check("disk", "warn", f"{seen}; a run with many adds can take {_size(DISK_BYTES)}", remedy)
    return Check("disk", "ok", seen)


def _addresses() -> Check:
    address = AddressPlan(LAST_OCTET).direct("b1")[0]
    try:
        _bind(address, 0)
    except OSError as error:
        remedy = "Give this container its own loopback with all of 127.0.0.0/8 (the Linux default)."
        return Check("addresses", "fail", f"{address} cannot be bound: {error.strerror}", remedy)
    return Check("addresses", "ok", f"any address of 127/8 can be bound ({address} was)")


def _lease() -> Check:
    for octet in range(FIRST_OCTET, LAST_OCTET + 1):
        host, lease = AddressPlan(octet).lease
        try:
            for port in (lease, ZOOKEEPER_PORT, BOOKIE_PORT, PROXY_PORT):
                _bind(host, port)
        except OSError:
            continue
        taken = octet - FIRST_OCTET
        return Check("lease", "ok", f"127.{octet}/16 is free" + (f" ({taken} taken)" if taken else ""))
    remedy = f"Wait for other runs, or stop what listens on all addresses: `ss -ltnp 'sport = :{port}'`."
    seen = f"port {port} is taken on all of 127.{FIRST_OCTET} to 127.{LAST_OCTET}"
    return Check("lease", "fail", seen, remedy)


def _disks() -> Check:
    """Whether bookies can have dedicated file systems; xfs is only checked for a plan that names it."""
    reason = disks.unavailable_reason()
    if reason is not None:
        return Check("disks", "warn", reason, f"Only faults of disks need it: {disks.remedy()}.")
    kinds = " and ".join(kind for kind in disks.KINDS if disks.unavailable_reason(kind) is None)
    return Check("disks", "ok", f"bookies can have dedicated disks ({kinds} on loop devices)")


def _docker() -> Check:
    remedy = f"{_ONLY_DOCKER}: start Docker, or set DOCKER_HOST to a socket of this machine."
    try:
        path = socket_path()
        ping(path)
    except FileNotFoundError:
        return Check("docker", "warn", f"no engine is running: {path} does not exist", remedy)
    except OSError as error:
        return Check("docker", "warn", f"no engine answers: {error.strerror or error}", remedy)
    return Check("docker", "ok", f"an engine answers at {path}")


def _containers() -> Check:
    """What runs in containers need besides an engine; whether clocks are shared is checked by each run."""
    version = DEFAULT_VERSION
    try:
        ping(socket_path())
        from cluster.docker.engine import Engine  # it loads the SDK, which takes long

        with closing(Engine()) as engine:
            missing = engine.missing(images_of([version]))
        words = " ".join(compose_command())
    except (OSError, IncapableError, ServerError):
        return Check("containers", "warn", "no engine answers", f"{_ONLY_DOCKER}: see `docker` above.")
    except FencepostError as error:
        return Check("containers", "warn", str(error), f"{_ONLY_DOCKER}: {error.remedy}.")
    if missing:
        seen = f"the engine lacks {', '.join(missing)}"
        return Check("containers", "warn", seen, f"{_ONLY_DOCKER}: scripts/images builds them.")
    return Check("containers", "ok", f"the images of BookKeeper {version} are there; Compose is `{words}`")


def _root() -> Check:
    if os.geteuid() == 0:
        return Check("root", "ok", "running as root")
    return Check("root", "warn", f"running as user {os.geteuid()}", "Only file-system faults need root.")


def _bind(address: str, port: int) -> None:
    with socket.socket() as probe:
        probe.bind((address, port))


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
