"""What bookies' logs tell of BP-46's steps at boot: unclean shutdown, limbo, full check, repair.

Reads lines of our log pattern, which begin with ``System.nanoTime()`` (on Linux the run's own
clock) and the wall time in milliseconds; BookKeeper 4.18 leaves the former 0. The tokens are
those of BookKeeper's ``datainteg/Events.java``; releases before 4.18 write them as
``Event: TOKEN, key: value``, 4.18 as structured attributes ``{event=TOKEN, ...}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_UNCLEAN = b"Unclean shutdown detected"
_TOKEN = re.compile(
    rb"\b(PREBOOT_(?:START|END|ERROR)|MARK_LIMBO|FULL_CHECK_[A-Z_]+|RECOVER_LIMBO_LEDGER(?:_[A-Z_]+)?"
    rb"|CLEAR_INTEGCHECK_FLAG|CLEAR_LIMBO_ERROR)\b"
)
_TIMES = re.compile(rb"(\d{1,19}) (\d{13}) ")
_ATTRIBUTE = re.compile(
    rb"\b(ledgerId|[Rr]eason|processed|ledgerCount|ok|error|missing|ledgersToRetry)[=:] ?([^\s,}]+)"
)


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One line that matters: which boot of which server says when which event (lower case).

    ``at_ns`` is monotonic, 0 where the line tells only ``wall_ms``; ``detail`` has its attributes.
    """

    server: str
    boot: int
    at_ns: int
    wall_ms: int
    event: str
    detail: Mapping[str, int | str] = field(default_factory=dict)


def log_events(server: str, boot: int, log: Path) -> Iterator[LogEvent]:
    """The events in the log of one boot, in its order. Lines without times are passed over."""
    with log.open("rb") as lines:
        for line in lines:
            event = _event(line)
            times = _TIMES.match(line)
            if event and times:
                yield LogEvent(server, boot, int(times[1]), int(times[2]), event, _attributes(line))


def _event(line: bytes) -> str | None:
    if _UNCLEAN in line:
        return "unclean_shutdown"
    token = _TOKEN.search(line)
    return token[1].decode().lower() if token else None


def _attributes(line: bytes) -> dict[str, int | str]:
    found = (
        (key.decode().replace("Reason", "reason"), value.decode(errors="replace"))
        for key, value in _ATTRIBUTE.findall(line)
    )
    return {key: int(value) if re.fullmatch(r"-?\d+", value) else value for key, value in found}
