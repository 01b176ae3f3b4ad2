"""``lac/acked_too_soon`` against its naive twin, cut at random places, and what its summary leaves."""

import json
import pickle
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from checkers.contract import Chunk
from checkers.judge import check_all, conclude_all, judge, merge_all
from checkers.lac import covered
from checkers.lac.checker import Lac
from checkers.sets import earliest, turnout
from evidence.codes import Kind, Outcome
from evidence.schemas import FRAMES, OPERATIONS
from tests.histories.lives import took
from tests.histories.story import BLANK, chunk, run_facts
from tests.histories.strategies import random_cuts
from tests.histories.strategies_acks import random_acks
from tests.histories.twins_acks import acked_too_soon, covers_unacked, judges

ONLY = (Lac(),)


def judged(chunks, run):
    return judge(chunks, run, checkers=ONLY)


def as_text(verdict):
    return json.dumps(verdict.as_json(), sort_keys=True)


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
@pytest.mark.parametrize("room", [0, 3, turnout.ROOM])
def test_adds_are_judged_as_the_twin_judges_them_wherever_they_are_cut(block, room, monkeypatch):
    """With little room nearly everything is settled as it comes, with much of it in the end."""
    monkeypatch.setattr(turnout, "ROOM", room)
    for seed in range(30 * block, 30 * block + 30):
        history, run = random_acks(seed)
        whole = judged([chunk(history)], run)
        assert told(whole) == Counter((one[0], one[1]) for one in acked_too_soon(history, run)), seed
        assert told(whole, "covers_unacked") == Counter(covers_unacked(history, run)), seed
        parts = [chunk(part) for part in random_cuts(seed, history)]
        assert as_text(judged(parts, run)) == as_text(whole), seed


@pytest.mark.parametrize("few", [0, 2])
def test_of_full_blocks_no_more_is_found_than_there_is_and_wherever_they_are_cut(few, monkeypatch):
    """Of settled adds in full blocks only the block's earliest acknowledgement is known."""
    monkeypatch.setattr(earliest, "FEW", few)
    monkeypatch.setattr(earliest, "BLOCK", 4)
    monkeypatch.setattr(covered, "BLOCK", 4)
    found = Counter()
    for seed in range(90):
        history, run = random_acks(seed)
        whole = judged([chunk(history)], run)
        mine, all_of_them = set(told(whole, "covers_unacked")), covers_unacked(history, run)
        assert mine <= all_of_them, seed
        found.update(found=len(mine), missed=len(all_of_them) - len(mine))
        parts = [chunk(part) for part in random_cuts(seed, history)]
        assert as_text(judged(parts, run)) == as_text(whole), seed
    assert found["found"] > 10, found
    assert found["missed"], found


@pytest.mark.parametrize("room", [0, turnout.ROOM])
def test_no_finding_depends_on_how_batches_were_merged(room, monkeypatch):
    monkeypatch.setattr(turnout, "ROOM", room)
    for seed in range(1000, 1040):
        history, run = random_acks(seed)
        dice = random.Random(seed)
        parts = [chunk(part) for part in random_cuts(seed, history)]
        summaries = [check_all(part, run, checkers=ONLY) for part in parts]
        while len(summaries) > 1:
            at = dice.randrange(len(summaries) - 1)
            both = merge_all(*summaries[at : at + 2], checkers=ONLY)
            summaries[at : at + 2] = [pickle.loads(pickle.dumps(both)) if dice.random() < 0.5 else both]
        whole = judged([chunk(history)], run)
        assert as_text(conclude_all(summaries[0], run, checkers=ONLY)) == as_text(whole), seed


def test_the_histories_have_everything_that_can_be_told():
    seen = Counter()
    for seed in range(60):
        history, run = random_acks(seed)
        early = acked_too_soon(history, run)
        seen["not judged"] += not judges(run)
        seen["early"] += len(early)
        seen["unacked"] += len(covers_unacked(history, run))
        seen["in time"] += judged([chunk(history)], run).judgements["lac"].seen["acked_in_time"]
    assert all(seen[name] > 10 for name in ("not judged", "early", "unacked", "in time")), seen


def table(schema, blank, **columns):
    number = len(columns["entry"])
    full = {name: columns.get(name, np.full(number, blank[name])) for name in schema.names}
    return pa.table({one.name: pa.array(full[one.name], one.type) for one in schema}, schema=schema)


def adds(entry):
    ok = {"kind": np.full(len(entry), Kind.ADD), "outcome": np.full(len(entry), Outcome.OK)}
    blank = {**BLANK, "ledger": 1}
    return table(OPERATIONS, blank, entry=entry, seq=entry + 1, completed_ns=entry * 100 + 60, **ok)


def answers(entry, bookie):
    """The third bookie's come after the writer was told, from a different one each time."""
    place = (bookie + entry) % 3
    at_ns = entry * 100 + 50 + place * 5 + np.where(place == 2, 9, 0)
    blank = took(0, 1, 1)[1]
    return table(FRAMES, blank, entry=entry, bookie=bookie, received_ns=at_ns, forwarded_ns=at_ns)


@pytest.mark.parametrize("together", [False, True])
def test_of_many_adds_in_time_only_spans_are_left(together):
    """Without metadata at hand, as in most buckets of a long ledger; tables come one after the other."""
    number, run = 300_000, run_facts(wire=True, most_acks=2)
    entry = np.arange(number)
    three, bookie = np.repeat(entry, 3), np.tile([1, 2, 3], number)
    slices = [slice(at, at + 75_000) for at in range(0, number, 75_000)]
    asked = [Chunk({"operations": adds(entry[part])}) for part in slices]
    slices = [slice(at, at + 75_000) for at in range(0, 3 * number, 75_000)]
    said = [Chunk({"frames": answers(three[part], bookie[part])}) for part in slices]
    total = check_all(Chunk({}), run, checkers=ONLY)
    for part in [*asked, *said] if together else [*said, *asked]:
        total = merge_all(total, check_all(part, run, checkers=ONLY), checkers=ONLY)
    left = pickle.dumps(total)
    assert len(left) < 20_000
    assert (
        conclude_all(pickle.loads(left), run, checkers=ONLY).judgements["lac"].seen["acked_in_time"] == number
    )


def test_what_can_be_settled_does_not_travel():
    entry = np.arange(1_000)
    said = answers(np.repeat(entry, 3), np.tile([1, 2, 3], 1_000))
    total = check_all(
        Chunk({"operations": adds(entry), "frames": said}), run_facts(wire=True, most_acks=2), checkers=ONLY
    )
    [turnout_of_writer] = pickle.loads(pickle.dumps(total))["lac"].acks.by_client.values()
    assert (turnout_of_writer.due, turnout_of_writer.votes) == ((), ())
    assert turnout_of_writer.settled.count() == 1_000
