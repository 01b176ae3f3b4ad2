"""Rounds in one cluster and what clients decide: counted, shown, and the same when judged again."""

from __future__ import annotations

import json

import pytest

from tests.live.running import Fencepost, Start

pytestmark = pytest.mark.usefixtures("without_spark")
ROUNDS = 2
PLAN = """\
name: try/decisions
source: {document: BP-46, section: Scenario 2}
about: b1 forgets what it acknowledged; the recoverer receives two negative answers and closes.
vary: {last_entry: -1}
cluster:
  bookie_conf: {flushInterval: 60000}
  client_conf: {delayEnsembleChange: true, addEntryTimeoutSec: 30, firstSpeculativeReadTimeout: 200}
clients: [writer, recoverer]
modes: [unprotected]
required: [durability, closing]
control: {mode: unprotected}
steps:
  - create: {client: writer, ledger: main}
  - cut: {from: writer, to: b2}
  - append: {client: writer, ledger: main, entries: 50}
  - kill: {target: b1}
  - start: {target: b1}
  - wait_for: {condition: known, client: recoverer, target: b1}
  - cut: {from: recoverer, to: b3}
  - recover: {client: recoverer, ledger: main}
    outcome: any
expect:
  unprotected:
    - breaks: {property: durability, kind: lost, ledger: main}
    - breaks: {property: closing, kind: closed_below, ledger: main}
    - decides:
        ledger: main
        outcome: ok
        last_entry: {vary: last_entry}
        document: "b1 must not deny what it may have lost"
        differs: "closes the ledger as empty"
"""


def run_it(fencepost: Start, *more: str) -> Fencepost:
    return fencepost("run", PLAN, "--rounds", str(ROUNDS), "--seed", "1", *more)


def test_every_round_breaks_and_is_decided_alike(fencepost: Start) -> None:
    run = run_it(fencepost)
    text = run.ends(0)
    assert "breaks durability (lost) on main, shown on 2 of 2" in text
    assert "ok, last entry -1 (2 of 2)" in text
    assert "2 of 2 rounds as expected; other results: below 78 % with 95 % confidence" in text
    assert f"--rounds {ROUNDS}" in text
    before = {path: path.read_bytes() for path in run.results.rglob("verdict.json")}
    whole = json.loads((run.folder.parent / "verdict.json").read_text())["modes"]["unprotected"]
    (row,) = whole["decisions"]
    assert (row["decision"], row["difference"], row["shown"]) == (
        "ok, last entry -1",
        "closes the ledger as empty",
        ROUNDS,
    )
    fencepost("check", "latest", "--quiet").ends(0)
    assert {path: path.read_bytes() for path in before} == before
    fencepost("explain", "latest", "main.2:49").ends(0, "CLOSED at -1, below this entry")


@pytest.mark.long
def test_another_decision_than_stated_fails_the_run(fencepost: Start) -> None:
    text = run_it(fencepost, "--set", "last_entry=49").ends(4)
    last = text.strip().splitlines()[-1]
    assert "the document says 'b1 must not deny what it may have lost'" in last
    assert "the client decided ok, last entry -1" in last
