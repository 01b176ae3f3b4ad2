"""The log of one boot as errors quote it: its lines about errors, or its last ones."""

from __future__ import annotations

import re
from pathlib import Path

_TAIL_BYTES = 65536
_RECENT_LINES = 400
_TELLING_LINES = 5
_TELLING = re.compile(r"\bERROR\b|\bFATAL\b|^Caused by|^[\w.$]+(?:Exception|Error)\b|OutOfMemory")


def log_text(log: Path) -> str:
    """The path of a boot's log and its telling lines, as the end of a sentence."""
    lines = "\n  ".join(telling_lines(log)) or "(nothing)"
    return f"; log {log}:\n  {lines}"


def telling_lines(log: Path) -> list[str]:
    """The last lines of a log about errors, or else its last lines; at most five."""
    recent = _tail(log, _RECENT_LINES)
    return [line for line in recent if _TELLING.search(line)][-_TELLING_LINES:] or recent[-_TELLING_LINES:]


def last_line(log: Path) -> str:
    """The last line of a log that says something, or the empty string."""
    return next(iter(_tail(log, 1)), "")


def _tail(log: Path, lines: int) -> list[str]:
    """The last lines of a log that say something, oldest first; none when there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]
