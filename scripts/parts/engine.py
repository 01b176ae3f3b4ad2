"""The Docker engine: whether one answers, what it has, and how to get one.

Standard library only. Asks with the ``docker`` command, so it sees the engine that the user sees
(DOCKER_HOST, contexts). Installs only on request.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import machine
import steps
from stamp import PROXY

ENGINE = machine.Gap("a Docker engine", ("docker.io", "iproute2"))  # `ip` removes its bridge afterwards
PACKETS = machine.Gap("nft in containers' networks", ("nftables", "util-linux"))
DEBOOTSTRAP = machine.Gap("debootstrap", ("debootstrap",))
_PROBE = "fencepost/probe"
_LOG, _PID = Path("/var/log/dockerd.log"), Path("/var/run/docker.pid")
_NOT_STARTED = {124, 125, 126, 127}  # of `docker run`; any other code is the program's own
_ASK_TIMEOUT_S = 60
_START_TIMEOUT_S = 60


def docker(*words: str, timeout_s: float = _ASK_TIMEOUT_S) -> subprocess.CompletedProcess[str]:
    """Run ``docker`` with these words; exit code 127 when there is none, 124 when it took too long."""
    argv = ["docker", *words]
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, check=False)
    except FileNotFoundError:
        return subprocess.CompletedProcess(argv, 127, "", "there is no docker command on PATH")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", f"no answer within {timeout_s:g} s")


def inspect(image: str, form: str) -> str | None:
    """What an image's description has for a Go template, None when the engine has no such image."""
    done = docker("image", "inspect", "--format", form, image)
    return done.stdout.strip() if done.returncode == 0 else None


def lacking() -> str | None:
    """Why no engine can be used, with the remedy; None when one answers."""
    done = docker("version", "--format", "{{.Server.Version}}")
    if done.returncode == 0:
        return None
    seen = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    if done.returncode == 127:
        remedy = "scripts/images --engine (as root) installs one: apt-get install docker.io"
    elif "permission denied" in seen:
        remedy = (
            f"add this user to the group docker: sudo usermod -aG docker {os.environ.get('USER', 'USER')}"
        )
    else:
        remedy = (
            "start it (service docker start), or set DOCKER_HOST; scripts/images --engine does it as root"
        )
    return f"no Docker engine answers: {seen}\n{remedy}"


def container_failure(address: str | None = None) -> str | None:
    """Why no container starts in the engine at ``address`` (default: the user's); None when one did.

    The container runs the proxy's binary, which needs no image: so nothing is pulled.
    """
    words = ["--host", address] if address else []
    with tempfile.TemporaryDirectory(prefix="fencepost-probe-") as scratch:
        archive = Path(scratch) / "image.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(PROXY, PROXY.name)
        done = docker(*words, "import", str(archive), _PROBE)
    started = done.returncode == 0
    if started:
        done = docker(*words, "run", "--rm", _PROBE, f"/{PROXY.name}", "-help")
        started = done.returncode not in _NOT_STARTED
        docker(*words, "image", "rm", _PROBE)
    return None if started else (done.stderr.strip().splitlines() or ["it said nothing"])[0]


def builder() -> dict[str, str]:
    """The environment in which ``docker build`` works here: without buildx only the legacy builder does."""
    return {} if docker("buildx", "version").returncode == 0 else {"DOCKER_BUILDKIT": "0"}


def install_and_start() -> None:
    """Have an engine that answers; ``StopError`` when that needs root or fails."""
    if lacking() is None:
        return
    if shutil.which("dockerd") is None:
        if not machine.may_install():
            raise machine.StopError(machine.by_hand([ENGINE], "scripts/images --engine"), 2)
        steps.system([ENGINE])
    if os.geteuid() != 0:
        raise machine.StopError("starting an engine needs root: sudo service docker start", 2)
    _start()
    for _ in range(_START_TIMEOUT_S):
        if lacking() is None:
            return
        time.sleep(1)
    raise machine.StopError(f"the engine was started and does not answer after {_START_TIMEOUT_S} s", 1)


def _start() -> None:
    """As the system's service, else by hand: the service raises limits, which not every root may."""
    try:
        steps.run("engine", ["service", "docker", "start"])
    except machine.StopError:
        with _LOG.open("ab") as log:
            argv = ["setsid", "--fork", "dockerd"]
            subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
        print(f"engine: no service can start it here; begun by hand, log {_LOG}; end it: kill $(cat {_PID})")
