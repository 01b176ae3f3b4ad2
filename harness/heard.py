"""What the logs of boots have told while the run goes on; each line of each is read once.

The events are those that the evidence is made of. Knows no step: whoever waits for a boot's word asks here.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from evidence.collect.logs import GrowingLog, LogEvent


class Heard:
    """The events of every boot that was asked for, so far; thread-safe."""

    def __init__(self) -> None:
        self._logs: dict[Path, tuple[GrowingLog, list[LogEvent]]] = {}
        self._lock = threading.Lock()

    def of(self, server: str, boot: int, log: Path) -> Sequence[LogEvent]:
        """The events of one boot up to now, in its order; none of a boot that has no log yet."""
        with self._lock:
            growing, events = self._logs.setdefault(log, (GrowingLog(server, boot, log), []))
            events.extend(growing.more())
            return tuple(events)
