"""What a simulated run leaves behind, as rows of the evidence tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from evidence.codes import NEVER, Direction, Holding, Place, Status
from tests.histories.boots import fault, server
from tests.histories.cluster import CLOSED, DELETED, Cluster, Copy, Metadata
from tests.histories.story import SIZE, answered, metadata

OBSERVER = 250
CLIENTS = {"w1": 101, "w2": 102, "r1": 120, "r2": 121, "observer": OBSERVER}
Row = dict[str, Any]


def asked(cluster: Cluster, number: int, ledger: int, entry: int, bookie: int) -> Row:
    """One bookie's answer in a census, which asks it past its links."""
    copy = cluster.bookies[bookie].holds(ledger, entry)
    limbo = ledger in cluster.bookies[bookie].limbo
    holding = Holding.UNKNOWN if limbo else Holding.PRESENT if copy else Holding.ABSENT
    found = copy if copy and not limbo else Copy(writer=0, size=0, lac=-1)
    _, row = answered(
        entry,
        bookie,
        holding,
        number=number,
        ledger=ledger,
        error={Holding.PRESENT: 0, Holding.UNKNOWN: -108, Holding.ABSENT: -13}[holding],
        asked_ns=cluster.tick(),
        answered_ns=cluster.tick(),
        origin=found.writer,
        size_bytes=found.size,
    )
    return row


def versions(cluster: Cluster, dice: Random, seen: float, dated: float) -> Iterator[Row]:
    """The last version and this share of those before it, a share of them dated."""
    for ledger, chain in cluster.versions.items():
        for version in chain:
            if version is chain[-1] or dice.random() < seen:
                yield _version(ledger, version, noticed=dice.random() < dated)


def _version(ledger: int, version: Metadata, *, noticed: bool) -> Row:
    ended = version.state == CLOSED
    shape = dict(zip(("ensemble", "write_quorum", "ack_quorum"), version.shape, strict=True))
    _, row = metadata(
        version.version,
        version.state,
        ledger=ledger,
        last_entry=version.last if ended else -2,
        length_bytes=(version.last + 1) * SIZE if ended else 0,
        fragments={first: [f"b{bookie}" for bookie in bookies] for first, bookies in version.fragments},
        zxid=version.at_ns,
        earliest_ns=version.at_ns,
        latest_ns=version.at_ns if noticed and version.state != DELETED else NEVER,
        **shape,
    )
    return row


def frames(cluster: Cluster) -> Iterator[Row]:
    """The wire log's rows, each with the boot that alone can have got or given it."""
    for row in cluster.network.log.rows:
        answer = row["way"] == Direction.ANSWER
        first = row["asked_ns"] if answer else row["received_ns"]
        last = row["received_ns"] if answer or row["forwarded_ns"] == NEVER else row["forwarded_ns"]
        given = not answer or row["status"] != Status.NONE
        boots = [boot for boot, began, ended in _boots(cluster, row["bookie"]) if began <= last]
        ended = [end for boot, _, end in _boots(cluster, row["bookie"]) if boot == max(boots)]
        before = [boot for boot, began, _ in _boots(cluster, row["bookie"]) if began <= first]
        sure = given and max(boots) == max(before) and first <= ended[0]
        yield {**row, "boot": max(boots) if sure else 0}


def _boots(cluster: Cluster, bookie: int) -> list[tuple[int, int, int]]:
    """(boot, began, ended) of a bookie."""
    mine = [(boot, what, ns) for number, boot, what, ns in cluster.boot_events if number == bookie]
    began, ended = ({boot: ns for boot, what, ns in mine if what == name} for name in ("started", "exit"))
    return [(boot, ns, ended.get(boot, NEVER)) for boot, ns in began.items()]


def server_rows(cluster: Cluster) -> tuple[Row, ...]:
    """The boots of bookies and how they ended, and what their logs tell."""
    return tuple(
        server(number, boot, what, at_ns, at_ns, **({"code": None, "signal": 9} if what == "exit" else {}))
        for number, boot, what, at_ns in cluster.boot_events
    )


def holdings(cluster: Cluster) -> Iterator[Row]:
    """What was durable on a bookie when it crashed, an entry a row."""
    for number, boot, (ledger, entry) in cluster.disks:
        place = {"bookie": number, "boot": boot, "place": int(Place.INDEX)}
        yield {"ledger": ledger, "entry": entry, "last": entry, **place}


def fault_rows(cluster: Cluster) -> tuple[Row, ...]:
    """One kill for each crash."""
    crashes = [(number, boot, ns) for number, boot, what, ns in cluster.boot_events if what == "exit"]
    restarts = {
        (number, boot): ns for number, boot, what, ns in cluster.boot_events if what == "started" and boot > 1
    }
    return tuple(
        fault(
            index,
            "kill",
            f"b{number}",
            params=json.dumps({"target": f"b{number}"}),
            planned_ns=at_ns - 1,
            injected_ns=at_ns - 1,
            confirmed_ns=at_ns,
            healed_ns=restarts.get((number, boot + 1), cluster.now_ns),
            proof=json.dumps({"confirmed": {"signal": 9}}),
        )
        for index, (number, boot, at_ns) in enumerate(crashes, start=1)
    )
