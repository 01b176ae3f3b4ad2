"""The Docker engine: whether one answers, what it has, how to get one, and a private one for tests.

Asks with the ``docker`` command, so it sees the engine that the user sees (DOCKER_HOST, contexts). Installs
only on request. A private engine is started where none answers. Its data, its socket and its runtime files
are below a temporary folder, so it meets no engine that is started later. It ends with the process that
started it, even when that is killed. Its rules of the packet filter are removed again, unless another engine
had rules before. It needs root and ``dockerd``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import steps
from stamp import PROXY

from cluster.waiting import wait_until
from protocol.errors import FencepostError, PrerequisiteError

ENGINE = machine.Gap("a Docker engine", ("docker.io", "iproute2"))  # `ip` removes its bridge afterwards
PACKETS = machine.Gap("nft in containers' networks", ("nftables", "util-linux"))
DEBOOTSTRAP = machine.Gap("debootstrap", ("debootstrap",))
_PROBE = "fencepost/probe"
_LOG, _PID = Path("/var/log/dockerd.log"), Path("/var/run/docker.pid")
_NOT_STARTED = {124, 125, 126, 127}  # of `docker run`; any other code is the program's own
_ASK_TIMEOUT_S = 60
_START_TIMEOUT_S = 60
_DISK = "/var/tmp"  # noqa: S108 - a disk, where /tmp may be memory; the folder's name is not guessable
_BRIDGE = Path("/sys/class/net/docker0")
_PACKET_FILTERS = ("iptables", "ip6tables")
_OWN_START_TIMEOUT_S, _END_TIMEOUT_S = 120, 60


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


def container_failure(address: str | None) -> str | None:
    """Why no container starts in the engine at ``address`` (None: the user's); None when one did.

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
    """Have an engine that answers; ``FencepostError`` when that needs root or fails."""
    if lacking() is None:
        return
    if shutil.which("dockerd") is None:
        if not machine.may_install():
            raise PrerequisiteError(machine.by_hand([ENGINE], "scripts/images --engine"))
        steps.system([ENGINE])
    if os.geteuid() != 0:
        raise PrerequisiteError("starting an engine needs root: sudo service docker start")
    _start()
    wait_until(lambda: ((reason := lacking()) is None, str(reason)), _START_TIMEOUT_S, "the engine to answer")


def _start() -> None:
    """As the system's service, else by hand: the service raises limits, which not every root may."""
    try:
        steps.run("engine", ["service", "docker", "start"])
    except FencepostError:
        with _LOG.open("ab") as log:
            argv = ["setsid", "--fork", "dockerd"]
            subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
        print(f"engine: no service can start it here; begun by hand, log {_LOG}; end it: kill $(cat {_PID})")


@contextmanager
def own_engine() -> Iterator[str]:
    """Start an engine, yield its address (for DOCKER_HOST), and end it with all of its containers.

    ``FencepostError`` says why there can be none here.
    """
    if os.geteuid() != 0:
        raise PrerequisiteError("starting a private engine needs root")
    if shutil.which("dockerd") is None:
        raise PrerequisiteError(f"there is no dockerd: {' '.join(machine.apt_command([ENGINE]))}")
    folder = Path(tempfile.mkdtemp(prefix="fencepost-engine-", dir=_DISK))
    had_bridge, rules = _BRIDGE.exists(), {tool: _saved(tool) for tool in _PACKET_FILTERS}
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
        for tool, before in rules.items():
            for arguments in undone(before, _saved(tool)):
                subprocess.run([tool, "--wait", *arguments], capture_output=True, check=False)
        _remove(folder)


def _argv(folder: Path) -> list[str]:
    return [
        # Ends with the thread that starts it, however that ends.
        "setpriv", "--pdeathsig", "SIGTERM", "--",
        "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
        "--pidfile", f"{folder}/pid", "--host", f"unix://{folder}/socket",
    ]  # fmt: skip


def _saved(tool: str) -> str:
    """What ``iptables-save`` prints of all tables; nothing where the tool is missing or cannot run."""
    saver = shutil.which(f"{tool}-save")
    return subprocess.run([saver], capture_output=True, text=True, check=False).stdout if saver else ""


def undone(before: str, after: str) -> list[list[str]]:
    """Give the arguments of ``iptables`` that take away what an engine added between two listings.

    Both are outputs of ``iptables-save``. Nothing is taken away where an engine had chains ``before``:
    they may be in use. Rules go first, as a chain can be deleted only once nothing refers to it.
    """
    if ":DOCKER" in before:
        return []
    had = set(_lines(before))
    added = [(table, line) for table, line in _lines(after) if (table, line) not in had]
    rules = [
        ["-t", table, "-D", *shlex.split(line)[1:]]
        for table, line in added
        if line.startswith("-A") and ("DOCKER" in line or "docker0" in line or " br-" in line)
    ]
    chains = [(table, *line[1:].split()[:2]) for table, line in added if line.startswith(":")]
    policies = {(table, line[1:].split()[0]): line.split()[1] for table, line in had if line.startswith(":")}
    return [
        *rules,
        *(["-t", table, "-X", name] for table, name, _ in chains if name.startswith("DOCKER")),
        *(["-t", table, "-P", name, policies.get((table, name), "ACCEPT")]
          for table, name, policy in chains if policy == "DROP"),
    ]  # fmt: skip


def _lines(saved: str) -> Iterator[tuple[str, str]]:
    """Give the lines of ``iptables-save``, each with the name of its table, without the packet counts."""
    table = ""
    for line in saved.splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif line[:1] in {":", "-"}:
            yield table, line.split(" [")[0]


def _remove(folder: Path) -> None:
    """Remove the folder, and first what is mounted in it: an engine that failed leaves its data mounted."""
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for point in reversed([point for point in mounted if point.startswith(f"{folder}/")]):
        subprocess.run(["umount", point], capture_output=True, check=False)
    shutil.rmtree(folder)


def _await_answer(address: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    def answers() -> tuple[bool, str]:
        if process.poll() is not None:
            raise PrerequisiteError(f"an engine cannot run here: {_last_word(folder)}")
        done = docker("--host", address, "version")
        return done.returncode == 0, _last_word(folder)

    wait_until(answers, _OWN_START_TIMEOUT_S, "an engine of our own to answer")


def _last_word(folder: Path) -> str:
    return (["it said nothing", *(folder / "log").read_text(errors="replace").splitlines()])[-1]


def _end(address: str, process: subprocess.Popen[bytes]) -> None:
    """Remove what runs in it first: what is mounted for a container would be left when it is killed."""
    if process.poll() is None:
        running = docker("--host", address, "ps", "--all", "--quiet").stdout.split()
        if running:
            docker("--host", address, "rm", "--force", "--volumes", *running)
        process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
