"""An answer of a bookie that had been replaced in the ensemble does not make an add acknowledged."""

import pytest

from tests.histories.boots import took
from tests.histories.story import acked, created, judged, kinds, metadata, recovering

MOVED = metadata(1, 1, fragments={0: ("b1", "b2", "b3"), 1: ("b1", "b4", "b3")}, earliest_ns=30, latest_ns=40)


@pytest.mark.parametrize(
    ("also", "at_ns", "found"),
    [
        ([], 41, [("acked_by_replaced", 1, 1)]),
        ([], 40, []),  # the former version may have been in force
        ([took(1, 4, 38)], 41, []),  # the bookie that came in has answered too
        ([took(1, 4, 40)], 41, [("acked_by_replaced", 1, 1)]),  # passed on at 42
        ([recovering(2, earliest_ns=41)], 41, []),  # a recovery may have moved the entry
        ([recovering(2, earliest_ns=42)], 41, [("acked_by_replaced", 1, 1)]),
        ([metadata(2, 1, earliest_ns=35)], 41, []),  # the bookie may have been back
        ([created(zxid=30, earliest_ns=20, latest_ns=25)], 41, []),  # another ledger with this id
    ],
)
def test_an_answer_of_a_bookie_that_was_replaced_does_not_count(also, at_ns, found):
    history = [created(), MOVED, *(took(entry, bookie, 10) for entry in (0, 1) for bookie in (1, 2))]
    acked_adds = [acked(entry, completed_ns=at_ns) for entry in (0, 1)]
    assert kinds(judged(*history, also, *acked_adds, wire=True), "lac") == found


@pytest.mark.parametrize(("invoked_ns", "kind"), [(40, "acked_by_replaced"), (41, "acked_by_former")])
def test_an_add_that_began_long_after_the_change_was_not_in_progress_then(invoked_ns, kind):
    history = [created(), MOVED, took(1, 1, 10), took(1, 2, 10)]
    add = acked(1, lac=-1, invoked_ns=invoked_ns + 10**10, completed_ns=99 + 10**10)
    judgement = judged(*history, add, wire=True).judgements["lac"]
    assert [(one.kind, one.first_entry) for one in judgement.findings] == [(kind, 1)]
    assert judgement.counts[kind] == 1
    assert "by answers of bookies that had been replaced" in judgement.findings[0].text


def test_the_proof_names_the_bookies_of_the_versions_then_in_force():
    history = [created(), MOVED, took(0, 1, 9), took(0, 2, 9), acked(0, completed_ns=41)]
    history += [took(1, 1, 10), took(1, 2, 20), acked(1, completed_ns=41, seq=7)]
    [finding] = judged(*history, wire=True).judgements["lac"].findings
    assert finding.text == "ledger 1: writer got ok for entry 1 by answers of bookies that had been replaced"
    assert finding.proof == (
        "metadata: the ack quorum is 2",
        "metadata version 1, then in force: entry 1 belongs to b1, b3, b4",
        "writer got ok for entry 1 at 0.000000041 s (operation 7)",
        "b1's acknowledgement was passed on to it at 0.000000012 s",
        "b2's acknowledgement was passed on to it at 0.000000022 s",
    )
