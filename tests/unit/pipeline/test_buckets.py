"""Tasks read what checkers ask for, share the buckets, and find the facts of ledgers that collection left."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from checkers.judging.contract import LedgerFacts, RunFacts
from evidence.exchange.chains import NEEDED, Chain
from pipeline.blocks import shared_out
from pipeline.judge import asked
from pipeline.tables import read_facts, write_facts


def facts(*chains: Chain) -> RunFacts:
    return RunFacts("made/up", "protected", 1, {"b1": 1}, {"writer": 101}, chains=chains)


def test_logs_made_of_ledgers_are_read_with_all_that_their_checker_needs() -> None:
    assert "digest" not in asked(facts())["operations"]
    assert {"digest", *NEEDED} <= set(asked(facts(Chain("c", 1, (), ())))["operations"])


def test_buckets_are_shared_so_that_tasks_have_about_as_much_to_do() -> None:
    assert shared_out({0: 5, 1: 9, 2: 1, 3: 4}, 2) == [[1, 2], [0, 3]]
    assert shared_out({0: 5, 1: 9}, 8) == [[1], [0]]
    assert shared_out({}, 8) == []


def test_facts_of_ledgers_come_back_as_they_were_written(tmp_path: Path) -> None:
    full = pa.table({"ledger": pa.array([1, 2], pa.int64()), "lac": pa.array([7, -1], pa.int64())})
    written = [
        LedgerFacts({"lac": full, "none": full.slice(0, 0), "torn": "fact torn raised KeyError: 1"}),
        LedgerFacts({}),
        LedgerFacts({"lac": full.slice(1)}),
    ]
    for bucket, facts in enumerate(written):
        write_facts(tmp_path, bucket, facts)
    assert [facts.tables for facts in read_facts(tmp_path)] == [facts.tables for facts in written]
