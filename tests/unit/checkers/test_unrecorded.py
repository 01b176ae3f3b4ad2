"""A LAC on the wire that the histories contradict is damage: outcomes are missing."""

import pytest

from checkers.judging.judge import CHECKERS, judge
from checkers.lac.checker import Lac
from evidence.codes import FrameFlag, Message
from evidence.findings import Verdict
from tests.histories.boots import server, took
from tests.histories.exchanges import frame
from tests.histories.story import (
    READER,
    acked,
    chunk,
    created,
    facts,
    good_ending,
    judged,
    lac_read,
    run_facts,
    unsure,
)


def sent(lac, **columns):
    """An add of the writer that carries its LAC."""
    return frame(Message.ADD, **{"entry": lac + 1, "lac": lac, "seq": 70, **columns})


def damage(*parts, **run):
    return judged(*parts, **{"wire": True, **run}).damage


KILLED = ({**server(1, 1, "exit", 9, 9, code=None, signal=9), "server": "writer"},)
STOPPED = ({**server(1, 1, "exit", 9, 9, code=0, signal=None), "server": "writer"},)


def test_a_lac_over_adds_that_no_history_has_as_ok_is_damage_to_the_operations():
    """All bookies acknowledged, the LAC moved, the outcomes are gone, and so are the entries."""
    entries = range(10)
    history = [
        created(),
        [unsure(entry) for entry in entries],
        [took(e, b, 10) for e in entries for b in (1, 2)],
    ]
    assert not damage(*history)
    other = [acked(0, ledger=2), [took(0, bookie, 0, ledger=2) for bookie in (1, 2)], good_ending(0, 2)]
    verdict = judged(*history, sent(9), good_ending(-1), other, wire=True)
    assert verdict.damage == (
        "operations: writer sent LAC 9 of ledger 1 (frame 70), and no history has an ok add of entries 0..9 "
        "(10 in all)",
    )
    judgements = verdict.judgements
    assert verdict.verdict is Verdict.UNKNOWN
    assert all(
        judgements[name].verdict is Verdict.UNKNOWN for name in ("evidence", "durability", "closing", "order")
    )


def test_where_that_cannot_be_found_out_the_run_is_not_valid():
    class Blind(Lac):
        def damage(self, found, facts, run):
            raise RuntimeError("not today")

    checkers = tuple(Blind() if checker.name == "lac" else checker for checker in CHECKERS)
    history, run = [chunk(facts(acked(0), good_ending(0)))], run_facts(wire=True)
    verdict = judge(history, run, checkers=checkers)
    assert judge(history, run).verdict is Verdict.VALID
    assert verdict.verdict is verdict.judgements["lac"].verdict is Verdict.UNKNOWN
    assert verdict.judgements["lac"].notes == ("the checker failed: damage raised RuntimeError: not today",)


def test_a_lac_over_adds_that_are_ok_is_none():
    assert not damage(acked(0), acked(1), unsure(2), sent(1))
    assert damage(acked(0), unsure(1), sent(1))


def test_a_gap_below_is_damage_too():
    assert damage(unsure(0), acked(1), sent(1))


def test_a_killed_writer_may_lack_the_outcome_of_the_last_add_only():
    assert not damage(acked(0), unsure(1), sent(1), servers=KILLED)
    assert damage(acked(0), unsure(1), sent(1), servers=STOPPED)
    assert damage(unsure(0), unsure(1), sent(1), servers=KILLED)


@pytest.mark.parametrize(
    "columns",
    [
        {"kind": Message.RECOVERY_ADD},
        {"source": 2},
        {"flags": FrameFlag.FORGED},
        {"flags": FrameFlag.UNPARSED},
        {"flags": FrameFlag.GARBLED},
        {"lac": -1},
    ],
)
def test_what_is_no_lac_of_a_writer_contradicts_nothing(columns):
    row = {**sent(1)[1], **columns}
    assert not damage(unsure(0), unsure(1), ("frames", row))


def test_an_explicit_lac_counts_as_well():
    assert damage(unsure(0), ("frames", {**sent(0)[1], "kind": Message.WRITE_LAC, "entry": -1}))


@pytest.mark.parametrize(
    "run", [{"wire": False}, {"damage": ("frames: torn",)}, {"damage": ("operations: torn",)}]
)
def test_where_the_evidence_is_damaged_already_nothing_is_added(run):
    assert damage(unsure(0), sent(0), **run) == run.get("damage", ())


def test_a_lac_that_only_a_frame_carried_promises_nothing():
    verdict = judged(created(), unsure(0), sent(0), good_ending(-1), lac_read(-1, client=READER), wire=True)
    assert not verdict.judgements["durability"].findings
    assert verdict.verdict is Verdict.UNKNOWN
