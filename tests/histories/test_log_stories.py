"""Every anomaly of logs as a small literal history, with the class to be reported, and lawful ones beside."""

from __future__ import annotations

import pytest

from checkers.log.checker import judge_log
from checkers.log.models import CLASSES
from evidence.findings import Verdict
from tests.histories.log_story import Txn, append, failed, ok, read, read_unknown, story, unknown

BY_NAME = {each.name for each in CLASSES}
SEEN = ok(read("z", 1)), ok(append("z", 1))
"""Something that was read, so that there is enough to judge by."""

ANOMALIES: dict[str, tuple[Txn, ...]] = {
    "G0": (
        ok(append("x", 1), append("y", 1)),
        ok(append("x", 2), append("y", 2)),
        ok(read("x", 1, 2), read("y", 2, 1)),
    ),
    "G1a": (failed(append("x", 1)), ok(read("x", 1))),
    "G1b": (ok(append("x", 1), append("x", 2)), ok(read("x", 1)), ok(read("x", 1, 2))),
    "G1c": (ok(append("x", 1), read("y", 1)), ok(append("y", 1), read("x", 1))),
    "G-single": (
        ok(append("x", 1), append("y", 1)),
        ok(append("x", 2), append("y", 2)),
        ok(read("x", 1, 2), read("y", 1)),
        ok(read("y", 1, 2)),
    ),
    "G-nonadjacent": (
        ok(append("a", 1), append("b", 1)),
        ok(read("b", 1), read("c")),
        ok(append("c", 1), append("d", 1)),
        ok(read("d", 1), read("a")),
    ),
    "G2-item": (ok(read("x"), append("y", 1)), ok(read("y"), append("x", 1)), ok(read("x", 1), read("y", 1))),
    "G0-process": (
        ok(append("x", 1)).by(1).at(0, 1),
        ok(append("x", 2)).by(1).at(2, 3),
        ok(read("x", 2, 1)).by(2).at(0, 9),
    ),
    "G1c-process": (ok(read("x", 1)).by(1).at(0, 1), ok(append("x", 1)).by(1).at(2, 3)),
    "G-single-process": (ok(append("x", 1)).by(1).at(0, 1), ok(read("x")).by(1).at(2, 3)),
    "G-nonadjacent-process": (
        ok(append("a", 1)).by(1).at(0, 10),
        ok(read("c")).by(1).at(11, 20),
        ok(append("c", 1), append("d", 1)),
        ok(read("d", 1), read("a")),
    ),
    "G2-item-process": (
        ok(append("y", 1)).by(1).at(0, 10),
        ok(read("x")).by(1).at(11, 20),
        ok(append("x", 1), read("y")),
        ok(read("x", 1), read("y", 1)),
    ),
    "G0-realtime": (
        ok(append("x", 1)).by(1).at(0, 1),
        ok(append("x", 2)).by(2).at(2, 3),
        ok(read("x", 2, 1)).by(3).at(0, 9),
    ),
    "G1c-realtime": (ok(read("x", 1)).by(1).at(0, 1), ok(append("x", 1)).by(2).at(2, 3)),
    "G-single-realtime": (ok(append("x", 1)).by(1).at(0, 1), ok(read("x")).by(2).at(2, 3), *SEEN),
    "G-nonadjacent-realtime": (
        ok(append("a", 1)).at(0, 10),
        ok(read("c")).at(11, 20),
        ok(append("c", 1), append("d", 1)),
        ok(read("d", 1), read("a")),
    ),
    "G2-item-realtime": (
        ok(append("y", 1)).at(0, 10),
        ok(read("x")).at(11, 20),
        ok(append("x", 1), read("y")),
        ok(read("x", 1), read("y", 1)),
    ),
    "incompatible-order": (ok(append("x", 1)), ok(append("x", 2)), ok(read("x", 1, 2)), ok(read("x", 2))),
    "internal": (ok(append("x", 1)), ok(read("x", 1), append("x", 2), read("x", 1)), ok(read("x", 1, 2))),
    "future-read": (ok(read("x", 1), append("x", 1)),),
    "dirty-update": (failed(append("x", 1)), ok(append("x", 2)), ok(read("x", 1, 2))),
    "lost-update": (ok(read("x"), append("x", 1)), ok(read("x"), append("x", 2)), *SEEN),
    "duplicate-elements": (ok(append("x", 1)), ok(read("x", 1, 1))),
    "garbage-read": (ok(append("x", 1)), ok(read("x", 1, 9))),
}

LAWFUL: dict[str, tuple[Txn, ...]] = {
    "one after the other": (
        ok(append("x", 1)).by(1).at(0, 1),
        ok(read("x", 1), append("x", 2)).by(2).at(2, 3),
        ok(read("x", 1, 2), append("x", 3), read("x", 1, 2, 3)).by(1).at(4, 5),
    ),
    "unknown and there": (unknown(append("x", 1)).at(0, 1), ok(read("x", 1)).at(2, 3)),
    "unknown and not there": (unknown(append("x", 1)).at(0, 1), ok(read("x")).at(2, 3), *SEEN),
    "unknown and there later": (
        unknown(append("x", 1)).by(1).at(0, 1),
        ok(read("x")).by(2).at(2, 3),
        ok(read("x", 1)).by(2).at(4, 5),
    ),
    "what an unknown one read counts for nothing": (
        unknown(read("x", 7, 7), append("y", 1)),
        ok(read("y", 1)),
    ),
    "a read with an unknown value": (ok(append("x", 1)).at(0, 1), ok(read_unknown("x")).at(2, 3), *SEEN),
    "failed and not there": (failed(append("x", 1)).at(0, 1), ok(read("x")).at(2, 3), *SEEN),
    "overlapping": (ok(append("x", 1)).at(0, 5), ok(read("x")).at(4, 9), *SEEN),
    "touching is not before": (ok(append("x", 1)).at(0, 5), ok(read("x")).at(5, 9), *SEEN),
    "its own intermediate state": (ok(append("x", 1), read("x", 1), append("x", 2)), ok(read("x", 1, 2))),
    "reading, then appending at the end unread": (ok(append("x", 1)), ok(read("x", 1), append("x", 2))),
}


@pytest.mark.parametrize("kind", ANOMALIES)
def test_an_anomaly_is_told_by_its_name_and_no_other_cycle(kind: str) -> None:
    judgement = judge_log(story(*ANOMALIES[kind]))
    assert judgement.verdict is Verdict.ANOMALY
    assert judgement.counts[kind] == 1
    [found] = [finding for finding in judgement.findings if finding.kind == kind]
    assert found.proof
    assert kind not in BY_NAME or BY_NAME & judgement.counts.keys() == {kind}


@pytest.mark.parametrize("name", LAWFUL)
def test_a_lawful_history_is_valid(name: str) -> None:
    judgement = judge_log(story(*LAWFUL[name]))
    assert judgement.verdict is Verdict.VALID, judgement
    assert not judgement.counts


def test_a_walk_through_one_transaction_twice_is_no_cycle() -> None:
    """Its rw edges lie apart only because it goes round a G1c in between."""
    judgement = judge_log(
        story(
            ok(read("a"), append("x", 1), append("c", 1), read("d", 1)),
            ok(append("a", 1), append("b", 1)),
            ok(read("b", 1), read("x")),
            ok(read("c", 1), append("d", 1)),
        )
    )
    assert judgement.counts == {"G1c": 1, "G2-item": 1}


def test_nothing_read_proves_nothing() -> None:
    assert judge_log(story(ok(append("x", 1)), ok(read("x")))).verdict is Verdict.UNKNOWN
    assert judge_log(story()).verdict is Verdict.UNKNOWN


def test_an_element_appended_twice_leaves_it_open() -> None:
    judgement = judge_log(story(ok(append("x", 1)), unknown(append("x", 1)), ok(read("x", 1))))
    assert judgement.verdict is Verdict.UNKNOWN
    assert "2 appends repeated an element" in judgement.notes[0]


def test_the_proof_says_who_and_why() -> None:
    [finding] = judge_log(story(*ANOMALIES["G-single-realtime"])).findings
    assert finding.text == "G-single-realtime: the shortest cycle among 2 transactions has 2"
    assert finding.proof == (
        "T1 is process 2, operation 2: read x []",
        "T2 is process 1, operation 1: append x 1",
        "T1 < T2: T1 read x without 1, which T2 appended, which no read shows (rw)",
        "T2 < T1: T2 completed at 1, before T1 was invoked at 2 (real time)",
    )
