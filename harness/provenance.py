"""The content of ``run.json``: the resolved plan, versions, commit, host, load, clock; written once.

Only facts that a reader needs to repeat or weigh a run. No environment, no user name.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

from evidence.collect.clock import READING_ERROR_NS
from evidence.shapes import Clocks, MachineLoad, RunTree
from protocol.java import about, java

CHECKOUT = Path(__file__).resolve().parent.parent


def clock() -> Clocks:
    """One pair of readings of the wall clock and the run's clock, in nanoseconds.

    A busy machine may take the core away between the two. Then they are read again: every time that is
    converted with the pair is wrong by the pause (:data:`~evidence.collect.clock.READING_ERROR_NS`).
    """
    while True:
        before_ns, wall_ns, monotonic_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if monotonic_ns - before_ns < READING_ERROR_NS:
            return {"wall_ns": wall_ns, "monotonic_ns": monotonic_ns}


def waited_ns() -> int | None:
    """The time since boot in which some process of this machine waited for a core; None where unknown.

    Source: the line ``some`` of ``/proc/pressure/cpu`` (Documentation/accounting/psi.rst).
    """
    total_us = _pressure("total")
    return None if total_us is None else int(total_us) * 1000


def _pressure(figure: str) -> float | None:
    """``total`` in microseconds, ``avg10`` in percent of the last ten seconds."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
        return float(dict(field.split("=") for field in some.split()[1:])[figure])
    except (OSError, ValueError, LookupError):
        return None


def load_now() -> MachineLoad:
    """The load average, and the share of the last ten seconds in which a process waited for a core."""
    percent = _pressure("avg10")
    return _load(None if percent is None else percent / 100)


def load_since(began_ns: int, waited_before_ns: int | None) -> MachineLoad:
    """The machine's load average, and the share of the time since then in which a process waited for a core.

    Both arguments are in nanoseconds, of ``time.monotonic_ns`` and :func:`waited_ns`. The share is from 0 to
    1, None where it is not known.
    """
    waited = waited_ns()
    if waited is None or waited_before_ns is None:
        return _load(None)
    return _load((waited - waited_before_ns) / max(1, time.monotonic_ns() - began_ns))


def _load(share: float | None) -> MachineLoad:
    return {
        "average": round(os.getloadavg()[0], 2),
        "cpu_pressure": None if share is None else round(share, 3),
    }


def cpu_s() -> float:
    """Seconds of processor time, user and system, of this process and of all that it has waited for.

    So the difference over a run has the time of its servers and clients: the keeper waits for them, and this
    process for the keeper.
    """
    return sum(os.times()[:4])


def commit() -> tuple[str, bool]:
    """The checkout's commit and whether its tree differs from it; ``("unknown", True)`` without git."""

    def git(*arguments: str) -> str:
        argv = ["git", "-C", str(CHECKOUT), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return "unknown", True


def host() -> dict[str, object]:
    """Kernel, machine, cores, memory, Python and Java of this machine."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": pages,
        "python": platform.python_version(),
        "java": _java(),
        "root": os.geteuid() == 0,
    }


def _java() -> str:
    """Version and vendor, as in ``21.0.8 (Eclipse Adoptium)``; some distributions name no vendor."""
    said: dict[str, str] = dict(
        re.findall(r'^(JAVA_VERSION|IMPLEMENTOR)="(.*)"', about(java()), re.MULTILINE)
    )
    vendor = f" ({said['IMPLEMENTOR']})" if "IMPLEMENTOR" in said else ""
    return said.get("JAVA_VERSION", "unknown") + vendor


def differences(run: RunTree) -> list[str]:
    """What differs between the machine and harness of a stored run and those of here, one line each."""
    names = {"commit": "Fencepost's commit", "java": "Java", "cores": "cores"}
    then = {
        **run.get("host", {}),
        "commit": named_commit(run.get("commit", "unknown"), run.get("dirty", False)),
    }
    here = {**host(), "commit": named_commit(*commit())}
    return [
        f"{name}: {then[key]} in the run, {here[key]} here"
        for key, name in names.items()
        if key in then and then[key] != here[key]
    ]


def named_commit(head: str, dirty: bool) -> str:
    """A commit as a user reads it: ``9e38015c1f2a, with uncommitted changes``."""
    return head[:12] + (", with uncommitted changes" if dirty else "")


def provenance() -> dict[str, object]:
    """The part of ``run.json`` that does not depend on the plan."""
    head, dirty = commit()
    here = {"host": host(), "load": load_now(), "clock": clock()}
    return {"commit": head, "dirty": dirty, "argv": sys.argv[1:], **here}
