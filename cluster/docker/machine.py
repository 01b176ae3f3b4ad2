"""Whether this machine's engine can run an experiment: images, Compose, containers that are here, addresses.

Times of all processes are compared by CLOCK_MONOTONIC, and files are shared at the same paths. So
containers must run on the kernel of the harness, in its time namespace, and see its folders; an engine in a
virtual machine does not offer that.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from cluster.docker.engine import LOCAL_ENGINE, Engine
from cluster.docker.images import bookkeeper_image, compose_command, images_of
from cluster.docker.labels import KEEPER_LABEL, RUN_LABEL, identity
from protocol.errors import IncapableError, PrerequisiteError

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME = Path("/proc/self/ns/time")
_ROUTES = Path("/proc/net/route")
_LEAST_PREFIX = 9
"""A route that covers more than half of 10/8 says nothing of any one block; more exact ones win over it."""


def require(versions: Sequence[str], results: Path) -> None:
    """Raise ``PrerequisiteError`` for the first thing that is missing."""
    compose_command()
    with closing(Engine()) as engine:
        missing = engine.missing(images_of(list(versions)))
        if missing:
            raise PrerequisiteError(
                f"the engine has no image {', '.join(missing)}",
                remedy=f"build them: scripts/images {' '.join(versions)}",
            )
        results.mkdir(parents=True, exist_ok=True)
        _require_same_machine(engine, bookkeeper_image(versions[0]).name, results.absolute())


def _require_same_machine(engine: Engine, image: str, results: Path) -> None:
    mark = results / f".seen-{secrets.token_hex(8)}"
    mark.write_text(f"{mark.name}\n")
    try:
        script = f"cat {_BOOT_ID}; readlink {_TIME} || echo none; cat '{mark}' 2>/dev/null || echo none"
        user = f"{os.geteuid()}:{os.getegid()}"
        labels = {RUN_LABEL: mark.name, KEEPER_LABEL: identity(os.getpid())}
        output = engine.output_of(image, script, user=user, labels=labels, folder=str(results))
    finally:
        mark.unlink()
    reason = difference(output.split(), [_BOOT_ID.read_text().strip(), time_namespace(), mark.name], results)
    if reason:
        raise IncapableError(reason, remedy=LOCAL_ENGINE)


def time_namespace() -> str:
    """The time namespace of this process; ``none`` where the kernel does not support them."""
    return str(_TIME.readlink()) if _TIME.is_symlink() else "none"


def difference(theirs: Sequence[str], ours: Sequence[str], results: Path) -> str:
    """How a container differs from this process (kernel, time namespace, folder), empty when it does not."""
    if len(theirs) != len(ours):
        return f"a container said {' '.join(theirs)!r} when it was asked where it runs"
    if theirs[0] != ours[0]:
        return (
            "containers run on another kernel than this process, so their clocks cannot be compared with ours"
        )
    if theirs[1] != ours[1]:
        return f"containers have a separate clock (time namespace {theirs[1]}, ours is {ours[1]})"
    return "" if theirs[2] == ours[2] else f"containers do not see this machine's folder {results}"


def taken_octets(routes: Path = _ROUTES) -> list[int]:
    """Every L for which some route of this machine leads into 10.L/16."""
    taken: set[int] = set()
    for network in _networks(routes.read_text().splitlines()[1:]):
        if network.prefixlen >= _LEAST_PREFIX and network.subnet_of(ipaddress.IPv4Network("10.0.0.0/8")):
            first, last = network.network_address.packed[1], network.broadcast_address.packed[1]
            taken.update(range(first, last + 1))
    return sorted(taken)


def _networks(lines: Iterable[str]) -> Iterator[ipaddress.IPv4Network]:
    for line in lines:
        words = line.split()
        destination, mask = (_address(words[column]) for column in (1, 7))
        yield ipaddress.IPv4Network(f"{destination}/{mask}")


def _address(word: str) -> ipaddress.IPv4Address:
    """An address as the kernel prints it: the bytes in memory read as a number of this machine."""
    return ipaddress.IPv4Address(struct.pack("=I", int(word, 16)))
