"""Events of servers to the ``servers`` table: the recorded ones and those told by their logs.

Every event is an interval of the run's clock; what a log dates by the wall clock alone has that
conversion's error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from evidence.collect.clock import WallClock
from evidence.collect.collected import Collected, collected
from evidence.collect.logs import LogEvent

_OWN = ("server", "boot", "event", "at_ns", "earliest_ns")


def collect_servers(
    lines: Iterable[Mapping[str, Any]],
    clock: WallClock,
    logs: Iterable[LogEvent] = (),
    damage: Iterable[str] = (),
) -> Collected:
    """Rows of ``servers``, sorted by time, server and boot; ``detail`` is JSON of all else.

    An event that lacks its server, name or time becomes damage.
    """
    rows: list[dict[str, Any]] = []
    broken = list(damage)
    for line in lines:
        try:
            rows.append(_recorded(line))
        except (KeyError, TypeError, ValueError):
            broken.append(f"a recorded event says nothing usable: {dict(line)}")
    rows += [_logged(event, clock) for event in logs]
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


def _logged(event: LogEvent, clock: WallClock) -> dict[str, Any]:
    exact = (event.at_ns, event.at_ns)
    earliest_ns, latest_ns = exact if event.at_ns else clock.interval_ns(event.wall_ms)
    return {
        "server": event.server,
        "boot": event.boot,
        "event": event.event,
        "earliest_ns": earliest_ns,
        "latest_ns": latest_ns,
        "detail": _json(event.detail),
    }


def _json(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True, ensure_ascii=False)
