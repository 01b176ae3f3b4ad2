"""Set-up: find what is missing, say what will be installed, install it.

usage: scripts/setup [--help]

Installs into this checkout (.venv, .build, client/target, proxy/bin) and into the cache
(FENCEPOST_CACHE, else ~/.cache/fencepost). As root it installs a JDK and Maven with apt where
they are missing; FENCEPOST_NO_APT=1 forbids that. Exit codes: 0 done, 1 a step failed,
2 something is missing that only you can install.
"""

from __future__ import annotations

import fcntl
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import machine
import stamp
import steps

sys.path.insert(0, str(stamp.ROOT))
from cluster.artifacts import is_cached  # the checkout is importable only now

_SAYING = Lock()


@dataclass(frozen=True)
class Step:
    """One thing to do: its name, what the user reads before it starts, and the act."""

    name: str
    about: str
    act: Callable[[], None]


STEPS = {
    "python": Step(
        "python", "Python packages into .venv: 440 MB to fetch, 1 GB on disk, 1 to 4 minutes", steps.python
    ),
    "client": Step("client", "the client's jar with Maven: 100 MB to fetch, 1 minute", steps.client),
    "servers": Step("servers", "BookKeeper and ZooKeeper jars: 110 MB to fetch, 1 minute", steps.servers),
    "proxy": Step("proxy", "the proxy with Go: 30 MB to fetch, 1 minute", steps.proxy),
    "starts": Step("starts", "class data for faster starts: 250 MB in the cache, 1 minute", steps.starts),
}
BRANCHES = (("python",), ("client", "servers"), ("proxy",))  # side by side; Maven's two one after the other


def main(arguments: list[str]) -> int:
    """Run set-up; the exit code."""
    if arguments:
        sys.stdout.write(__doc__ or "")
        return 0 if arguments in (["--help"], ["-h"]) else 2
    try:
        with _alone():
            _set_up()
    except machine.StopError as stop:
        say(f"error: {stop}", error=True)
        return stop.code
    return 0


def say(text: str, *, error: bool = False) -> None:
    """One line for the user, never torn by another thread's."""
    with _SAYING:
        print(text, file=sys.stderr if error else sys.stdout, flush=True)


def needed() -> list[str]:
    """Names of the steps that are not up to date."""
    parts = [part for part in ("python", "client", "proxy") if not stamp.current(part)]
    if not is_cached():
        parts.append("servers")
    return [*parts, "starts"] if parts else []


def _set_up() -> None:
    machine.require_platform()
    names = needed()
    uses_venv = "python" in names or ("proxy" in names and machine.go() is None)
    missing = machine.gaps(
        need_maven="client" in names or "servers" in names, need_venv=uses_venv and not shutil.which("uv")
    )
    if missing and not machine.may_install():
        raise machine.StopError(machine.by_hand(missing), 2)
    if not names and not missing:
        say("set up: everything is up to date")
        return
    started = time.monotonic()
    _announce(names, missing)
    if missing:
        _timed("system", lambda: steps.system(missing))
    with ThreadPoolExecutor(len(BRANCHES)) as pool:
        failures = [stop for stop in pool.map(_branch, [_part(branch, names) for branch in BRANCHES]) if stop]
    if failures:
        raise machine.StopError(
            "\n".join(str(stop) for stop in failures), max(stop.code for stop in failures)
        )
    _timed("starts", STEPS["starts"].act)
    say(f"set up in {time.monotonic() - started:.0f} s; next: scripts/demo, or .venv/bin/fencepost --help")


def _announce(names: list[str], missing: list[machine.Gap]) -> None:
    say(
        "Fencepost will install, several at a time, into this checkout and its cache (1 to 5 minutes in all):"
    )
    if missing:
        say(f"  {', '.join(gap.what for gap in missing)} with apt-get: 180 MB to fetch, 1 minute")
    for name in names:
        say(f"  {STEPS[name].about}")
    if "proxy" in names and machine.go() is None:
        say("  Go into .build/go, as there is no Go 1.23 or newer on PATH: 70 MB to fetch")


def _part(branch: tuple[str, ...], names: list[str]) -> list[str]:
    return [name for name in branch if name in names]


def _branch(names: list[str]) -> machine.StopError | None:
    """Do the steps in turn; a failure comes back instead of ending the other branches."""
    for name in names:
        try:
            made_from = stamp.digest(name) if name != "servers" else ""
            _timed(name, STEPS[name].act)
        except machine.StopError as stop:
            return stop
        if made_from:
            with _SAYING:  # the record is one file, written by several branches
                stamp.record(name, made_from)
    return None


def _timed(name: str, act: Callable[[], None]) -> None:
    (stamp.BUILD / f"{name}.log").unlink(missing_ok=True)
    started = time.monotonic()
    act()
    say(f"  {name}: done in {time.monotonic() - started:.0f} s")


@contextmanager
def _alone() -> Iterator[None]:
    """One set-up of this checkout at a time; a second waits and then finds everything done."""
    stamp.BUILD.mkdir(exist_ok=True)
    with (stamp.BUILD / "setup.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
