"""Rows by the hundred thousand are checked within a second and leave little to send."""

import pickle
import time

import numpy as np
import pyarrow as pa
import pytest

from checkers.answers import Answers
from checkers.judging.contract import Batch
from checkers.judging.judge import check_all, combined_facts, conclude_all, facts_of, join_all, judge
from checkers.lac.checker import Lac
from checkers.recovery.checker import Recovery
from evidence.codes import Kind, Message, Outcome
from evidence.schemas import FRAMES, OPERATIONS
from tests.histories.asking import ENOENTRY, add, answered, plain_read
from tests.histories.boots import took
from tests.histories.families import FAMILIES
from tests.histories.story import BLANK, chunk, created, run_facts


def table(schema, blank, **columns):
    number = len(columns["entry"])
    full = {name: columns.get(name, np.full(number, blank[name])) for name in schema.names}
    return pa.table({one.name: pa.array(full[one.name], one.type) for one in schema}, schema=schema)


def checked_within_a_second(frames, checkers):
    part = Batch({"frames": frames})
    part.frames  # noqa: B018  # reading the columns is not the checkers' time
    begun = time.process_time()
    known = combined_facts([facts_of(part, checkers=checkers)], checkers=checkers)
    found = check_all(part, run_facts(wire=True), known, checkers=checkers)
    assert time.process_time() - begun < 1.0
    return found


@pytest.mark.parametrize(("ensemble", "write"), [(3, 3), (5, 3)])
def test_a_million_adds_are_scanned_for_fates(ensemble, write):
    at = np.arange(1_000_000)
    entry, place, way = at // (2 * write), at // 2 % write, at % 2
    columns = {"entry": entry, "way": way, "bookie": (entry + place) % ensemble + 1, "seq": at + 1}
    times = {"asked_ns": at * 1_000, "received_ns": at * 1_000 + 500, "forwarded_ns": at * 1_000 + 501}
    frames = table(FRAMES, took(0, 1, 1)[1], **columns, **times)
    found = checked_within_a_second(frames, FAMILIES["fates"].checkers)
    assert len(pickle.dumps(found)) < 500_000
    assert not found["durability"].rows.num_rows  # none of these was promised to a client


@pytest.mark.parametrize("checker", [Recovery(), Answers()])
def test_a_million_frames_are_scanned_for_recoveries(checker):
    at = np.arange(1_000_000)
    kind = np.where(at // 6 % 10 == 0, Message.RECOVERY_READ, Message.ADD)
    columns = {"entry": at // 6, "way": at % 2, "bookie": at // 2 % 3 + 1, "kind": kind}
    times = {"asked_ns": at * 1_000 - 1, "received_ns": at * 1_000, "forwarded_ns": at * 1_000}
    frames = table(FRAMES, answered("writer", "b1", add(0))[1], **columns, **times)
    assert len(pickle.dumps(checked_within_a_second(frames, (checker,)))) < 300_000


def adds(entry):
    ok = {"kind": np.full(len(entry), Kind.ADD), "outcome": np.full(len(entry), Outcome.OK)}
    return table(OPERATIONS, BLANK, entry=entry, seq=entry + 1, completed_ns=entry * 100 + 60, **ok)


def answers(entry, bookie):
    """The third bookie's come after the writer got ok, from a different bookie each time."""
    place = (bookie + entry) % 3
    at_ns = entry * 100 + 50 + place * 5 + np.where(place == 2, 9, 0)
    times = {"received_ns": at_ns, "forwarded_ns": at_ns}
    return table(FRAMES, took(0, 1, 1)[1], entry=entry, bookie=bookie, **times)


@pytest.mark.parametrize("number", [1_000, 300_000])
def test_of_many_adds_in_time_hardly_anything_is_left(number):
    """In batches of 75,000 adds."""
    run, only = run_facts(wire=True), (Lac(),)
    parts = [np.arange(at, min(at + 75_000, number)) for at in range(0, number, 75_000)]
    batches = [
        Batch(
            {"operations": adds(part), "frames": answers(np.repeat(part, 3), np.tile([1, 2, 3], len(part)))}
        )
        for part in parts
    ]
    batches.append(chunk([created()]))
    known = combined_facts([facts_of(batch, checkers=only) for batch in batches], checkers=only)
    found = join_all((check_all(batch, run, known, checkers=only) for batch in batches), checkers=only)
    assert len(pickle.dumps(found)) < 20_000
    assert conclude_all(found, run, known, checkers=only).judgements["lac"].seen["acked_in_time"] == number


def test_a_denied_range_of_a_long_ledger_is_found_in_one_piece():
    acks = [answered("writer", "b1", add(entry), at=10) for entry in range(3000)]
    denials = [answered("reader", "b1", plain_read(entry), ENOENTRY, at=20) for entry in range(500, 2500)]
    history, run = [created(), *acks, *denials], run_facts(wire=True)
    whole = judge([chunk(history)], run, checkers=(Answers(),)).judgements["answers"]
    assert [(f.first_entry, f.last_entry) for f in whole.findings] == [(500, 2499)]
