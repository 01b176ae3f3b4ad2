"""Set-up: install what is missing, or take all of it away again.

usage: scripts/setup [--help | --remove]

Installs Python packages (Spark and a Java runtime among them), BookKeeper's and ZooKeeper's jars,
and the project's own client and proxy, into this checkout (.venv, .build, client/target, proxy/bin)
and into the cache (FENCEPOST_CACHE, else ~/.cache/fencepost). It needs Python 3.11 or newer and no
root, and says first what it will fetch and how much disk that takes. It can be interrupted at any
moment and run again. docs/setup.md has mirrors, proxies and sizes.

--remove   remove all of that: .venv, .build, client/target, proxy/bin and the cache; results stay

Exit codes: 0 done, 1 a step failed, 2 something is missing that only you can supply, 130 interrupted.
"""

import ending  # first, before the other imports take their time

# isort: split

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import machine
import plan
import removal
import stamp

from protocol.errors import FencepostError, PrerequisiteError

_SAY_AGAIN_S = 10


def main(arguments: list[str]) -> int:
    """Run set-up, then the command that ``--for NAME COMMAND...`` names; the exit code."""
    command: list[str] = []
    if arguments[:1] == ["--for"]:  # of the other scripts, whose standard output is the command's
        ending.script, command = f"scripts/{arguments[1]}", arguments[2:]
        os.environ["FENCEPOST_SETUP_FOR"] = ending.script
    elif arguments not in ([], ["--remove"]):
        print(f"error: scripts/setup knows --help and --remove, not: {' '.join(arguments)}", file=sys.stderr)
        return 2
    try:
        stamp.cache_root()
    except RuntimeError:  # as the standard library says it
        print(
            "error: this user has no home folder; set FENCEPOST_CACHE to one for the cache", file=sys.stderr
        )
        return 2
    try:
        code = _remove() if arguments == ["--remove"] else _set_up()
    except FencepostError as stop:
        print(f"error: {str(stop).replace('scripts/setup', ending.script)}", file=sys.stderr)
        return stop.exit_code
    except OSError as error:
        print(f"error: {error.strerror}: {error.filename}", file=sys.stderr)
        return 2
    if code == 0 and command:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process would compile again
        os.execv(command[0], command)  # noqa: S606, no shell is wanted
    return code


def _set_up() -> int:
    machine.require_platform()
    names = plan.needed()
    if not names:
        print("set up: nothing to do", file=_output())
        return 0
    plan.require_writable()
    with (
        locked(stamp.BUILD / "setup.lock", fcntl.LOCK_EX) as own,
        locked(stamp.cache_root() / "setup.lock", fcntl.LOCK_SH) as shared,
    ):
        if not plan.needed():  # the set-up that had the lock has done it
            return 0
        argv = [sys.executable, "-B", str(Path(__file__).with_name("work.py"))]
        return supervise(argv, [own, shared])


def _remove() -> int:
    with (
        locked(stamp.BUILD / "setup.lock", fcntl.LOCK_EX | fcntl.LOCK_NB),
        locked(stamp.cache_root() / "setup.lock", fcntl.LOCK_EX | fcntl.LOCK_NB),
    ):
        for line in removal.remove():
            print(line, flush=True)
    return 0


def _output() -> TextIO:
    """Where set-up speaks: standard output is the command's when one follows."""
    return sys.stdout if ending.script == "scripts/setup" else sys.stderr


def supervise(argv: list[str], locks: list[int]) -> int:
    """Run the worker in a separate process group, and leave nothing of it behind; its exit code.

    The worker ends itself and all that it started when its standard input does, that is when this
    process dies in a way that it cannot act upon. The locks are inherited, so the next set-up
    waits for what is left.
    """
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=_output(), start_new_session=True, pass_fds=locks
    ) as worker:
        ending.owns(worker.pid)
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)  # until it is reaped, its group is its own
        os.killpg(worker.pid, signal.SIGKILL)
        ending.owns(None)
    if worker.returncode < 0:
        seen = f"set-up was killed (signal {-worker.returncode})"
        raise FencepostError(f"{seen}; run scripts/setup again")
    return worker.returncode


@contextmanager
def locked(path: Path, how: int) -> Iterator[int]:
    """Hold a lock; wait for another set-up, and say so, unless ``how`` has LOCK_NB, which refuses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    said_at = -float(_SAY_AGAIN_S)
    try:
        while True:
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if how & fcntl.LOCK_NB:
                    seen = f"a set-up is running in {path.parent}"
                    raise PrerequisiteError(f"{seen}; wait for its end") from None
                if time.monotonic() - said_at >= _SAY_AGAIN_S:
                    print(f"another set-up is running in {path.parent}; waiting for its end", flush=True)
                    said_at = time.monotonic()
                time.sleep(0.2)
        yield descriptor
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
