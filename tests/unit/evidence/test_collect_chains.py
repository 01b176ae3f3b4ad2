"""The lists of logs' ledgers, from ZooKeeper's transactions."""

from __future__ import annotations

import base64
import json
from typing import Any

from evidence.collect.clock import WallClock
from evidence.collect.ledgers import CHAINS as FOLDER
from evidence.collect.ledgers import collect_chains

CLOCK = WallClock.of({"wall_ns": 0, "monotonic_ns": 0}, {"wall_ns": 0, "monotonic_ns": 0})


def change(
    op: str, zxid: int, ledgers: list[int] | None, *, version: int = 0, name: str = "events"
) -> dict[str, Any]:
    data = None if ledgers is None else base64.b64encode(json.dumps({"ledgers": ledgers}).encode()).decode()
    return {
        "op": op,
        "path": FOLDER + name,
        "zxid": hex(zxid),
        "time_ms": 1000 + zxid,
        "version": version,
        "data": data,
    }


def put_back(zxid: int, upto: int) -> dict[str, Any]:
    return {"op": "put_back", "path": "/", "zxid": hex(zxid), "from": hex(upto)}


def rows_of(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = collect_chains(lines, CLOCK)
    assert not found.damage
    return found.table.to_pylist()


def test_each_version_of_a_list_is_a_row() -> None:
    lines = [
        change("create", 5, [1]),
        {"op": "create", "path": "/ledgers/x"},
        change("set", 9, [1, 4], version=1),
    ]
    found = collect_chains(lines, CLOCK)
    assert not found.damage
    first, second = found.table.to_pylist()
    assert (first["ledgers"], first["born"], first["zxid"], first["version"]) == ([1], 5, 5, 0)
    assert (second["ledgers"], second["born"], second["zxid"], second["version"]) == ([1, 4], 5, 9, 1)
    assert first["earliest_ns"] < second["earliest_ns"] <= 1009 * 10**6


def test_what_came_after_a_content_that_was_put_back_is_gone() -> None:
    lines = [change("create", 5, [1]), change("set", 9, [1, 4], version=1), put_back(10, 7)]
    assert [row["ledgers"] for row in rows_of(lines)] == [[1]]


def test_content_is_put_back_as_it_was_then_also_forth_again() -> None:
    """Not with what had been undone before: versions of other contents have lower transaction ids."""
    lines = [
        change("create", 1, [7]),
        change("set", 3, [7, 8], version=1),
        put_back(4, 1),
        change("set", 5, [7, 9], version=1),
        put_back(6, 3),
        put_back(8, 5),
    ]
    ledgers = [[row["ledgers"] for row in rows_of(lines[:number])] for number in range(1, 7)]
    first, undone, other = [[7]], [[7], [7, 8]], [[7], [7, 9]]
    assert ledgers == [first, undone, first, other, undone, other]


def test_a_change_that_cannot_be_read_is_damage_of_its_table() -> None:
    unborn, taken, torn = (
        change("set", 5, [1]),
        change("delete", 6, None),
        change("create", 7, [1]) | {"data": "?"},
    )
    found = collect_chains([unborn, taken, torn], CLOCK)
    assert found.table.num_rows == 0
    assert [one.split(":")[0] for one in found.damage] == ["chains"] * 3
    assert "no client deletes a log" in found.damage[1]
