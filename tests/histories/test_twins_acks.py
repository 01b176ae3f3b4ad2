"""``lac/acked_too_soon`` and ``lac/covers_unacked`` against their naive twins, in blocks of any size."""

import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from checkers.contract import Batch
from checkers.judge import check_all, combined_facts, conclude_all, facts_of, join_all, judge
from checkers.lac.checker import Lac
from evidence.codes import Kind, Outcome
from evidence.schemas import FRAMES, OPERATIONS
from tests.histories.lives import took
from tests.histories.story import BLANK, chunk, run_facts
from tests.histories.strategies import judged_wherever_cut
from tests.histories.strategies_acks import random_acks
from tests.histories.twins_acks import acked_outside, acked_too_soon, covers_unacked, judges

ONLY = (Lac(),)


def told(verdict, kind="acked_too_soon"):
    found = Counter()
    for finding in verdict.judgements["lac"].findings:
        if finding.kind == kind:
            entries = range(finding.first_entry, finding.last_entry + 1)
            assert finding.count == len(entries)
            found.update((finding.ledger, entry) for entry in entries)
    assert verdict.judgements["lac"].counts[kind] == found.total()
    return found


@pytest.mark.parametrize("block", range(3))
def test_adds_are_judged_as_the_twin_judges_them_wherever_they_are_cut(block):
    for seed in range(30 * block, 30 * block + 30):
        history, run = random_acks(seed)
        whole = judged_wherever_cut(seed, history, run, ONLY)
        assert told(whole) == Counter((one[0], one[1]) for one in acked_too_soon(history, run)), seed
        assert told(whole, "covers_unacked") == Counter(covers_unacked(history, run)), seed
        assert whole.judgements["lac"].counts["acked_outside"] == acked_outside(history, run).total(), seed


def test_the_histories_have_everything_that_can_be_told():
    seen = Counter()
    for seed in range(60):
        history, run = random_acks(seed)
        early = acked_too_soon(history, run)
        seen["outside"] += acked_outside(history, run).total()
        seen["not judged"] += not judges(run)
        seen["early"] += len(early)
        seen["unacked"] += len(covers_unacked(history, run))
        lac = judge([chunk(history)], run, checkers=ONLY).judgements["lac"]
        seen["in time"] += lac.seen["acked_in_time"]
    assert all(seen[name] > 10 for name in ("not judged", "early", "unacked", "outside", "in time")), seen


def table(schema, blank, **columns):
    number = len(columns["entry"])
    full = {name: columns.get(name, np.full(number, blank[name])) for name in schema.names}
    return pa.table({one.name: pa.array(full[one.name], one.type) for one in schema}, schema=schema)


def adds(entry):
    ok = {"kind": np.full(len(entry), Kind.ADD), "outcome": np.full(len(entry), Outcome.OK)}
    blank = {**BLANK, "ledger": 1}
    return table(OPERATIONS, blank, entry=entry, seq=entry + 1, completed_ns=entry * 100 + 60, **ok)


def answers(entry, bookie):
    """The third bookie's come after the writer got ok, from a different bookie each time."""
    place = (bookie + entry) % 3
    at_ns = entry * 100 + 50 + place * 5 + np.where(place == 2, 9, 0)
    blank = took(0, 1, 1)[1]
    return table(FRAMES, blank, entry=entry, bookie=bookie, received_ns=at_ns, forwarded_ns=at_ns)


@pytest.mark.parametrize("number", [1_000, 300_000])
def test_of_many_adds_in_time_hardly_anything_is_left(number):
    """Without metadata of the ledger, in batches of 75,000 adds."""
    run = run_facts(wire=True, most_acks=2)
    parts = [np.arange(at, min(at + 75_000, number)) for at in range(0, number, 75_000)]
    batches = [
        Batch(
            {"operations": adds(part), "frames": answers(np.repeat(part, 3), np.tile([1, 2, 3], len(part)))}
        )
        for part in parts
    ]
    known = combined_facts([facts_of(batch, checkers=ONLY) for batch in batches], checkers=ONLY)
    found = join_all((check_all(batch, run, known, checkers=ONLY) for batch in batches), checkers=ONLY)
    assert len(pickle.dumps(found)) < 20_000
    assert conclude_all(found, run, known, checkers=ONLY).judgements["lac"].seen["acked_in_time"] == number
