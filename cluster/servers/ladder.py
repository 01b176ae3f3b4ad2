"""Readiness as a ladder of named rungs, climbed in order while the process lives.

Each rung reached is recorded once with its time. When a process does not reach the top, the error names
the last rung, the last line of the log and the log's path. Independent of the kind of server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.interface import Exit
from cluster.logs import last_line, telling_lines
from protocol.errors import NotReadyError, UnplannedDeathError

POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Rung:
    """One step towards readiness; ``reached`` asks quickly and may be asked often."""

    name: str
    reached: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Climber:
    """The boot of a process that climbs: its name, its log, and how to wait for its end.

    ``ended(wait_s)`` returns its exit as soon as there is one, None after ``wait_s`` without.
    """

    name: str
    boot: int
    log: Path
    ended: Callable[[float], Exit | None]


def climb(
    climber: Climber, rungs: Sequence[Rung], *, timeout_s: float, tell: Callable[[str, int], None]
) -> None:
    """Reach every rung one after the other; ``tell(rung, at_ns)`` is called for each.

    Raises ``NotReadyError`` after ``timeout_s``, ``UnplannedDeathError`` when the process ends.
    """
    deadline = time.monotonic() + timeout_s
    last = "started"
    for rung in rungs:
        while not rung.reached():
            ended = climber.ended(POLL_S)
            if ended is not None:
                raise UnplannedDeathError(death(climber, ended, f"after rung {last!r}"))
            if time.monotonic() > deadline:
                raise NotReadyError(
                    f"{climber.name} (boot {climber.boot}) did not reach {rung.name!r} in {timeout_s:g} s; "
                    f"last rung: {last!r}; last log line: {last_line(climber.log)!r}; log: {climber.log}"
                )
        tell(rung.name, time.monotonic_ns())
        last = rung.name


def death(climber: Climber, ended: Exit, when: str = "") -> str:
    """One sentence about a process that ended on its own, followed by the related lines of its log."""
    who = f"{climber.name} (boot {climber.boot})"
    return f"{who} ended on its own{when and ' ' + when} with {ending(ended, climber.log)}"


def ending(ended: Exit, log: Path) -> str:
    """Exit code or signal, the log's path and its telling lines."""
    how = f"signal {ended.signal}" if ended.signal is not None else f"exit code {ended.code}"
    told = "\n  ".join(telling_lines(log)) or "(nothing)"
    return f"{how}; log {log}:\n  {told}"
