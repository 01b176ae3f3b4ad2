"""A Docker engine of one's own: started where none answers, with all that it keeps in one folder, and ended.

Its data, its socket and its runtime files are below a temporary folder, so it meets no engine that is
started later. It ends with whoever started it, also when that is killed. Needs root and ``dockerd``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import engine
import machine
from stamp import ROOT

sys.path.insert(0, str(ROOT))
from cluster.waiting import wait_until
from protocol.errors import NotReadyError

_DISK = "/var/tmp"  # noqa: S108 - a disk, where /tmp may be memory; the folder's name is not guessable
_BRIDGE = Path("/sys/class/net/docker0")
_START_TIMEOUT_S, _END_TIMEOUT_S = 120, 60


@contextmanager
def own_engine() -> Iterator[str]:
    """Start an engine, yield its address (for DOCKER_HOST), and end it with all of its containers.

    ``StopError`` says why there can be none here.
    """
    if os.geteuid() != 0:
        raise machine.StopError("starting an engine of one's own needs root", 2)
    if shutil.which("dockerd") is None:
        raise machine.StopError(f"there is no dockerd: {' '.join(machine.apt_command([engine.ENGINE]))}", 2)
    folder = Path(tempfile.mkdtemp(prefix="fencepost-engine-", dir=_DISK))
    had_bridge = _BRIDGE.exists()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(_argv(folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    address = f"unix://{folder}/socket"
    try:
        _await_answer(address, process, folder)
        yield address
    finally:
        _end(address, process)
        if not had_bridge and _BRIDGE.exists() and shutil.which("ip"):
            subprocess.run(["ip", "link", "delete", _BRIDGE.name], capture_output=True, check=False)
        _remove(folder)


def _argv(folder: Path) -> list[str]:
    return [
        # Ends with the thread that starts it, however that ends.
        "setpriv", "--pdeathsig", "SIGTERM", "--",
        "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
        "--pidfile", f"{folder}/pid", "--host", f"unix://{folder}/socket",
    ]  # fmt: skip


def _remove(folder: Path) -> None:
    """Remove the folder, and first what is mounted in it: an engine that failed leaves its data mounted."""
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for point in reversed([point for point in mounted if point.startswith(f"{folder}/")]):
        subprocess.run(["umount", point], capture_output=True, check=False)
    shutil.rmtree(folder)


def _await_answer(address: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    def answers() -> tuple[bool, str]:
        if process.poll() is not None:
            raise machine.StopError(f"an engine cannot run here: {_last_word(folder)}", 2)
        done = engine.docker("--host", address, "version")
        return done.returncode == 0, _last_word(folder)

    try:
        wait_until(answers, _START_TIMEOUT_S, "an engine of our own to answer")
    except NotReadyError as error:
        raise machine.StopError(str(error), 1) from error


def _last_word(folder: Path) -> str:
    return (["it said nothing", *(folder / "log").read_text(errors="replace").splitlines()])[-1]


def _end(address: str, process: subprocess.Popen[bytes]) -> None:
    """Remove what runs in it first: what is mounted for a container would be left when it is killed."""
    if process.poll() is None:
        running = engine.docker("--host", address, "ps", "--all", "--quiet").stdout.split()
        if running:
            engine.docker("--host", address, "rm", "--force", "--volumes", *running)
        process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
