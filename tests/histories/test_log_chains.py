"""Logs made of ledgers: lawful leaders and readers have no anomaly, and what went wrong is found."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.judging.contract import RunFacts
from checkers.judging.judge import judge
from checkers.log.checker import Log
from evidence.codes import Kind, Outcome
from evidence.exchange.chains import Chain, chains_of
from evidence.findings import Judgement, Verdict
from tests.histories.agreement import disagreements
from tests.histories.boots import fault
from tests.histories.story import Fact, chunk, facts
from tests.histories.story_chain import BORN, chain_facts, last, put, seen
from tests.histories.strategies import steady

SEEDS = st.integers(0, 2**32)


def lawful(
    random: Random, *, ledgers: int = 3, most: int = 3
) -> tuple[Chain, list[Fact], list[tuple[int, int]]]:
    """A log that leaders filled one after the other, with readers beside them; and its entries in order.

    The last adds of a ledger may be unsure or never have ended: recovery keeps some and drops the others.
    """
    now = 10
    ids = tuple(range(7, 7 + ledgers))
    since, history, kept, ends = [], [], [], []
    for number, ledger in enumerate(ids):
        since.append(now)
        now += 5
        entries = random.randint(0, most)
        sure = random.randint(0, entries)
        for entry in range(entries):
            outcome = Outcome.OK if entry < sure else Outcome.UNKNOWN
            ends_at = None if entry >= sure and random.random() < 0.5 else now + 3
            history.append(put(ledger, entry, (now, ends_at), outcome))
            now += random.choice((1, 5))
            if random.random() < 0.3 and entry < sure:
                shown = [*kept, *((ledger, at) for at in range(random.randint(0, entry)))]
                handle, opened = 1 + len(history), ids[: number + 1]
                history += seen(*shown, at=(now, now + 9), handle=handle, opened=opened)
        now += 20
        final = random.randint(sure, entries)
        kept += [(ledger, entry) for entry in range(final)]
        ends.append((ledger, final - 1))
        if random.random() < 0.5 and kept and kept[-1][0] == ledger and number:
            history += seen(*kept, at=(now, now + 3), handle=1 + len(history), end=9)
            now += 5
    history += last(*ends, at=(now + 50, now + 60))
    return Chain("events", BORN, ids, tuple(since)), facts(history), kept


def of(history: list[Fact], chain: Chain) -> Judgement:
    return judged([history], chain_facts(chain))


def judged(parts: list[list[Fact]], run: RunFacts) -> Judgement:
    return judge([chunk(part) for part in parts], run, checkers=(Log(),)).judgements["log"]


@steady(60)
@given(SEEDS)
def test_lawful_leaders_and_readers_have_no_finding(seed: int) -> None:
    chain, history, kept = lawful(Random(seed), ledgers=4, most=12)
    result = of(history, chain)
    assert result.verdict is (Verdict.VALID if kept else Verdict.UNKNOWN), result


@steady(60)
@given(SEEDS)
def test_an_acknowledged_append_that_is_gone_is_told(seed: int) -> None:
    random = Random(seed)
    chain, history, _ = lawful(random, ledgers=4, most=8)
    final = [at for at, row in enumerate(history) if is_final(row, Kind.ENTRY)]
    acked = {(row["ledger"], row["entry"]) for _, row in history if was_acked(row)}
    lost = [at for at in final if (history[at][1]["ledger"], history[at][1]["entry"]) in acked]
    if not lost:
        return
    gone = history[max(lost)][1]
    rest = [fact for fact in history if not follows(fact, gone)]
    shorter = [
        (table, {**row, "result": gone["entry"] - 1}) if closes(row, gone) else (table, row)
        for table, row in rest
    ]
    assert of(shorter, chain).verdict in (Verdict.ANOMALY, Verdict.UNKNOWN)
    if any(is_final(fact, Kind.ENTRY) for fact in shorter):
        assert of(shorter, chain).verdict is Verdict.ANOMALY


def is_final(fact: Fact, kind: Kind) -> bool:
    return bool(fact[1]["kind"] == kind and fact[1]["flags"] & 16)


def was_acked(row: dict[str, Any]) -> bool:
    return bool(row["kind"] == Kind.ADD and row["outcome"] == Outcome.OK)


def follows(fact: Fact, gone: dict[str, Any]) -> bool:
    """A final read of the entry or of one behind it in its ledger."""
    row = fact[1]
    return is_final(fact, Kind.ENTRY) and row["ledger"] == gone["ledger"] and row["entry"] >= gone["entry"]


def closes(row: dict[str, Any], gone: dict[str, Any]) -> bool:
    return bool(row["kind"] == Kind.OPEN and row["flags"] & 16 and row["ledger"] == gone["ledger"])


@steady(60)
@given(SEEDS)
def test_cuts_change_nothing(seed: int) -> None:
    random = Random(seed)
    chain, history, _ = lawful(random)
    random.shuffle(history)
    cuts = sorted(random.sample(range(len(history) + 1), min(3, len(history))))
    parts = [history[a:b] for a, b in zip([0, *cuts], [*cuts, len(history)], strict=True)]
    assert judged(parts, chain_facts(chain)) == of(history, chain)


@pytest.mark.parametrize("seed", range(60))
def test_of_small_logs_the_twin_says_the_same_also_where_reads_lack_something(seed: int) -> None:
    random = Random(seed)
    chain, history, _ = lawful(random, ledgers=2, most=2)
    reads = [at for at, (_, row) in enumerate(history) if row["kind"] == Kind.ENTRY]
    for at in random.sample(reads, min(len(reads), seed % 3)):
        table, row = history[at]
        history[at] = table, {**row, "entry": max(row["entry"] - 1, 0), "digest": row["digest"] - seed % 2}
    run = chain_facts(chain)
    assert not disagreements(judge([chunk(history)], run), history, run)


def test_a_run_without_a_log_is_not_judged_unless_its_plan_asks_for_it() -> None:
    for required, verdict in (((), Verdict.NOT_JUDGED), (("log",), Verdict.UNKNOWN)):
        run = replace(chain_facts(), chains=(), required=required)
        assert judged([[put(7, 0, (1, 2))]], run).verdict is verdict


@pytest.mark.parametrize(
    ("final", "note"),
    [
        ([], "log events: its ledger 7 was not opened at the end"),
        (
            last((7, 1), (8, 0), at=(90, 95), without=((7, 1),)),
            "log events: of its ledger 7, which ends at entry 1, 1 entries were read at the end",
        ),
    ],
)
def test_a_log_that_was_not_read_whole_at_the_end_is_never_valid(final: list[Fact], note: str) -> None:
    history = facts([put(7, 0, (10, 11)), put(7, 1, (12, 13)), put(8, 0, (60, 61)), final])
    chain = Chain("events", BORN, (7, 8), (5, 50))
    result = of([*history, *seen((7, 0), (7, 1), at=(20, 25))], chain)
    assert result.verdict is Verdict.UNKNOWN
    assert result.notes[0] == note


def test_a_log_whose_list_was_put_back_is_never_valid() -> None:
    """Ledger 8 is in the list no more: what was appended to it, and read, is not known to be of this log."""
    chain = Chain("events", BORN, (7,), (5,))
    history = facts([put(7, 0, (10, 11)), put(8, 0, (60, 61)), last((7, 0), at=(900, 950))])
    assert judged([history], chain_facts(chain)).verdict is Verdict.VALID
    for kind, verdict in (("restore_metadata", Verdict.UNKNOWN), ("kill", Verdict.VALID)):
        assert judged([history], chain_facts(chain, faults=(fault(3, kind, "zk1"),))).verdict is verdict


def test_evidence_that_is_damaged_or_open_ended_is_never_valid() -> None:
    history = facts([put(7, 0, (10, 11)), last((7, 0), (8, -1), at=(90, 95))])
    for more in ({"complete": False}, {"damage": ("chains: transaction 0x7 cannot be read",)}):
        run = chain_facts(**more)
        assert judged([history], run).verdict is Verdict.UNKNOWN


def test_a_log_is_as_its_last_list_has_it() -> None:
    rows = [
        {"chain": "a", "version": 0, "ledgers": [7], "zxid": 5, "born": 5, "earliest_ns": 100},
        {"chain": "a", "version": 1, "ledgers": [7, 9], "zxid": 8, "born": 5, "earliest_ns": 200},
    ]
    assert chains_of(rows) == (Chain("a", 5, (7, 9), (100, 200)),)


def test_a_finding_names_clients_entries_and_the_runs_seconds() -> None:
    run = replace(chain_facts(), began_ns=-(10**9))
    late = [put(7, 0, (10, 11)), put(7, 1, (72, 73)), put(8, 0, (60, 61)), last((7, 1), (8, 0), at=(90, 95))]
    (result,) = judged([facts(late)], run).findings
    assert list(result.proof) == [
        "T1 is writer, operation 701: append events 7:1",
        "T2 is writer, operation 800: append events 8:0",
        "T1 < T2: T2 appended 8:0 to events after T1, the next in the order (ww)",
        "T2 < T1: T2 completed at 1.000000 s, before T1 was invoked at 1.000000 s (real time)",
    ]
