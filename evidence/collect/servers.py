"""Events of servers to the ``servers`` table: recorded by the harness, in logs, and in ZooKeeper.

Every event is an interval of the run's clock; an event dated only by the wall clock has the error of
that conversion. ZooKeeper's transactions about a bookie (``/ledgers/available``, ``/ledgers/cookies``)
name no boot, so their rows have boot 0; their interval says when ZooKeeper ordered the change, not when
it took effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evidence.collect.clock import WallClock
from evidence.collect.logs import LogEvent
from evidence.collect.result import Collected, as_json, collected
from evidence.collect.znodes import changes
from evidence.schemas import ServerRow
from evidence.shapes import EventLine, Transaction

_OWN = ("server", "boot", "event", "at_ns", "earliest_ns")


def collect_servers(
    lines: Iterable[EventLine],
    clock: WallClock,
    logs: Iterable[LogEvent] = (),
    damage: Iterable[str] = (),
    *,
    transactions: Iterable[Transaction] = (),
) -> Collected:
    """Rows of ``servers``, sorted by time, server and boot; ``detail`` is JSON of all else.

    An event that lacks its server, name or time becomes damage. Only ``transactions`` that change a
    bookie's registration or cookie, or concern repair, are used; an unreadable transaction is damage
    to ``ledgers``, which is made of the same file, and is skipped here.
    """
    rows: list[ServerRow] = []
    broken = list(damage)
    for line in lines:
        try:
            rows.append(_recorded(line))
        except (KeyError, TypeError, ValueError):
            broken.append(f"a recorded event says nothing usable: {dict(line)}")
    for event in (*logs, *changes(transactions)):
        when_ns = (event.at_ns, event.at_ns) if event.at_ns else clock.interval_ns(event.wall_ms)
        rows.append(_row(event.server, event.boot, event.event, when_ns, event.detail))
    rows.sort(key=lambda row: (row["latest_ns"], row["server"], row["boot"], row["event"], row["detail"]))
    return collected("servers", rows, broken)


def _recorded(line: EventLine) -> ServerRow:
    at_ns = int(line["at_ns"])
    when_ns = min(at_ns, int(line.get("earliest_ns") or at_ns)), at_ns
    detail = {key: value for key, value in line.items() if key not in _OWN}
    return _row(str(line["server"]), int(line.get("boot") or 0), str(line["event"]), when_ns, detail)


def _row(
    server: str, boot: int, event: str, when_ns: tuple[int, int], detail: Mapping[str, object]
) -> ServerRow:
    earliest_ns, latest_ns = when_ns
    return {
        "server": server,
        "boot": boot,
        "event": event,
        "earliest_ns": earliest_ns,
        "latest_ns": latest_ns,
        "detail": as_json(detail),
    }
