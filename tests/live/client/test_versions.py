"""One jar, compiled against the oldest client, does its work with the jars of every release."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from cluster.waiting import wait_until
from evidence.codes import Flag, Holding, Kind, Outcome, Proof
from tests.length import quick_and_long

VERSIONS = ["4.14.7", "4.15.0", "4.16.6", "4.17.2", "4.18.0"]
DIGESTS = ["CRC32C", "CRC32", "MAC", "DUMMY"]
ENTRIES = 40


@pytest.mark.parametrize("version", quick_and_long(VERSIONS, VERSIONS[1:-1]))
def test_ledgers_are_written_recovered_read_and_counted(
    version: str, opened: Any, recorded: Any, ask: Any
) -> None:
    with opened(version=version) as cluster:
        writer, other, observer = cluster.clients["writer"], cluster.clients["other"], cluster.observer
        assert ask(writer, "hello")["version"] == version
        ask(observer, "watch")
        ledgers = []
        for digest in DIGESTS:
            made = ask(
                writer, "create", handle=digest, ensemble=3, write_quorum=3, ack_quorum=2, digest=digest
            )
            ledgers.append(made["ledger"])
            ask(writer, "append", handle=digest, entries=ENTRIES, entry_bytes=100, outstanding=8)
        ask(writer, "lac", handle="MAC")
        ask(writer, "write_lac", handle="MAC")
        ask(writer, "force", handle="MAC")
        assert ask(writer, "read", handle="MAC", first=0, last=ENTRIES - 1, batch=7)["entries"] == ENTRIES
        ask(writer, "close", handle="CRC32C")
        result = ask(other, "open", handle="r", ledger=ledgers[1], recovery=True)
        assert (result["closed"], result["last_entry"]) == (True, ENTRIES - 1)
        broken = writer.call("append", timeout_s=60, handle="CRC32", entries=5)
        assert (broken["error"], broken["outcome"], broken["acked"]) == ("LedgerFenced", "unknown", 0)
        # What is invoked after the first refusal came back has failed for certain: the handle is closed.
        assert broken["unknown"] >= 1 and broken["unknown"] + broken["failed"] == 5
        ask(other, "delete", ledger=ledgers[0])
        final = ask(observer, "final", ledgers=ledgers, attempts=3, timeout_s=20)["ledgers"]
        assert final[str(ledgers[0])]["state"] == "deleted"
        for ledger in ledgers[1:]:
            assert (final[str(ledger)]["last_entry"], final[str(ledger)]["read"]) == (ENTRIES - 1, ENTRIES)
        for one, bookie in itertools.product(ledgers[1:], ("b1", "b2")):
            wait_until(  # the last of three bookies is not waited for when entries are acknowledged
                lambda one=one, bookie=bookie: (cluster.answer(bookie, one, ENTRIES - 1) == 0, bookie),
                60,
                f"the last entry of {one}",
            )
        places = [
            {"ledger": one, "first": 0, "last": ENTRIES + 9, "bookies": ["b1", "b2"]} for one in ledgers
        ]
        counts = ask(observer, "census", ledgers=places, **{"pass": 1})
        assert (counts["damaged"], counts["skipped"]) == (0, 0)
    adds = recorded("writer", kind=Kind.ADD, outcome=Outcome.OK)
    assert len(adds) == ENTRIES * len(DIGESTS)
    assert all(row["entry"] == row["result"] == row["expected"] <= row["lac"] for row in adds)
    read = recorded("observer", kind=Kind.ENTRY)
    assert len(read) == ENTRIES * (len(DIGESTS) - 1)
    assert {(row["proof"], row["flags"], row["origin"]) for row in read} == {
        (Proof.PROVES_ITSELF, Flag.FINAL, 101)
    }
    census = recorded("observer", "census")
    holding = {row["holding"] for row in census if row["ledger"] != ledgers[0] and row["entry"] < ENTRIES}
    assert holding == {Holding.PRESENT}
    assert {row["holding"] for row in census if row["entry"] >= ENTRIES} == {Holding.ABSENT}
    seen = {(row["ledger"], row["lac"]) for row in recorded("observer", "watched")}
    assert {(ledger, 1) for ledger in ledgers} | {(ledger, 3) for ledger in ledgers[1:]} <= seen
    assert (ledgers[0], 0) in seen
