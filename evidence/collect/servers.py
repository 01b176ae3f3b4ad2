"""Events of servers to the ``servers`` table: recorded by the harness, in logs, and in ZooKeeper.

Every event is an interval of the run's clock; an event dated only by the wall clock has the error of
that conversion. ZooKeeper's transactions about a bookie (``/ledgers/available``, ``/ledgers/cookies``)
name no boot, so their rows have boot 0; their interval says when ZooKeeper ordered the change, not when
it took effect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from evidence.collect.clock import WallClock
from evidence.collect.collected import Collected, collected
from evidence.collect.logs import LogEvent
from evidence.collect.underreplication import Change, repair_changes
from protocol.addresses import is_bookie, name_of_id

_ZNODE = re.compile(r"/ledgers/(available/readonly|available|cookies)/([^/]+)")
_CHANGES: Mapping[tuple[str, str], str] = {
    ("available", "create"): "znode_created",
    ("available", "delete"): "znode_gone",
    ("available/readonly", "create"): "readonly_created",
    ("available/readonly", "delete"): "readonly_gone",
    ("cookies", "create"): "cookie_created",
    ("cookies", "set"): "cookie_set",
    ("cookies", "delete"): "cookie_deleted",
}
_OWN = ("server", "boot", "event", "at_ns", "earliest_ns")


def collect_servers(
    lines: Iterable[Mapping[str, Any]],
    clock: WallClock,
    logs: Iterable[LogEvent] = (),
    damage: Iterable[str] = (),
    *,
    transactions: Iterable[Mapping[str, Any]] = (),
) -> Collected:
    """Rows of ``servers``, sorted by time, server and boot; ``detail`` is JSON of all else.

    An event that lacks its server, name or time becomes damage. Only ``transactions`` that change a
    bookie's registration or cookie, or concern repair, are used; an unreadable transaction is damage
    to ``ledgers``, which is made of the same file, and is skipped here.
    """
    changes = list(transactions)
    rows: list[dict[str, Any]] = []
    broken = list(damage)
    for line in lines:
        try:
            rows.append(_recorded(line))
        except (KeyError, TypeError, ValueError):
            broken.append(f"a recorded event says nothing usable: {dict(line)}")
    rows += [_logged(event, clock) for event in logs]
    rows += [row for line in changes if (row := _changed(line, clock))]
    rows += [row for line, change in repair_changes(changes) if (row := _repair(line, change, clock))]
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


def _changed(line: Mapping[str, Any], clock: WallClock) -> dict[str, Any] | None:
    """A change of a bookie's own znodes, or None for any other transaction."""
    path, op, time_ms = line.get("path"), line.get("op"), line.get("time_ms")
    match = _ZNODE.fullmatch(path) if isinstance(path, str) else None
    event = _CHANGES.get((match[1], str(op))) if match else None
    if match is None or event is None or not isinstance(time_ms, int) or not is_bookie(name_of_id(match[2])):
        return None
    return _dated(line, Change(name_of_id(match[2]), event, {}), clock.interval_ns(time_ms))


def _repair(line: Mapping[str, Any], change: Change, clock: WallClock) -> dict[str, Any] | None:
    time_ms = line.get("time_ms")
    return _dated(line, change, clock.interval_ns(time_ms)) if isinstance(time_ms, int) else None


def _dated(line: Mapping[str, Any], change: Change, interval_ns: tuple[int, int]) -> dict[str, Any]:
    earliest_ns, latest_ns = interval_ns
    return {
        "server": change.server,
        "boot": 0,
        "event": change.event,
        "earliest_ns": earliest_ns,
        "latest_ns": latest_ns,
        "detail": _json({"version": line.get("version"), "zxid": line.get("zxid"), **change.detail}),
    }


def _json(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True, ensure_ascii=False)
