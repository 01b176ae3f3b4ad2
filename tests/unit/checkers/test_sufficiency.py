"""Whether a run can prove anything at all."""

import pytest

from evidence.codes import NEVER, Holding
from evidence.findings import Verdict
from tests.histories.story import acked, answered, created, found, good_ending, judged, kept, opened, unsure


def fault(**changed):
    times = {"planned_ns": 1, "injected_ns": 2, "confirmed_ns": 3, "healed_ns": 4}
    return {"fault": 1, "kind": "kill", "target": "b1", "params": "{}", "proof": "{}", **times, **changed}


def silent(entry):
    return [answered(entry, bookie, Holding.UNKNOWN) for bookie in (1, 2, 3)]


def evidence(*parts, **run):
    return judged(*parts, **run).judgements["evidence"]


def test_enough():
    assert evidence(acked(0), good_ending(0), faults=(fault(),)).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ([unsure(0), good_ending(0)], "no add was acknowledged"),
        ([acked(0), opened(0), kept(0)], "no census was taken that a bookie answered"),
        ([acked(0), opened(0), kept(0), silent(0)], "no census was taken that a bookie answered"),
        ([acked(0), found(0)], "no ledger was opened and read at the end"),
    ],
)
def test_too_little(history, said):
    judgement = evidence(*history, created())
    assert judgement.verdict is Verdict.UNKNOWN
    assert said in judgement.notes


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"complete": False}, "not closed in order"),
        ({"damage": ("faults: line 3",)}, "faults: line 3"),
        ({"faults": (fault(confirmed_ns=NEVER),)}, "fault 1 (kill b1) was injected and never confirmed"),
        ({"faults": (fault(healed_ns=NEVER),)}, "fault 1 (kill b1) was never healed"),
        ({"faults": (fault(kind="unplanned", target="proxy"),)}, "the proxy died"),
        ({"faults": (fault(kind="unplanned", target="observer"),)}, "the observer died"),
    ],
)
def test_evidence_that_cannot_be_trusted(run, said):
    judgement = evidence(acked(0), good_ending(0), **run)
    assert judgement.verdict is Verdict.UNKNOWN
    assert any(said in note for note in judgement.notes)


def test_a_fault_that_was_only_planned_did_nothing():
    never = fault(injected_ns=NEVER, confirmed_ns=NEVER, healed_ns=NEVER)
    assert evidence(acked(0), good_ending(0), faults=(never,)).verdict is Verdict.VALID


def test_the_unplanned_death_of_a_bookie_is_said_and_does_not_blind():
    judgement = evidence(acked(0), good_ending(0), faults=(fault(kind="unplanned", target="b2"),))
    assert judgement.verdict is Verdict.VALID
    assert judgement.notes == ("1 server died without a fault of ours: b2",)


@pytest.mark.parametrize(
    ("damage", "touched"),
    [
        ("operations: writer's history is torn", {"order", "durability", "closing", "lac", "content"}),
        ("ledgers: transaction 0x7 cannot be read", {"metadata", "durability", "closing", "lac"}),
        ("faults: line 3 says nothing", set()),
        (
            "histories: the observer's are gone",
            {"order", "durability", "closing", "lac", "content", "metadata"},
        ),
    ],
)
def test_damage_leaves_unknown_what_rests_on_it(damage, touched):
    judgements = judged(acked(0), good_ending(0), damage=(damage,)).judgements
    unknown = {name for name, judgement in judgements.items() if judgement.verdict is Verdict.UNKNOWN}
    assert unknown == touched | {"evidence"}
