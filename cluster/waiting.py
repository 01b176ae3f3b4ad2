"""Waiting for a named state, never for a time: polls a condition and says the last state seen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from protocol.errors import NotReadyError, ServerError

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05
_THREADS_TIMEOUT_S = 60.0
_STOPPED_STATES = frozenset("tT")


def wait_until(condition: Callable[[], tuple[bool, str]], timeout_s: float, what: str) -> str:
    """Poll ``condition`` (true?, state as a phrase) until it is true; returns the last state.

    ``NotReadyError`` names what was waited for and the last state seen.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        met, state = condition()
        if met:
            return state
        if time.monotonic() > deadline:
            raise NotReadyError(
                f"waited {timeout_s:g} s for {what}; last seen: {state}",
                remedy="look at the servers' logs under servers/ in the run folder",
            )
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def await_threads(name: str, pid: int, *, stopped: bool) -> None:
    """Return when all threads of a process are stopped, or none is any more; ``ServerError`` otherwise."""
    wanted = "stopped" if stopped else "running"

    def reached() -> tuple[bool, str]:
        states = list(_states(pid))
        there = sum((state in _STOPPED_STATES) == stopped for state in states)
        return there == len(states), f"{there} of {len(states)} are {wanted}"

    try:
        wait_until(reached, _THREADS_TIMEOUT_S, f"{name}'s threads to be {wanted}")
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
