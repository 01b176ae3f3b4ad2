"""What a task does not read, no checker asks for."""

from __future__ import annotations

from checkers.contract import RunFacts
from evidence.exchange.chains import NEEDED, Chain
from pipeline.buckets import asked


def facts(*chains: Chain) -> RunFacts:
    return RunFacts("made/up", "protected", 1, {"b1": 1}, {"writer": 101}, chains=chains)


def test_logs_made_of_ledgers_are_read_with_all_that_their_checker_needs() -> None:
    assert "digest" not in asked(facts())["operations"]
    assert {"digest", *NEEDED} <= set(asked(facts(Chain("c", 1, (), ())))["operations"])
