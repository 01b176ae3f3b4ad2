"""What operations leave in the history: their outcomes, and the results that they returned or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.waiting import wait_until
from evidence.codes import NEVER, Flag, Holding, Kind, Outcome
from evidence.collect.histories import segment_files
from evidence.raw.history import decode
from tests.live.clusters import running

QUORUMS = {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2}
NO_SPARE, CLOSED, FENCED, DUPLICATE, WRONG, UNAVAILABLE = -6, -11, -101, -22, -14, -8
TAKEN = {FENCED, NO_SPARE, CLOSED}
"""The errors that a writer gets for it. A refusal for an add that the other two had acknowledged counts as
a failed bookie, for which there is no spare here; in any case the handle closes the ledger."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    spec = {"clients": ("writer", "other"), "linked": False, "run_id": 5}
    with running(tmp_path_factory.mktemp("operations"), "unprotected", **spec) as opened:
        yield opened


def rows(cluster: Any, client: str, table: str = "operations", **wanted: int) -> list[dict[str, Any]]:
    found = []
    for file in segment_files(cluster.site.spec.folder.operations):
        if file.client == client:
            found += decode(file.path.read_bytes(), run_id=5).table(table).to_pylist()
    return [row for row in found if all(row[name] == value for name, value in wanted.items())]


def has(cluster: Any, bookie: str, ledger: int, entry: int) -> tuple[bool, str]:
    answered = cluster.answer(bookie, ledger, entry)
    return answered == 0, f"{bookie} answers {answered}"


def made(cluster: Any, ask: Any, handle: str, **more: Any) -> int:
    return int(ask(cluster.clients["writer"], "create", handle=handle, **QUORUMS, **more)["ledger"])


def test_each_acknowledged_add_is_copied_in_its_callback_before_the_next_add(cluster: Any, ask: Any) -> None:
    source, copy = made(cluster, ask, "source"), made(cluster, ask, "copied")
    writer = cluster.clients["writer"]
    totals = ask(writer, "append", handle="source", entries=20, outstanding=3, copy_to="copied")
    assert (totals["acked"], totals["unknown"]) == (20, 0)
    adds = rows(cluster, "writer", kind=Kind.ADD, ledger=source)
    copies = rows(cluster, "writer", kind=Kind.ADD, ledger=copy)
    assert [row["entry"] for row in adds] == [row["entry"] for row in copies] == list(range(20))
    assert {row["outcome"] for row in copies} == {Outcome.OK}
    for add, copied, next_add in zip(adds, copies, [*adds[3:], None, None, None], strict=True):
        assert add["completed_ns"] <= copied["invoked_ns"]
        assert next_add is None or copied["invoked_ns"] <= next_add["invoked_ns"]


def test_adds_in_flight_when_a_ledger_is_taken_away_are_unknown_and_later_ones_refused(
    cluster: Any, ask: Any
) -> None:
    writer, other = cluster.clients["writer"], cluster.clients["other"]
    ledger = made(cluster, ask, "taken")
    ask(writer, "append", handle="taken", background=True, outstanding=50, entry_bytes=100)
    ask(writer, "await_acked", handle="taken", entries=100)
    writer.pause()  # so that it has adds to send when the ledger is not its own any more
    end = ask(other, "open", handle="thief", ledger=ledger, recovery=True)["last_entry"]
    writer.resume()
    broke = writer.call("await_acked", timeout_s=60, handle="taken", entries=10**9)
    assert broke["code"] in TAKEN
    totals = ask(writer, "stop", handle="taken")
    assert totals["unknown"] >= 1
    refused = writer.call("append", timeout_s=60, handle="taken", entries=3, outstanding=1)
    assert (refused["error"], refused["outcome"], refused["failed"]) == ("LedgerClosed", "fail", 1)
    adds = rows(cluster, "writer", kind=Kind.ADD, ledger=ledger)
    outcomes = [row["outcome"] for row in adds]
    acked, unknown = outcomes.count(Outcome.OK), outcomes.count(Outcome.UNKNOWN)
    failed = len(adds) - acked - unknown
    assert outcomes == [Outcome.OK] * acked + [Outcome.UNKNOWN] * unknown + [Outcome.FAIL] * failed
    assert {row["error"] for row in adds if row["outcome"] == Outcome.UNKNOWN} <= TAKEN
    assert {row["error"] for row in adds if row["outcome"] == Outcome.FAIL} == {CLOSED}
    assert [row["entry"] for row in adds] == list(range(len(adds)))
    assert acked <= end + 1


def test_an_add_on_a_handle_that_only_reads_is_refused_before_it_is_sent(cluster: Any, ask: Any) -> None:
    ledger = made(cluster, ask, "mine")
    ask(cluster.clients["writer"], "append", handle="mine", entries=5)
    ask(cluster.clients["other"], "open", handle="reading", ledger=ledger)
    refused = cluster.clients["other"].call("append", timeout_s=60, handle="reading", entries=1)
    assert (refused["error"], refused["outcome"], refused["failed"]) == ("IllegalOp", "fail", 1)
    (add,) = rows(cluster, "other", kind=Kind.ADD, ledger=ledger)
    assert (add["outcome"], add["error"]) == (Outcome.FAIL, -100)
    ask(cluster.clients["writer"], "append", handle="mine", entries=1)
    assert [row["entry"] for row in rows(cluster, "writer", kind=Kind.ADD, ledger=ledger)] == list(range(6))


def test_deferred_adds_are_confirmed_by_a_force(cluster: Any, ask: Any) -> None:
    writer = cluster.clients["writer"]
    ledger = made(cluster, ask, "deferred", deferred=True)
    ask(writer, "append", handle="deferred", entries=20, entry_bytes=100)
    assert ask(writer, "status", handle="deferred")["lac"] == -1
    assert ask(writer, "force", handle="deferred")["lac"] == 19
    adds = rows(cluster, "writer", kind=Kind.ADD, ledger=ledger)
    assert {(row["flags"], row["lac"]) for row in adds} == {(Flag.DEFERRED_SYNC, -1)}
    (force,) = rows(cluster, "writer", kind=Kind.FORCE, ledger=ledger)
    assert (force["outcome"], force["result"], force["lac"]) == (Outcome.OK, 19, 19)


def test_ids_of_the_callers_choice_are_confirmed_in_order_and_a_duplicate_is_refused(
    cluster: Any, ask: Any
) -> None:
    writer = cluster.clients["writer"]
    ledger = made(cluster, ask, "adv", adv=True)
    ask(writer, "append", handle="adv", ids=[2, 0, 1, 3], entry_bytes=100, outstanding=4)
    again = writer.call("append", timeout_s=60, handle="adv", ids=[1])
    assert (again["code"], again["outcome"]) == (DUPLICATE, "fail")
    adds = rows(cluster, "writer", kind=Kind.ADD, ledger=ledger)
    assert [(row["entry"], row["outcome"]) for row in adds] == [(2, 1), (0, 1), (1, 1), (3, 1), (1, 2)]
    assert [row["expected"] for row in adds] == [2, 0, 1, 3, -1]
    assert {row["flags"] for row in adds} == {Flag.ADV}


def test_impossible_quorums_are_refused(cluster: Any) -> None:
    writer = cluster.clients["writer"]
    reply = writer.call("create", timeout_s=60, handle="never", ensemble=2, write_quorum=3, ack_quorum=2)
    assert (reply["code"], reply["outcome"]) == (WRONG, "fail")
    row = rows(cluster, "writer", kind=Kind.CREATE)[-1]
    assert (row["outcome"], row["ledger"]) == (Outcome.FAIL, -1)


def test_a_tail_reads_everything_up_to_the_end(cluster: Any, ask: Any) -> None:
    writer, other = cluster.clients["writer"], cluster.clients["other"]
    ledger = made(cluster, ask, "followed")
    ask(other, "open", handle="tail", ledger=ledger)
    ask(other, "tail", handle="tail", background=True)
    ask(writer, "append", handle="followed", entries=300, entry_bytes=100, rate_per_s=1000)
    ask(writer, "close", handle="followed")

    def delivered() -> list[int]:
        return [row["entry"] for row in rows(cluster, "other", kind=Kind.ENTRY, ledger=ledger)]

    wait_until(lambda: (len(delivered()) >= 300, f"{len(delivered())} entries"), 60, "the last entry")
    assert delivered() == list(range(300))
    assert ask(other, "stop", handle="tail")["read"] == 300
    lacs = [row["lac"] for row in rows(cluster, "other", kind=Kind.LAC, ledger=ledger)]
    assert lacs == sorted(lacs)
    assert lacs[-1] == 299


def test_entries_of_a_read_point_to_it(cluster: Any, ask: Any) -> None:
    writer = cluster.clients["writer"]
    ledger = made(cluster, ask, "pointed")
    ask(writer, "append", handle="pointed", entries=10, entry_bytes=64)
    ask(writer, "read", handle="pointed", first=2, last=8, batch=5)
    beyond = writer.call("read", timeout_s=60, handle="pointed", first=9, last=10)
    assert not beyond["ok"]
    reads = rows(cluster, "writer", kind=Kind.READ, ledger=ledger)
    assert [(row["entry"], row["last"], row["result"], row["outcome"]) for row in reads] == [
        (2, 6, 5, Outcome.OK),
        (7, 8, 2, Outcome.OK),
        (9, 10, 0, Outcome.UNKNOWN),
    ]
    entries = rows(cluster, "writer", kind=Kind.ENTRY, ledger=ledger)
    assert [row["last"] for row in entries] == [reads[0]["seq"]] * 5 + [reads[1]["seq"]] * 2
    assert [row["entry"] for row in entries] == [row["expected"] for row in entries] == list(range(2, 9))
    assert {row["size_bytes"] for row in entries} == {64}
    assert {row["invoked_ns"] for row in entries} == {row["invoked_ns"] for row in reads[:2]}


def test_a_census_of_a_bookie_that_is_down_is_not_waited_for_and_knows_nothing(
    cluster: Any, ask: Any
) -> None:
    ledger = made(cluster, ask, "counted")
    ask(cluster.clients["writer"], "append", handle="counted", entries=200, entry_bytes=100)
    for bookie in ("b1", "b2"):  # one of them may have been the third, which no acknowledgement waits for
        wait_until(lambda bookie=bookie: has(cluster, bookie, ledger, 199), 60, "the last entry")
    cluster.bookies["b3"].kill()
    place = {"ledger": ledger, "first": 0, "last": 199, "bookies": ["b1", "b2", "b3"]}
    counts = ask(cluster.observer, "census", ledgers=[place], **{"pass": 2})
    assert (counts["codes"][str(UNAVAILABLE)], counts["skipped"]) == (200, 0)  # refused, none timed out
    census = rows(cluster, "observer", "census", ledger=ledger, pass_number=2)
    assert [row["holding"] for row in census if row["bookie"] == 3] == [Holding.UNKNOWN] * 200
    mine = [row for row in census if row["bookie"] == 1]
    assert [row["holding"] for row in mine].count(Holding.PRESENT) == 200
    # With an entry, a bookie reads those behind it, and then serves them whether its index has them or not.
    asked = sorted(mine, key=lambda row: row["asked_ns"])
    assert [row["entry"] for row in asked] == list(reversed(range(200)))
    assert all(row["asked_ns"] <= row["answered_ns"] < NEVER for row in census)
    cluster.bookies["b3"].start()
    cluster.bookies["b3"].wait_ready(60)


def test_final_reads_name_what_cannot_be_read(cluster: Any, ask: Any) -> None:
    """Two of three bookies are gone: the ledger cannot be recovered, and the reply says so."""
    ledger = made(cluster, ask, "unread")
    ask(cluster.clients["writer"], "append", handle="unread", entries=10, entry_bytes=100)
    for name in ("b2", "b3"):
        cluster.bookies[name].kill()
    result = ask(cluster.observer, "final", ledgers=[ledger], attempts=2, timeout_s=50)["ledgers"][
        str(ledger)
    ]
    assert (result["state"], result["read"], result["error"]) == ("unopened", 0, "LedgerRecovery")
    opens = rows(cluster, "observer", kind=Kind.OPEN, ledger=ledger)
    assert [(row["outcome"], row["flags"]) for row in opens] == [
        (Outcome.UNKNOWN, Flag.FINAL | Flag.RECOVERY)
    ] * 2
    for name in ("b2", "b3"):
        cluster.bookies[name].start()
        cluster.bookies[name].wait_ready(60)


def test_the_watch_goes_on_after_zookeeper_was_away(cluster: Any, ask: Any) -> None:
    ask(cluster.observer, "watch")
    before = made(cluster, ask, "before")
    cluster.zookeeper.kill()
    cluster.zookeeper.start()
    cluster.zookeeper.wait_ready(60)
    reply: dict[str, Any] = {}

    def created() -> tuple[bool, str]:
        nonlocal reply
        reply = cluster.clients["writer"].call("create", timeout_s=60, handle="after", **QUORUMS)
        return bool(reply["ok"]), str(reply)

    wait_until(created, 60, "a ledger to be created")
    ask(cluster.clients["writer"], "close", handle="after")
    wanted = {(before, 1), (reply["ledger"], 3)}  # versions in between may be passed over

    def seen() -> tuple[bool, str]:
        found = {(row["ledger"], row["lac"]) for row in rows(cluster, "observer", "watched")}
        return wanted <= found, f"{found}"

    wait_until(seen, 60, f"the watch to see {wanted}")
