"""The steps of set-up, one function each, and how their output is kept.

Standard library only. Each step's output goes to ``.build/<step>.log``; a failure shows its end.
Which steps are needed, and in which order, is decided in ``install.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import machine
from stamp import BUILD, PROXY, ROOT, VENV

LOCKS = ROOT / "locks"
_TAIL_LINES = 25


def run(step: str, argv: list[str], *, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Run one command, output appended to the step's log; ``StopError`` with the log's end when it fails."""
    log = BUILD / f"{step}.log"
    with log.open("ab") as stream:
        stream.write(f"$ {' '.join(argv)}\n".encode())
        stream.flush()
        done = subprocess.run(
            argv, cwd=cwd, env=os.environ | (env or {}), stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
        raise machine.StopError(f"{step} failed (exit code {done.returncode}), {log} ends:\n{tail}", 1)


def system(missing: list[machine.Gap]) -> None:
    """Install the missing system packages with apt-get, as root."""
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    run("system", ["apt-get", "update"], env=env)
    run("system", machine.apt_command(missing), env=env)


def python() -> None:
    """Make ``.venv`` from the locks and install this checkout into it, editable."""
    uv = shutil.which("uv")
    if not _usable(VENV, needs_pip=uv is None):
        shutil.rmtree(VENV, ignore_errors=True)
        maker = [uv, "venv", "-q", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
        run("python", [*maker, str(VENV)])
    install = _installer(uv, VENV)
    locked = [*install, "--require-hashes", "-r"]
    run("python", [*locked, str(LOCKS / "build.txt")])
    isolation = ["--no-build-isolation"] if uv else ["--no-build-isolation", "--use-pep517"]
    run("python", [*install, "--require-hashes", *isolation, "-r", str(LOCKS / "requirements.txt")])
    run("python", [*install, "--no-deps", "--no-build-isolation", "-e", str(ROOT)])


def client() -> None:
    """Build the client's jar with Maven."""
    run("client", ["mvn", "-q", "-B", "package", "-DskipTests"], cwd=ROOT / "client")


def servers() -> None:
    """Fetch the jars of the default version of BookKeeper and ZooKeeper and check them."""
    run("servers", [sys.executable, "-B", "-m", "cluster.artifacts"])


def proxy() -> None:
    """Build the proxy, with Go from PATH or from the locked wheel."""
    env = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    PROXY.parent.mkdir(parents=True, exist_ok=True)
    argv = [str(go_command()), "build", "-trimpath", "-buildvcs=false", "-o", str(PROXY), "."]
    run("proxy", argv, cwd=ROOT / "proxy", env=env)


def starts() -> None:
    """Make the class-data archives of servers, client and Spark, once all of them are there."""
    run("starts", [str(VENV / "bin" / "python"), "-B", "-m", "harness.archives"])


def go_command() -> Path:
    """Go from PATH, else from ``.build/go``, which is made when it is not there."""
    found = machine.go()
    if found is not None:
        return found
    home = BUILD / "go"
    command = home / "bin" / "go"
    if not command.is_file():
        shutil.rmtree(home, ignore_errors=True)
        uv = shutil.which("uv")
        maker = [uv, "venv", "-q", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
        run("proxy", [*maker, str(home)])
        run("proxy", [*_installer(uv, home), "--require-hashes", "-r", str(LOCKS / "go.txt")])
    return command


def _usable(venv: Path, *, needs_pip: bool) -> bool:
    check = f"import sys{', pip' if needs_pip else ''}; print(sys.version_info >= (3, 11))"
    return machine.output([str(venv / "bin" / "python"), "-c", check]).strip() == "True"


def _installer(uv: str | None, venv: Path) -> list[str]:
    python = str(venv / "bin" / "python")
    if uv:
        return [uv, "pip", "install", "-q", "--python", python]
    return [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
