"""The events in the logs of boots while the run goes on; each line of each log is read once.

The events equal the events in the evidence. Independent of steps: a condition on a boot's log reads here.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from evidence.collect.logs import GrowingLog, LogEvent


class Heard:
    """The events up to now of every boot that was queried; thread-safe."""

    def __init__(self) -> None:
        self._logs: dict[Path, tuple[GrowingLog, list[LogEvent]]] = {}
        self._lock = threading.Lock()

    def of(self, server: str, boot: int, log: Path) -> Sequence[LogEvent]:
        """The events of one boot up to now, in its order; none of a boot that has no log yet."""
        with self._lock:
            growing, events = self._logs.setdefault(log, (GrowingLog(server, boot, log), []))
            events.extend(growing.more())
            return tuple(events)
