"""What this process and all below it use: processor time, and memory sampled while something runs.

Memory is the proportional share (PSS): pages that forked workers share count once.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

_EVERY_S = 0.5
_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall and processor seconds of all processes together, and their peak of memory in GB."""

    wall_s: float
    cpu_s: float
    peak_gb: float


def costing(act: Callable[[], Result]) -> tuple[Result, Cost]:
    """What ``act`` returns, and what it cost; looking at the memory costs nothing."""
    done, peak, looking_s = threading.Event(), [memory_gb()], [0.0]
    before, used = processor_times(), {}

    def sample() -> None:
        while not done.wait(_EVERY_S):
            peak.append(memory_gb())
            used.update(processor_times())
            looking_s[0] = time.thread_time()

    sampler = threading.Thread(target=sample, name="memory-sampler", daemon=True)
    wall = time.monotonic()
    sampler.start()
    try:
        result = act()
        wall = time.monotonic() - wall
        used.update(processor_times())
    finally:
        done.set()
        sampler.join()
    cpu = sum(seconds - before.get(process, 0.0) for process, seconds in used.items()) - looking_s[0]
    return result, Cost(wall, cpu, max(peak))


def processor_times() -> dict[psutil.Process, float]:
    """Processor seconds of each process of the tree until now, without its children.

    A process that ends counts as it was last seen: its parent need not count it (an idle worker of Spark's).
    """
    used = {}
    for process in _tree():
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used[process] = times.user + times.system
    return used


def memory_gb() -> float:
    """Memory of the tree now."""
    total = 0
    for process in _tree():
        with suppress(OSError):
            found = _PSS.search(Path(f"/proc/{process.pid}/smaps_rollup").read_text())
            total += int(found[1]) if found else 0
    return total * 1024 / 1e9


def _tree() -> list[psutil.Process]:
    own = psutil.Process()
    return [own, *own.children(recursive=True)]
