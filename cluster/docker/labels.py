"""What everything of a run carries in the engine, and what is left of runs whose keepers are gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RUN_LABEL = "fencepost.run"
KEEPER_LABEL = "fencepost.keeper"
"""``<pid>:<start time in ticks>`` of the process that will remove it, for as long as that lives."""

SERVICE_LABEL = "com.docker.compose.service"

_ENDED = frozenset("ZX")
_STARTED = 19


def identity(pid: int) -> str:
    """A running process as written in the label: pids are reused, but with another start time."""
    return f"{pid}:{_stat(pid)[_STARTED]}"


def is_alive(output: str) -> bool:
    """Whether the process of a label still runs; a process that waits to be reaped does not."""
    pid, _, ticks = output.partition(":")
    try:
        fields = _stat(int(pid))
    except (OSError, ValueError):
        return False
    return fields[_STARTED] == ticks and fields[0] not in _ENDED


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/<pid>/stat`` after the name (proc(5)): the first is the state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def abandoned(there: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Of these containers and networks the names, by run, of those whose harness is gone."""
    found: dict[str, list[str]] = {}
    for one in there:
        labels = one["Labels"]
        if not is_alive(labels.get(KEEPER_LABEL, "")):
            name = one["Name"] if "Name" in one else one["Names"][0].removeprefix("/")
            found.setdefault(labels[RUN_LABEL], []).append(name)
    return found
