"""Whether this machine's engine can run an experiment: images, Compose, and containers that are really here.

Times of all processes are compared by CLOCK_MONOTONIC, and files are shared at the same paths. So
containers must run on the kernel of the harness, in its time namespace, and see its folders; an engine in a
virtual machine does not offer that.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from cluster.docker.command import compose_command
from cluster.docker.engine import Engine
from cluster.docker.images import bookkeeper_image
from cluster.docker.labels import KEEPER_LABEL, RUN_LABEL, identity
from cluster.docker.programs import images_of
from cluster.docker.sweep import socket_path
from protocol.errors import IncapableError, PrerequisiteError

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME = Path("/proc/self/ns/time")
_REMEDY = "use an engine that runs on this machine itself, or the local backend"


def require(versions: Sequence[str], results: Path) -> None:
    """Raise ``PrerequisiteError`` for the first thing that is missing."""
    try:
        socket_path()
    except OSError as error:
        raise IncapableError(f"the engine is not on this machine: {error}", remedy=_REMEDY) from error
    compose_command()
    engine = Engine()
    try:
        missing = engine.missing(images_of(list(versions)))
        if missing:
            raise PrerequisiteError(
                f"the engine has no image {', '.join(missing)}",
                remedy=f"build them: scripts/images {' '.join(versions)}",
            )
        results.mkdir(parents=True, exist_ok=True)
        _require_same_machine(engine, bookkeeper_image(versions[0]).name, results.absolute())
    finally:
        engine.close()


def _require_same_machine(engine: Engine, image: str, results: Path) -> None:
    mark = results / f".seen-{secrets.token_hex(8)}"
    mark.write_text(f"{mark.name}\n")
    try:
        script = f"cat {_BOOT_ID}; readlink {_TIME} || echo none; cat '{mark}' 2>/dev/null || echo none"
        user = f"{os.geteuid()}:{os.getegid()}"
        labels = {RUN_LABEL: mark.name, KEEPER_LABEL: identity(os.getpid())}
        said = engine.said_by(image, script, user=user, labels=labels, folder=str(results))
    finally:
        mark.unlink()
    reason = difference(said.split(), [_BOOT_ID.read_text().strip(), time_namespace(), mark.name], results)
    if reason:
        raise IncapableError(reason, remedy=_REMEDY)


def time_namespace(link: Path = _TIME) -> str:
    """The time namespace of this process; ``none`` where the kernel does not support them."""
    return str(link.readlink()) if link.is_symlink() else "none"


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
