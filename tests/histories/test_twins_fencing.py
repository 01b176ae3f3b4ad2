"""``fencing``, ``availability`` and the classes of loss against their naive twins, cut at random places."""

import pickle
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from checkers.availability.checker import Availability
from checkers.contract import Batch
from checkers.durability.checker import Durability
from checkers.fencing import Fencing
from checkers.judge import check_all, combined_facts, facts_of
from evidence.schemas import FRAMES
from tests.histories import twins_fencing as twins
from tests.histories.lives import took
from tests.histories.story import run_facts
from tests.histories.strategies import judged_wherever_cut
from tests.histories.strategies_fencing import random_fates

CHECKERS = (Durability(), Fencing(), Availability())


def entries(finding):
    return range(finding.first_entry, finding.last_entry + 1)


def rows_of(judgement):
    """(kind, ledger) -> number of rows with an anomaly; and which entries they are about."""
    numbers = Counter()
    for finding in judgement.findings:
        numbers[finding.kind, finding.ledger] += finding.count
    where = {(one.kind, one.ledger, entry) for one in judgement.findings for entry in entries(one)}
    assert Counter(judgement.counts) == Counter(judgement.counts) | _by_kind(numbers)
    return numbers, where


def _by_kind(numbers):
    total = Counter()
    for (kind, _), number in numbers.items():
        total[kind] += number
    return total


def plain(things):
    numbers = Counter()
    for (kind, ledger, _), number in things.items():
        numbers[kind, ledger] += number
    return numbers, set(things)


def assert_as_the_twins(verdict, history, run):
    things, expected = twins.fencing(history, run)
    assert rows_of(verdict.judgements["fencing"]) == plain(things)
    assert verdict.judgements["fencing"].verdict == expected
    things, expected = twins.availability(history, run)
    assert rows_of(verdict.judgements["availability"]) == plain(things)
    assert verdict.judgements["availability"].verdict == expected
    durability = verdict.judgements["durability"]
    lost = [finding for finding in durability.findings if finding.kind == "lost"]
    told = Counter((finding.loss, finding.ledger, entry) for finding in lost for entry in entries(finding))
    assert told == twins.classes(history, run)
    named = {loss: durability.counts[f"lost_{loss}"] for loss in ("forged", "unexplained", "undetermined")}
    assert named == {loss: sum(1 for one, _, _ in told if one == loss) for loss in named}


@pytest.mark.parametrize("block", range(10))
def test_fates_are_judged_as_the_twins_judge_them_wherever_they_are_cut(block):
    for seed in range(60 * block, 60 * block + 60):
        history, run = random_fates(seed)
        assert_as_the_twins(judged_wherever_cut(seed, history, run, CHECKERS), history, run)


def test_the_histories_have_everything_that_can_be_told():
    seen = Counter()
    for seed in range(600):
        history, run = random_fates(seed)
        for things in (twins.fencing(history, run)[0], twins.availability(history, run)[0]):
            seen.update({kind for kind, _, _ in things})
        seen.update({kind for kind, _, _ in twins.classes(history, run)})
        seen.update({twins.recovery(history, run, ledger) for ledger in (1, 2)})
        seen.update({twins.fencing(history, run)[1], twins.availability(history, run)[1]})
    kinds = ("added_after_close", "accepted_when_fenced", "stuck", "unreadable", "stalled", "open", "nothing")
    classes, verdicts = ("forged", "unexplained", "undetermined"), ("valid", "unknown", "anomaly")
    assert all(seen[name] > 10 for name in (*kinds, *classes, *verdicts)), seen


@pytest.mark.parametrize(("ensemble", "write"), [(3, 3), (5, 3)])
def test_a_million_frames_are_scanned_within_a_second_and_leave_little(ensemble, write):
    number = 1_000_000
    at = np.arange(number)
    entry, place, way = at // (2 * write), at // 2 % write, at % 2
    columns = {name: np.full(number, value) for name, value in took(0, 1, 1)[1].items()}
    columns.update(entry=entry, way=way, bookie=(entry + place) % ensemble + 1, seq=at + 1)
    columns.update(asked_ns=at * 1_000, received_ns=at * 1_000 + 500, forwarded_ns=at * 1_000 + 501)
    table = pa.table({one.name: pa.array(columns[one.name], one.type) for one in FRAMES}, schema=FRAMES)
    part = Batch({"frames": table})
    part.frames  # noqa: B018  # reading the columns is not the checkers' time
    begun = time.process_time()
    known = combined_facts([facts_of(part, checkers=CHECKERS)], checkers=CHECKERS)
    summaries = check_all(part, run_facts(wire=True), known, checkers=CHECKERS)
    assert time.process_time() - begun < 1.0
    assert len(pickle.dumps(summaries)) < 500_000
    assert not summaries["durability"].rows.num_rows  # none of these was promised to a client
