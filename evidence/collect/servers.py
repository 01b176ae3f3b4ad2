"""Events of servers to the ``servers`` table: the recorded ones and those told by their logs.

Which boot a log line belongs to is told by time: the last ``started`` event before it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from evidence.collect.collected import Collected, collected
from evidence.collect.logs import LogEvent

_OWN = ("server", "boot", "event", "at_ns", "earliest_ns")


def collect_servers(
    lines: Iterable[Mapping[str, Any]], logs: Iterable[LogEvent] = (), damage: Iterable[str] = ()
) -> Collected:
    """Rows of ``servers``, sorted by time, server and boot; ``detail`` is JSON of all else.

    An event that lacks its server, name or time becomes damage; a log line before the first
    recorded start of its server has boot 0.
    """
    rows: list[dict[str, Any]] = []
    broken = list(damage)
    for line in lines:
        try:
            rows.append(_recorded(line))
        except (KeyError, TypeError, ValueError):
            broken.append(f"a recorded event says nothing usable: {dict(line)}")
    boots = _boots(rows)
    rows += [_logged(event, boots[event.server]) for event in logs]
    rows.sort(key=lambda row: (row["latest_ns"], row["server"], row["boot"], row["event"], row["detail"]))
    return collected("servers", rows, broken)


def _recorded(line: Mapping[str, Any]) -> dict[str, Any]:
    at_ns = int(line["at_ns"])
    return {
        "server": str(line["server"]),
        "boot": int(line.get("boot") or 0),
        "event": str(line["event"]),
        "earliest_ns": min(at_ns, int(line.get("earliest_ns") or at_ns)),
        "latest_ns": at_ns,
        "detail": _json({key: value for key, value in line.items() if key not in _OWN}),
    }


def _logged(event: LogEvent, boots: list[tuple[int, int]]) -> dict[str, Any]:
    before = [boot for began_ns, boot in boots if began_ns <= event.at_ns]
    return {
        "server": event.server,
        "boot": before[-1] if before else 0,
        "event": event.event,
        "earliest_ns": event.at_ns,
        "latest_ns": event.at_ns,
        "detail": _json(event.detail),
    }


def _boots(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[int, int]]]:
    """For each server the beginnings of its boots, sorted by time."""
    boots: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row["event"] == "started":
            boots[row["server"]].append((row["earliest_ns"], row["boot"]))
    for begun in boots.values():
        begun.sort()
    return boots


def _json(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True, ensure_ascii=False)
