"""A client that is killed at any instant leaves the invocation of everything that it sent."""

from __future__ import annotations

from random import Random
from threading import Event
from typing import Any

from evidence.codes import Kind, Outcome

LIVES = 6
LONGEST_S = 0.4


def test_every_entry_that_bookies_hold_has_its_invocation(opened: Any, recorded: Any, ask: Any) -> None:
    random, lives = Random(20_260), []
    with opened(clients=("writer",)) as cluster:
        writer, observer = cluster.clients["writer"], cluster.observer
        for life in range(LIVES):
            made = ask(writer, "create", handle="h", ensemble=3, write_quorum=3, ack_quorum=2)
            ask(writer, "append", handle="h", background=True, entry_bytes=200, outstanding=200)
            acked = ask(writer, "await_acked", handle="h", entries=random.randrange(1, 2000))["acked"]
            Event().wait(random.uniform(0, LONGEST_S))
            writer.kill()
            final = ask(observer, "final", ledgers=[made["ledger"]], attempts=5, timeout_s=50)
            kept = final["ledgers"][str(made["ledger"])]
            assert kept["read"] == kept["last_entry"] + 1 >= acked
            lives.append((made["ledger"], kept["last_entry"]))
            if life + 1 < LIVES:
                writer.start()
                writer.wait_ready(60)
    adds = recorded("writer", kind=Kind.ADD)
    assert [row["seq"] for row in recorded("writer")] == sorted({row["seq"] for row in recorded("writer")})
    for ledger, last in lives:
        mine = [row for row in adds if row["ledger"] == ledger]
        assert {row["entry"] for row in mine} >= set(range(last + 1))
        assert {row["outcome"] for row in mine} <= {Outcome.OK, Outcome.PENDING}
        assert max(row["entry"] for row in mine if row["outcome"] == Outcome.OK) <= last


def test_the_end_of_its_input_ends_a_client(opened: Any, ask: Any, recorded: Any) -> None:
    with opened(clients=("writer",), observed=False, bookies=1) as cluster:
        writer = cluster.clients["writer"]
        ask(writer, "create", handle="h", ensemble=1)
        ask(writer, "append", handle="h", background=True, outstanding=10, entry_bytes=64)
        ask(writer, "await_acked", handle="h", entries=100)
        writer.close()
        ended = writer.ended(1, 60)
        assert ended is not None
        assert ended.code == 0
    assert len(recorded("writer", kind=Kind.ADD)) >= 100
