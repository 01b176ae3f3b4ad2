"""A lawful boot with a step taken away or moved is an anomaly exactly where that is wrong."""

from dataclasses import replace

import pytest

from checkers.judging.judge import judge
from checkers.servers.checker import Servers
from evidence.codes import Message, Status
from tests.histories.boots import said
from tests.histories.mutations.boots import BREAKS, HISTORY, MOVES, STEPS, run_of
from tests.histories.story import READER, chunk


def judged(chunks, run):
    return judge(chunks, run, checkers=(Servers(),)).judgements["servers"]


def kinds(run, history=HISTORY):
    return {finding.kind for finding in judged([chunk(history)], run).findings}


def test_the_lawful_boot_is_valid():
    assert judged([chunk(HISTORY)], run_of()).verdict.value == "valid"


@pytest.mark.parametrize("gone", list(BREAKS))
def test_a_step_that_is_missing_is_an_anomaly_where_it_must_be_there(gone):
    assert kinds(run_of(tuple(one for one in STEPS if one[0] not in gone))) == BREAKS[gone]


@pytest.mark.parametrize("move", list(MOVES))
def test_a_step_at_another_time_is_an_anomaly_where_its_place_is_fixed(move):
    name, at = move
    assert kinds(run_of([(one, at if one == name else when) for one, when in STEPS])) == MOVES[move]


def test_a_mutation_whose_precondition_fails_yields_nothing():
    bare = run_of([one for one in STEPS if one[0] not in ("preboot_start", "mark_limbo")])
    assert not kinds(replace(bare, guarded=frozenset()))
    assert not kinds(run_of([one for one in STEPS if one[0] != "mark_limbo"]), HISTORY[1:])
    assert kinds(run_of(ends="stopped")) == {"clean_seen_unclean"}
    early = [*HISTORY[:3], said(Message.READ, 1, 127, entry=3, status=Status.ENOENTRY, boot=2, source=READER)]
    assert kinds(run_of(), early) == {"cleared_unrecovered"}
