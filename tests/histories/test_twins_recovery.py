"""``recovery`` and ``answers`` against their naive twins, on histories cut at random places."""

import pickle
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from checkers.answers import Answers
from checkers.contract import Batch
from checkers.judge import check_all, facts_of, judge
from checkers.recovery.checker import Recovery
from evidence.codes import Message
from evidence.findings import Verdict
from evidence.schemas import FRAMES
from tests.histories import twins_recovery as twins
from tests.histories.asking import ENOENTRY, add, answered, plain_read
from tests.histories.story import chunk, run_facts
from tests.histories.strategies import judged_wherever_cut
from tests.histories.strategies_recovery import random_recoveries

CHECKERS = (Recovery(), Answers())
RULINGS = ("legal", "by_writer", "by_bookie", "unseen")


def things(judgement):
    """Every (kind, ledger, entry) with the number of its findings."""
    found = Counter()
    for finding in judgement.findings:
        assert finding.count == finding.last_entry - finding.first_entry + 1
        for entry in range(finding.first_entry, finding.last_entry + 1):
            found[finding.kind, finding.ledger, entry] += 1
    assert {kind: number for kind, number in judgement.counts.items() if number} == Counter(
        kind for kind, _, _ in found.elements()
    )
    return found


def assert_as_the_twins(verdict, history, run):
    wrong, rulings = twins.recovery(history, run)
    recovery = verdict.judgements["recovery"]
    assert things(recovery) == wrong
    assert {name: recovery.seen[name] for name in RULINGS} == {name: rulings[name] for name in RULINGS}
    assert recovery.verdict is recovery_verdict(wrong, rulings)
    answers = verdict.judgements["answers"]
    assert things(answers) == twins.answered(history, run)


def recovery_verdict(wrong, rulings):
    if wrong:
        return Verdict.ANOMALY
    if rulings["unseen"]:
        return Verdict.UNKNOWN
    return Verdict.VALID if rulings["legal"] else Verdict.NOT_JUDGED


@pytest.mark.parametrize("block", range(6))
def test_recoveries_are_judged_as_the_twins_judge_them_wherever_they_are_cut(block):
    for seed in range(100 * block, 100 * block + 100):
        history, run = random_recoveries(seed)
        assert_as_the_twins(judged_wherever_cut(seed, history, run, CHECKERS), history, run)


def test_the_histories_have_everything_that_can_be_ruled():
    seen = Counter()
    for seed in range(900):
        history, run = random_recoveries(seed)
        wrong, rulings = twins.recovery(history, run)
        seen.update({*rulings, *(kind for kind, _, _ in [*wrong, *twins.answered(history, run)])})
    kinds = (
        *("ended_too_soon", "fenced_too_few", "not_written_back", "not_read", "wrote_back_unread"),
        *("denied_own_ack", "limbo_not_shown"),
    )
    assert all(seen[name] > 15 for name in (*RULINGS, *kinds)), seen


def test_a_million_frames_are_scanned_within_a_second_and_leave_little():
    number = 1_000_000
    blank = answered("writer", "b1", add(0))[1]
    columns = {name: np.full(number, value) for name, value in blank.items()}
    columns["way"] = np.arange(number) % 2
    columns["entry"] = np.arange(number) // 6
    columns["bookie"] = np.arange(number) // 2 % 3 + 1
    columns["received_ns"] = columns["forwarded_ns"] = np.arange(number) * 1000
    columns["asked_ns"] = columns["received_ns"] - 1
    columns["kind"] = np.where(columns["entry"] % 10 == 0, Message.RECOVERY_READ, Message.ADD)
    table = pa.table({f.name: pa.array(columns[f.name], f.type) for f in FRAMES}, schema=FRAMES)
    for checker in CHECKERS:
        part = Batch({"frames": table})
        part.frames  # noqa: B018 - reading the columns is not the checker's time
        begun = time.process_time()
        known = facts_of(part, checkers=(checker,))
        summary = check_all(part, run_facts(wire=True), known, checkers=(checker,))
        assert time.process_time() - begun < 1.0
        assert len(pickle.dumps(summary)) < 300_000


def test_a_denied_range_of_a_long_ledger_is_found_in_one_piece():
    acks = [answered("writer", "b1", add(entry), at=10) for entry in range(3000)]
    denials = [answered("reader", "b1", plain_read(entry), ENOENTRY, at=20) for entry in range(500, 2500)]
    history, run = [*acks, *denials], run_facts(wire=True)
    whole = judge([chunk(history)], run, checkers=CHECKERS).judgements["answers"]
    assert [(f.first_entry, f.last_entry) for f in whole.findings] == [(500, 2499)]
