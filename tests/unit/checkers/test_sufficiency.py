"""Whether a run can prove anything at all."""

import json
import re

import pytest

from evidence.codes import NEVER, Holding
from evidence.findings import Verdict
from tests.histories.boots import fault
from tests.histories.story import (
    acked,
    answered,
    created,
    deleted,
    found,
    good_ending,
    judged,
    judging,
    kept,
    opened,
    unsure,
    vanished,
)


def silent(entry, **columns):
    return [answered(entry, bookie, Holding.UNKNOWN, **columns) for bookie in (1, 2, 3)]


LATER = {"fencing", "availability"}
EARLIER = {"evidence", "order", "durability", "closing", "lac", "content", "metadata", *LATER}
evidence = judging("evidence")


def test_enough():
    deaths = [fault(number, "unplanned", name) for number, name in ((2, "b3"), (3, "b2"))]
    judgement = evidence(acked(0), good_ending(0), faults=(fault(), *deaths))
    assert judgement.verdict is Verdict.VALID
    assert judgement.notes == ("2 servers died without a fault of the run: b2, b3",)
    assert judgement.seen == {
        "operations": 3,
        "acked": 1,
        "final_opens": 1,
        "final_entries": 1,
        "census_answers": 3,
        "census_passes": 1,
        "faults": 1,
        "unplanned": 2,
        "idle_faults": 0,
    }


@pytest.mark.parametrize(
    ("history", "note"),
    [
        ([unsure(0), good_ending(0)], "no add was acknowledged"),
        ([acked(0), opened(0), kept(0)], "no census was taken that a bookie answered"),
        ([acked(0), opened(0), kept(0), silent(0)], "no census was taken that a bookie answered"),
        ([acked(0), found(0)], "no ledger was opened and read at the end"),
    ],
)
def test_too_little(history, note):
    judgement = evidence(*history, created())
    assert judgement.verdict is Verdict.UNKNOWN
    assert note in judgement.notes


@pytest.mark.parametrize(("answered_ns", "verdict"), [(9, Verdict.UNKNOWN), (10, Verdict.VALID)])
def test_a_census_between_the_steps_is_none_of_the_end(answered_ns, verdict):
    early = answered(0, 1, Holding.PRESENT, number=1, answered_ns=answered_ns)
    late = [answered(0, bookie, Holding.UNKNOWN, asked_ns=20, answered_ns=21) for bookie in (1, 2, 3)]
    end = opened(0, invoked_ns=10, completed_ns=11), kept(0, invoked_ns=12, completed_ns=13)
    judgement = evidence(acked(0), created(), early, *end, late)
    assert judgement.verdict is verdict
    note = "no bookie answered a census after the first ledger was opened at the end"
    assert (note in judgement.notes) is (verdict is Verdict.UNKNOWN)


def of_ledger(ledger):
    return good_ending(0, ledger=ledger)


@pytest.mark.parametrize("second", [[], silent(0, ledger=2), found(0, ledger=2, number=1)])
def test_each_ledger_that_was_read_at_the_end_needs_a_census_after_it(second):
    times = {"invoked_ns": 3, "completed_ns": 4}
    own = [created(ledger=2), opened(0, ledger=2, **times), kept(0, ledger=2, **times)]
    judgement = evidence(acked(0), of_ledger(1), own, second)
    assert judgement.verdict is Verdict.UNKNOWN
    note = "ledger 2: no bookie answered a census after it was opened at the end"
    assert judgement.notes == (note,)
    late = answered(0, 3, Holding.ABSENT, ledger=2, asked_ns=4, answered_ns=5)
    assert evidence(acked(0), of_ledger(1), own, second, late).verdict is Verdict.VALID
    for gone in (deleted(ledger=2), vanished(1, ledger=2)):
        assert evidence(acked(0), of_ledger(1), own, second, gone).verdict is Verdict.VALID


def test_a_ledger_without_an_entry_needs_no_census():
    empty = [created(ledger=2), opened(-1, ledger=2, invoked_ns=3, completed_ns=4)]
    assert evidence(acked(0), of_ledger(1), empty).verdict is Verdict.VALID


def test_questions_that_were_not_asked_are_a_note():
    judgement = evidence(acked(0), good_ending(0), not_asked=700)
    assert judgement.verdict is Verdict.VALID
    assert judgement.notes == (
        "700 questions of a census not asked, of bookies that had answered none of the many before",
    )


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ({"complete": False}, "not closed in order"),
        ({"left_out": "waited 90 s for condition 'quiet'"}, "left out: waited 90 s"),
        ({"damage": ("faults: line 3",)}, "faults: line 3"),
        ({"faults": (fault(confirmed_ns=NEVER),)}, "fault 1 (kill b1) was injected and never confirmed"),
        ({"faults": (fault(healed_ns=NEVER),)}, "fault 1 (kill b1) was never healed"),
        ({"faults": (fault(kind="unplanned", target="proxy"),)}, "the proxy died"),
        ({"faults": (fault(kind="unplanned", target="observer"),)}, "the observer died"),
    ],
)
def test_evidence_that_cannot_be_trusted(run, reason):
    judgement = evidence(acked(0), good_ending(0), **run)
    assert judgement.verdict is Verdict.UNKNOWN
    assert any(reason in note for note in judgement.notes)


def test_a_fault_that_was_only_planned_did_nothing():
    never = fault(injected_ns=NEVER, confirmed_ns=NEVER, healed_ns=NEVER)
    assert evidence(acked(0), good_ending(0), faults=(never,)).verdict is Verdict.VALID


def test_the_unplanned_death_of_a_bookie_is_said_and_does_not_blind():
    judgement = evidence(acked(0), good_ending(0), faults=(fault(kind="unplanned", target="b2"),))
    assert judgement.verdict is Verdict.VALID
    assert judgement.notes == ("1 server died without a fault of the run: b2",)


@pytest.mark.parametrize(
    ("damage", "touched"),
    [
        (
            "operations: writer's history is torn",
            {"order", "durability", "closing", "lac", "content", *LATER},
        ),
        (
            "ledgers: transaction 0x7 cannot be read",
            {"metadata", "durability", "closing", "lac", "content", *LATER},
        ),
        ("faults: line 3 says nothing", {"availability"}),
        (
            "histories: the observer's are gone",
            {"order", "durability", "closing", "lac", "content", "metadata", *LATER},
        ),
    ],
)
def test_damage_leaves_unknown_what_rests_on_it(damage, touched):
    assert unknown(damage) & EARLIER == (touched | {"evidence"}) & EARLIER


def test_damage_to_a_wire_log_that_was_kept_leaves_the_evidence_unknown():
    assert unknown("frames: 3 records are missing") & EARLIER == {"evidence", "fencing"}
    assert unknown("holdings: b1-1: it is missing") & EARLIER == {"evidence"}
    assert "evidence" not in unknown("holdings: b1-1: it is missing", wire=False)


def unknown(damage, *, wire=True):
    """The properties that are unknown when this is damaged."""
    judgements = judged(acked(0), good_ending(0), damage=(damage,), wire=wire).judgements
    return {name for name, judgement in judgements.items() if judgement.verdict is Verdict.UNKNOWN}


def message_fault(**changed):
    healed = {"rule": "late", "number": 2, "link": "writer-b1", "matched": 3, "acted": 0, "released": 0}
    columns = {"kind": "hold", "target": "writer-b1", "proof": json.dumps({"healed": healed})}
    return fault(3, **{**columns, "confirmed_ns": NEVER, **changed})


def test_a_message_fault_that_never_acted_proves_nothing_unless_it_may_idle():
    judgement = evidence(acked(0), good_ending(0), faults=(message_fault(),))
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.notes == (
        "fault 3 (hold writer-b1) was injected and never confirmed: "
        "its rule matched 3 messages and acted on none",
    )
    may = message_fault(params='{"may_idle": true}')
    assert evidence(acked(0), good_ending(0), faults=(may,)).verdict is Verdict.VALID
    in_force = message_fault(params='{"may_idle": true}', healed_ns=NEVER)
    assert evidence(acked(0), good_ending(0), faults=(in_force,)).verdict is Verdict.UNKNOWN
    acted = message_fault(confirmed_ns=4)
    assert evidence(acked(0), good_ending(0), faults=(acted,)).verdict is Verdict.VALID


def link_fault(kind, **met):
    healed = {"links": ["writer-b1"], **met}
    return fault(3, kind=kind, target="writer-b1", proof=json.dumps({"healed": healed}))


@pytest.mark.parametrize(
    ("one", "names"),
    [
        (link_fault("hold", acted=0), ["fault 3 (hold writer-b1) held no message"]),
        (link_fault("hold", acted=1), []),
        (link_fault("slow", passed_bytes=0), ["fault 3 (slow writer-b1) met no traffic"]),
        (link_fault("fill", noticed=0), ["fault 3 (fill writer-b1) is not seen to have refused a write"]),
        (link_fault("fill", noticed=1), []),
        (link_fault("cut", closed=1), []),
        (link_fault("slow", passed_bytes=9), []),
        (link_fault("cut"), []),
    ],
)
def test_a_fault_of_a_link_that_is_not_seen_to_have_met_anything_is_named(one, names):
    judgement = evidence(acked(0), good_ending(0), faults=(one, fault(4, kind="kill")))
    assert judgement.verdict is Verdict.VALID and judgement.seen["idle_faults"] == len(names)
    assert [re.split("[,:]", note)[0] for note in judgement.notes] == names


def test_a_cut_that_closed_no_connection_is_a_note_and_does_not_count():
    judgement = evidence(acked(0), good_ending(0), faults=(link_fault("cut", closed=0),))
    assert judgement.verdict is Verdict.VALID and judgement.seen["idle_faults"] == 0
    assert [note.split(";")[0] for note in judgement.notes] == [
        "fault 3 (cut writer-b1) closed no connection"
    ]


def test_a_run_whose_faults_all_met_nothing_proves_nothing_about_them():
    idle, other = link_fault("hold", acted=0), fault(4, kind="slow", proof='{"healed": {"passed_bytes": 0}}')
    judgement = evidence(acked(0), good_ending(0), faults=(idle, other))
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.notes[0] == "no fault of the run is seen to have met anything"
    killed = link_fault("read_only", noticed=0, killed=True)
    assert evidence(acked(0), good_ending(0), faults=(idle, killed)).verdict is Verdict.VALID
    never = fault(5, kind="kill", injected_ns=NEVER, confirmed_ns=NEVER, healed_ns=NEVER)
    assert evidence(acked(0), good_ending(0), faults=(idle, never)).verdict is Verdict.UNKNOWN
    assert evidence(acked(0), good_ending(0), faults=(idle, fault(4, kind="kill"))).verdict is Verdict.VALID
