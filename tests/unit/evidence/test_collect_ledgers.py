"""Transactions of ZooKeeper become versions of ledgers, dated from both sides."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from evidence.codes import NEVER, Kind
from evidence.collect.clock import WallClock
from evidence.collect.ledgers import DELETED, NOT_CLOSED, collect_ledgers
from evidence.schemas import LEDGERS, OPERATIONS
from tests.unit.evidence.transactions import CLOCK, MS, metadata, put_back, txn


def watched(*seen: tuple[int, int]) -> pa.Table:
    zero: Mapping[str, Any] = dict.fromkeys(OPERATIONS.names, 0) | {"ledger": 7, "kind": Kind.WATCHED}
    rows = [dict(zero) | {"last": version, "completed_ns": at_ns} for version, at_ns in seen]
    return pa.Table.from_pylist(rows, schema=OPERATIONS)


def test_each_version_is_a_row_dated_by_its_transaction_and_by_whoever_saw_it_or_a_later_one() -> None:
    lines = [
        txn(3, "set", version=2, data=metadata("CLOSED", last_entry=4)),
        txn(1, "create", data=metadata("OPEN")),
        txn(2, "set", version=1, data=metadata("IN_RECOVERY", bookies="b1 b3")),
    ]
    found = collect_ledgers(lines, CLOCK, watched((1, 50 * MS), (0, 60 * MS)))
    assert found.damage == ()
    assert found.table.schema == LEDGERS
    first, second, third = found.table.to_pylist()
    assert [row["state"] for row in (first, second, third)] == [1, 2, 3]
    assert [row["version"] for row in (first, second, third)] == [0, 1, 2]
    assert [row["last_entry"] for row in (first, second, third)] == [NOT_CLOSED, NOT_CLOSED, 4]
    assert second["fragments"] == [{"first_entry": 0, "bookies": ["b1", "b3"]}]
    assert (first["ensemble"], first["write_quorum"], first["ack_quorum"]) == (2, 2, 1)
    assert [row["latest_ns"] for row in (first, second, third)] == [50 * MS, 50 * MS, NEVER]
    assert first["earliest_ns"] == 1 * MS - 2 * MS
    assert [row["zxid"] for row in (first, second, third)] == [1, 2, 3]


def test_a_delete_is_a_row_of_its_own_after_the_last_version() -> None:
    lines = [txn(1, "create", data=metadata("OPEN")), txn(2, "delete")]
    gone = collect_ledgers(lines, CLOCK, watched((5, 9 * MS))).table.to_pylist()[-1]
    assert (gone["state"], gone["version"], gone["latest_ns"]) == (DELETED, 1, NEVER)


@pytest.mark.parametrize(
    "line",
    [
        txn(5, "set", version=1, data=base64.b64encode(b"rubbish").decode()),
        txn(5, "set", version=1, data="%%%"),
        txn(5, "set", version=1),
        txn(5, "set", data=metadata("OPEN")),
        txn(5, "check"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_is_kept(line: dict[str, Any]) -> None:
    found = collect_ledgers([txn(1, "create", data=metadata("OPEN")), line], CLOCK, watched(), ["torn"])
    assert found.table.num_rows == 1
    assert found.damage[0] == "ledgers: torn"
    assert found.damage[1].startswith("ledgers: transaction 0x5 on /ledgers/00/0000/L0007 cannot be read")


@pytest.mark.parametrize(("zxid", "text"), [({"zxid": "1x5"}, "1x5"), ({"zxid": None}, "None")])
def test_a_transaction_without_a_readable_number_is_named(zxid: dict[str, Any], text: str) -> None:
    second = txn(5, "set", version=1, data=metadata("OPEN")) | zxid
    lines = [txn(1, "create", data=metadata("OPEN")), second]
    found = collect_ledgers(lines, CLOCK, watched())
    assert found.table.num_rows == 1
    assert any(f"transaction {text} on /ledgers/00/0000/L0007 cannot be read" in one for one in found.damage)


def test_a_version_that_was_seen_and_never_made_is_named() -> None:
    lines = [txn(1, "create", data=metadata("OPEN")), txn(2, "set", version=1, data=metadata("OPEN"))]
    assert collect_ledgers(lines, CLOCK, watched((0, 1), (1, 2), (-1, 3))).damage == ()
    assert collect_ledgers(lines[:1], CLOCK, watched((0, 1), (1, 2), (2, 3))).damage == (
        "ledgers: versions of metadata that must have been there are in no transaction, "
        "such as version 1 of ledger 7",
    )


def test_a_delete_is_no_version_that_a_client_could_see() -> None:
    lines = [txn(1, "create", data=metadata("OPEN")), txn(2, "delete")]
    assert collect_ledgers(lines, CLOCK, watched((1, 9 * MS))).damage == (
        "ledgers: versions of metadata that must have been there are in no transaction, "
        "such as version 1 of ledger 7",
    )


def test_a_version_that_others_follow_and_no_transaction_made_is_named() -> None:
    later = txn(4, "set", version=2, data=metadata("CLOSED", last_entry=4))
    missing = (
        "ledgers: versions of metadata that must have been there are in no transaction, "
        "such as version {} of ledger 7"
    )
    assert collect_ledgers([LIVES[0], later], CLOCK, watched()).damage == (missing.format(1),)
    assert collect_ledgers([later], CLOCK, watched()).damage == (missing.format(0),)
    restored = [LIVES[0], LIVES[2], put_back(4, 1, 70 * MS), later | {"zxid": hex(5)}]
    assert collect_ledgers(restored, CLOCK, watched()).damage == (missing.format(1),)


def test_other_paths_are_passed_over() -> None:
    lines = [
        txn(n, "create", path=path)
        for n, path in enumerate(["/ledgers/available/b1:3181", "/ledgers/LAYOUT"])
    ]
    found = collect_ledgers(lines, CLOCK, watched())
    assert (found.table.num_rows, found.damage) == (0, ())


def test_a_sighting_before_the_stamp_bounds_the_version_from_both_sides() -> None:
    (row,) = collect_ledgers(
        [txn(500, "create", data=metadata("OPEN"))], CLOCK, watched((0, 3 * MS))
    ).table.to_pylist()
    assert row["earliest_ns"] == row["latest_ns"] == 3 * MS


def jumped(*lines: dict[str, Any], seen: pa.Table | None = None) -> tuple[str, ...]:
    return collect_ledgers(lines, CLOCK, watched() if seen is None else seen).damage


def test_a_version_that_was_seen_before_its_stamp_shows_that_the_clock_jumped() -> None:
    lines = [txn(1, "create", data=metadata("OPEN")), txn(2, "set", version=1, data=metadata("CLOSED"))]
    forward = lines[1] | {"time_ms": 1000 + 40_000}
    assert jumped(lines[0], forward, seen=watched((1, 38 * MS))) == (
        "ledgers: the wall clock jumped: "
        "version 1 of ledger 7 is stamped 39960 ms after it was seen (1 such)",
    )
    assert not jumped(lines[0], forward | {"time_ms": 1040}, seen=watched((1, 38 * MS)))
    assert jumped(lines[0], forward | {"time_ms": 1041}, seen=watched((1, 38 * MS)))


def test_times_that_fall_along_the_transactions_show_that_the_clock_jumped() -> None:
    lines = [txn(1, "create", data=metadata("OPEN")), txn(2, "delete"), txn(3, "create", path="/ledgers/x")]
    back = [line | {"time_ms": time_ms} for line, time_ms in zip(lines, (1050, 1100, 1060), strict=True)]
    assert jumped(*reversed(back)) == (
        "ledgers: the wall clock jumped: transaction 0x3 is stamped 40 ms before transaction 0x2 (1 such)",
    )
    assert not jumped(*back[:2], back[2] | {"time_ms": 1098})
    assert jumped(*back[:2], back[2] | {"time_ms": 1097})


def clock(moved_ms: int) -> WallClock:
    """A wall clock that moved by so much against the run's clock while it ran for a minute."""
    start = {"wall_ns": 1000 * MS, "monotonic_ns": 500 * MS}
    return WallClock.of(start, {"wall_ns": (61_000 + moved_ms) * MS, "monotonic_ns": 60_500 * MS})


def test_the_wall_clock_converts_within_what_the_two_pairs_prove() -> None:
    assert clock(3).interval_ns(1500) == ((1000 - 3 - 2) * MS, (1000 + 1 + 2) * MS)
    assert clock(-3).interval_ns(1500) == ((1000 - 2) * MS, (1000 + 3 + 1 + 2) * MS)
    alone = WallClock.of({"wall_ns": 1000 * MS, "monotonic_ns": 500 * MS}, None)
    assert alone.interval_ns(101_000) == ((100_500 - 2) * MS, (100_500 + 1 + 2) * MS)


@pytest.mark.parametrize("exchanged", [[], [put_back(4, 1, 70 * MS)]])
@pytest.mark.parametrize("moved_ms", [4, 5, -4, -5, 3_600_000])
def test_a_clock_that_was_set_during_the_run_jumped(moved_ms: int, exchanged: list[dict[str, Any]]) -> None:
    """Also forwards, and where no two transactions show it: an hour's sleep of the machine, for one."""
    lines = [txn(1, "create", data=metadata("OPEN")) | {"time_ms": 1010}, *exchanged]
    found = collect_ledgers(lines, clock(moved_ms), watched())
    set_by = f"it moved by {abs(moved_ms)} ms against the run's clock (1 such)"
    assert found.damage == ((f"ledgers: the wall clock jumped: {set_by}",) if abs(moved_ms) > 4 else ())


def other(line: dict[str, Any]) -> dict[str, Any]:
    return line | {"path": "/ledgers/00/0000/L0008"}


LIVES = [
    txn(1, "create", data=metadata("OPEN")),
    other(txn(2, "create", data=metadata("OPEN"))),
    txn(3, "set", version=1, data=metadata("CLOSED", last_entry=4)),
    put_back(4, 1, 70 * MS),
    txn(5, "set", version=1, data=metadata("IN_RECOVERY")),
    put_back(6, 3, 90 * MS),
]


def rows_of(ledger: int, lines: list[dict[str, Any]], seen: pa.Table | None = None) -> list[dict[str, Any]]:
    found = collect_ledgers(lines, CLOCK, watched() if seen is None else seen)
    assert found.damage == ()
    return [row for row in found.table.to_pylist() if row["ledger"] == ledger]


def test_content_that_was_put_back_is_a_row_for_each_ledger_that_it_changed() -> None:
    rows = rows_of(7, list(reversed(LIVES)))
    assert [(row["zxid"], row["version"], row["state"], row["put_back"]) for row in rows] == [
        (1, 0, 1, False),
        (3, 1, 3, False),
        (4, 0, 1, True),
        (5, 1, 2, False),
        (6, 1, 3, True),
    ]
    assert [(row["zxid"], row["version"], row["state"], row["put_back"]) for row in rows_of(8, LIVES)] == [
        (2, 0, 1, False),
        (4, 1, DELETED, True),
        (6, 0, 1, True),
    ]
    assert rows[-1]["last_entry"] == 4


def test_a_ledger_that_a_put_back_left_alone_has_no_row_of_it() -> None:
    lines = [txn(1, "create", data=metadata("OPEN")), other(txn(2, "create", data=metadata("OPEN")))]
    rows = rows_of(7, [*lines, put_back(3, 1, 70 * MS)], watched((0, 50 * MS)))
    assert [(row["zxid"], row["latest_ns"]) for row in rows] == [(1, 50 * MS)]


def test_nobodys_sight_dates_the_versions_of_a_ledger_that_was_put_back() -> None:
    rows = rows_of(7, LIVES, watched((1, 50 * MS), (1, 80 * MS)))
    assert [row["latest_ns"] for row in rows] == [70 * MS, 70 * MS, 90 * MS, 90 * MS, NEVER]
    assert rows[2]["earliest_ns"] == 70 * MS


def test_a_number_that_comes_again_after_a_put_back_is_no_jump_of_the_clock() -> None:
    again = txn(5, "set", version=1, data=metadata("IN_RECOVERY"), time_ms=1200)
    assert rows_of(7, [*LIVES[:4], again], watched((1, 50 * MS)))[-1]["zxid"] == 5


def test_an_emptied_store_has_no_ledger_and_a_new_one_may_take_the_same_id() -> None:
    rows = rows_of(7, [LIVES[0], put_back(2, 0, 70 * MS), txn(3, "create", data=metadata("OPEN"))])
    assert [(row["version"], row["state"], row["put_back"]) for row in rows] == [
        (0, 1, False),
        (1, DELETED, True),
        (0, 1, False),
    ]


def test_an_id_of_a_deleted_ledger_that_is_given_again_after_a_put_back_parts_the_two() -> None:
    """The client had deleted it, so emptying the store changed nothing; only then is its id free again."""
    once = [txn(1, "create", data=metadata("OPEN")), txn(2, "delete"), put_back(3, 0, 70 * MS)]
    again = txn(4, "create", data=metadata("OPEN"))
    rows = rows_of(7, [*once, again, txn(5, "delete"), put_back(6, 0, 90 * MS), again | {"zxid": "0x7"}])
    assert [(row["zxid"], row["version"], row["state"], row["put_back"]) for row in rows] == [
        (1, 0, 1, False),
        (2, 1, DELETED, False),
        (3, 1, DELETED, True),
        (4, 0, 1, False),
        (5, 1, DELETED, False),
        (6, 1, DELETED, True),
        (7, 0, 1, False),
    ]
    assert [row["latest_ns"] for row in rows[:4]] == [70 * MS, 70 * MS, 90 * MS, 90 * MS]
    assert not any(row["put_back"] for row in rows_of(7, once))
    unchanged = [*once[:2], again | {"zxid": "0x3"}]
    assert not any(row["put_back"] for row in rows_of(7, unchanged))
