"""The wire log of a run: begun before the first link, and what the proxy says of it at the end.

What the log's files hold is decoded elsewhere (``evidence/wirelog.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.toxiproxy import Rest


@dataclass(frozen=True, slots=True)
class LogOrder:
    """Where the proxy keeps the log, and the run that its segments name."""

    folder: Path
    run_id: int


def begin(rest: Rest, order: LogOrder) -> None:
    """Open the log; a frame that passed before would be missing. Raises ``LinkError``."""
    rest.post("/fencepost/log", {"path": str(order.folder.absolute()), "run_id": str(order.run_id)})


def described(rest: Rest, links: Sequence[str]) -> dict[str, Any]:
    """The log's state and the counters of ``links``, as ``wire`` of ``end.json`` has them.

    The log is asked first: what passes meanwhile is then counted by a link and not by the log, which
    holds more, never fewer, records than it said. Raises ``LinkError``.
    """
    log = rest.get("/fencepost/log")
    return {"log": log, "links": {name: _counters(rest, name) for name in links}}


def _counters(rest: Rest, link: str) -> dict[str, Any]:
    counters: dict[str, Any] = rest.get(f"/fencepost/links/{link}/counters")
    return {name: count for name, count in counters.items() if name != "rules"}
