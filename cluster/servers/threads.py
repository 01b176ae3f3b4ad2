"""Whether a process stands still: what the kernel says of each of its threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cluster.waiting import wait_until
from protocol.errors import NotReadyError, ServerError

_TIMEOUT_S = 60.0
_STOPPED_STATES = frozenset("tT")


def await_threads(name: str, pid: int, *, stopped: bool) -> None:
    """Return when all threads of a process are stopped, or none is any more; ``ServerError`` otherwise."""
    wanted = "stopped" if stopped else "running"

    def reached() -> tuple[bool, str]:
        states = list(_states(pid))
        there = sum((state in _STOPPED_STATES) == stopped for state in states)
        return there == len(states), f"{there} of {len(states)} are {wanted}"

    try:
        wait_until(reached, _TIMEOUT_S, f"{name}'s threads to be {wanted}")
    except (NotReadyError, FileNotFoundError, ProcessLookupError) as error:
        raise ServerError(str(error)) from error


def _states(pid: int) -> Iterator[str]:
    """The state letter of each thread of a process (proc(5)); none for threads that just ended."""
    for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a listing of names is all that is needed
        try:
            stat = Path(f"/proc/{pid}/task/{thread}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield stat.rpartition(")")[2].split()[0]
