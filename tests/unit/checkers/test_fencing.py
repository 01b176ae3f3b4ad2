"""No client adds to a ledger that is closed, nor to a bookie that was fenced."""

import pytest

from checkers.facts.keeping import forgotten_ns
from checkers.judging.judge import judge
from evidence.codes import NEVER, FrameFlag, Message, Outcome, Status
from evidence.findings import Verdict
from protocol.faults import Loses
from tests.histories.boots import UNPROVEN, boot, fault, fenced, said, took
from tests.histories.story import (
    acked,
    chunk,
    closed,
    created,
    deferred,
    deleted,
    facts,
    good_ending,
    judged,
    judging,
    kinds,
    metadata,
    opened,
    recovered,
    refused,
    run_facts,
    unsure,
)

fencing = judging("fencing", wire=True)


def late(entry, at_ns, **columns):
    """An add that was acknowledged, invoked at a time."""
    return acked(entry, invoked_ns=at_ns, completed_ns=at_ns + 5, **columns)


CLOSED = [created(), closed(-1, 2, latest_ns=100)]


def test_an_add_invoked_after_the_close_was_seen_is_not_acknowledged_beyond_its_end():
    verdict = judged(late(0, 101), CLOSED)
    assert kinds(verdict, "fencing") == [("added_after_close", 0, 0)]
    (finding,) = verdict.judgements["fencing"].findings
    assert finding.text == "ledger 1: entry 0 acknowledged after the close"
    assert finding.proof == (
        "metadata version 2: CLOSED at -1, in force by 0.000000100 s",
        "writer invoked the add of entry 0 at 0.000000101 s and got ok at 0.000000106 s (operation 1)",
    )
    assert "fencing: 1 add acknowledged after the close" in verdict.headline
    assert verdict.verdict is Verdict.ANOMALY


@pytest.mark.parametrize(
    "add",
    [
        late(0, 100),  # perhaps at the same moment
        late(0, 99),  # it was under way when the ledger was closed
        unsure(0, invoked_ns=101),
        refused(0, invoked_ns=101),
    ],
)
def test_what_may_have_been_under_way_or_was_not_acknowledged_is_no_anomaly(add):
    assert not fencing(add, CLOSED).findings


def test_a_close_that_nobody_saw_precedes_nothing():
    assert not fencing(late(0, 101), created(), closed(-1, 2, latest_ns=NEVER)).findings


def test_an_add_within_the_end_is_no_matter_of_fencing():
    assert not fencing(late(3, 101), created(), closed(3, 2, latest_ns=100)).findings


@pytest.mark.parametrize("result", [recovered(-1, completed_ns=100), opened(-1, completed_ns=100)])
def test_a_recovery_that_returned_saw_the_close_too(result):
    judgement = fencing(late(0, 101), late(1, 102), result, created(), closed(-1, 2, latest_ns=NEVER))
    (finding,) = judgement.findings
    assert (finding.first_entry, finding.last_entry, finding.count) == (0, 1, 2)
    assert "had recovered it by 0.000000100 s and received its end -1" in finding.proof[0]


def test_a_ledger_that_was_seen_closed_by_a_client_stands_beside_one_whose_metadata_was_seen():
    other = [late(0, 101, ledger=2), created(ledger=2), closed(-1, 2, ledger=2, latest_ns=100)]
    judgement = fencing(late(0, 101), created(), recovered(-1, completed_ns=100), other)
    assert [(one.kind, one.ledger) for one in judgement.findings] == [
        ("added_after_close", 1),
        ("added_after_close", 2),
    ]


@pytest.mark.parametrize(
    "result",
    [
        recovered(-1, completed_ns=101),
        recovered(-1, completed_ns=100, outcome=Outcome.UNKNOWN),
        recovered(-1, completed_ns=100, flags=0),  # an open without recovery closes nothing
    ],
)
def test_an_open_that_proves_no_close_before_the_add(result):
    assert not fencing(late(0, 101), result, created()).findings


def test_a_deferred_add_is_fenced_like_any_other():
    history = deferred(0, invoked_ns=101), CLOSED
    assert [finding.kind for finding in fencing(*history).findings] == ["added_after_close"]


def test_a_later_close_does_not_excuse_what_an_earlier_one_forbade():
    judgement = fencing(late(2, 101), late(9, 101), CLOSED, closed(7, 3, latest_ns=200))
    assert [finding.first_entry for finding in judgement.findings] == [2, 9]
    assert fencing(late(2, 101), CLOSED, closed(-1, 3, latest_ns=200)).findings


def test_the_proof_has_only_closes_that_came_before_and_end_below():
    others = closed(7, 3, latest_ns=90), recovered(-1, completed_ns=101)
    (finding,) = fencing(late(2, 101), CLOSED, others).findings
    assert finding.proof[0] == "metadata version 2: CLOSED at -1, in force by 0.000000100 s"
    assert finding.proof[1].startswith("writer invoked the add of entry 2 at")


def test_garbage_collection_of_the_ledger_excuses_no_add_in_the_same_boot():
    """BookKeeper remembers in memory what it refuses, since 4.16.7 and 4.17.2."""
    moved = closed(9, 2, fragments={0: ("b1", "b3", "b4")}, earliest_ns=21, latest_ns=21)
    for gone in (moved, metadata(2, 0, earliest_ns=21, latest_ns=21)):
        judgement = fencing(created(), fenced(2, 10), gone, took(10, 2, 30))
        assert [finding.kind for finding in judgement.findings] == ["accepted_when_fenced"]


@pytest.mark.parametrize("lived", [boot(2), boot(2, killed=130)])
def test_the_proof_has_no_death_that_came_after_the_add(lived):
    wire = [fenced(2, 20, status=Status.ENOENTRY), took(0, 2, 121)]
    (finding,) = fencing(late(0, 110), CLOSED, wire, servers=tuple(lived)).findings
    assert finding.proof[2:] == (
        "b2 boot 1 answered ENOENTRY to the fencing read of the LAC by reader at 0.000000021 s (frame 202)",
        "b2 boot 1 acknowledged entry 0 at 0.000000122 s (frame 1212)",
    )


def test_the_proof_shows_that_a_restart_forgot_the_fence():
    """BP-46, scenario 1: b2 said that it was fenced, b3 never received the request."""
    boots = (*boot(1), *boot(2, killed=60), *boot(2, 2, began=70), *boot(3))
    wire = [
        fenced(1, 20, status=Status.ENOENTRY),
        fenced(2, 21, status=Status.ENOENTRY),
        said(Message.ADD, 1, 120, entry=0, status=Status.EFENCED),
        took(0, 2, 121, boot=2),
        took(0, 3, 122),
    ]
    (finding,) = fencing(late(0, 110), CLOSED, wire, servers=boots).findings
    assert finding.kind == "added_after_close"
    assert finding.proof[2:] == (
        "b2 boot 1 answered ENOENTRY to the fencing read of the LAC by reader at 0.000000022 s (frame 212)",
        "b2 boot 1 was killed at 0.000000060 s",
        "b2 boot 2 acknowledged entry 0 at 0.000000122 s (frame 1212)",
        "b3 answered no fencing read of this ledger",
        "b3 boot 1 acknowledged entry 0 at 0.000000123 s (frame 1223)",
    )


def test_a_boot_that_answered_ok_to_fencing_takes_no_add_that_was_asked_later():
    verdict = judged(created(), fenced(2, 20), took(5, 2, 22), took(6, 2, 30), took(9, 2, 31), wire=True)
    assert kinds(verdict, "fencing") == [("accepted_when_fenced", 5, 6), ("accepted_when_fenced", 9, 9)]
    first = verdict.judgements["fencing"].findings[0]
    assert first.text == "ledger 1: b2 boot 1 took entries 5..6 after it had been fenced"
    assert first.proof == (
        "b2 boot 1 answered EOK to the fencing read of the LAC by reader at 0.000000021 s (frame 202)",
        "b2 boot 1 answered EOK to the add of entry 5 by writer, asked at 0.000000022 s at the earliest and "
        "answered at 0.000000023 s (frame 222)",
    )
    assert "fencing: 3 adds accepted by fenced bookies" in verdict.headline


def test_a_fencing_read_of_an_entry_fences_as_well():
    judgement = fencing(created(), fenced(2, 20, entry=4), took(5, 2, 22))
    assert [finding.kind for finding in judgement.findings] == ["accepted_when_fenced"]
    assert "the fencing read of entry 4" in judgement.findings[0].proof[0]


@pytest.mark.parametrize(
    "add",
    [
        took(5, 2, 21),  # asked before the answer to fencing was there
        took(5, 2, 22, boot=2),  # another boot: that it forgot is a note, if its bookie must have kept it
        took(5, 3, 22),  # another bookie
        took(5, 2, 22, ledger=2),
        took(5, 2, 22, status=Status.EFENCED),
        said(Message.RECOVERY_ADD, 2, 22, entry=5),
        took(5, 2, 22, boot=0),
        took(5, 2, 22, asked_ns=NEVER),
        *(took(5, 2, 22, flags=flag) for flag in UNPROVEN),
    ],
)
def test_adds_that_a_fenced_bookie_may_take_or_that_are_not_proven(add):
    assert not fencing(created(), fenced(2, 20), add).findings


FORGOT = "ledger 1: b2 boot 2 forgot a fence that b2 boot 1 had confirmed, and took 2 adds"
BOOTS = (*boot(2, killed=60), *boot(2, 2, began=70))
TAKEN = [took(5, 2, 80, boot=2), took(6, 2, 90, boot=2)]


def forgot(*parts, servers=BOOTS, **run):
    judgement = fencing(created(), fenced(2, 20), TAKEN, *parts, servers=servers, **run)
    assert not judgement.findings
    assert judgement.seen["forgotten"] == 2 * (FORGOT in judgement.notes)
    return FORGOT in judgement.notes


@pytest.mark.parametrize("least", [Loses.MEMORY, Loses.UNSYNCED, Loses.STORED])
def test_a_fence_that_a_kill_or_a_clean_restart_forgot_is_noted(least):
    """A bookie journals its fences in every mode."""
    kill = fault(1, "kill", "b2", injected_ns=59, confirmed_ns=61, healed_ns=70)
    about = {"faults": (kill,), "least_loss": {"b2": least}}
    assert forgot(**about)
    assert forgot(servers=(*boot(2, stopped=60), *boot(2, 2, began=70)))
    # A fence is journaled, so no flush matters; what changes the disk after the add took nothing.
    assert forgot(faults=(kill, fault(2, "fill", "b2")), least_loss={"b2": least})
    wiped = fault(2, "wipe", "b2", planned_ns=900, injected_ns=901, confirmed_ns=902, healed_ns=903)
    assert forgot(faults=(kill, wiped), least_loss={"b2": least})
    # Another client fenced the second boot again, after it had taken the adds.
    assert forgot(fenced(2, 95, boot=2), **about)


def test_of_many_fenced_ledgers_only_those_that_a_boot_took_adds_of_are_looked_up(monkeypatch):
    asked = []

    def counting(ledger, *rest):
        asked.append(ledger)
        return forgotten_ns(ledger, *rest)

    monkeypatch.setattr("checkers.fencing.forgotten_ns", counting)
    others = [(created(ledger=ledger), fenced(2, 20, ledger=ledger)) for ledger in range(2, 30)]
    assert forgot(others)
    assert asked == [1]


@pytest.mark.parametrize(("least", "noted"), [("UNSYNCED", False), ("STORED", True)])
def test_a_loss_of_power_may_take_a_fence_that_was_not_synced(least, noted):
    cut = fault(1, "power_loss", "b2", injected_ns=59, confirmed_ns=61, healed_ns=70)
    assert forgot(faults=(cut,), least_loss={"b2": Loses[least]}) is noted
    later = {**cut, "planned_ns": 95, "injected_ns": 96, "confirmed_ns": 97, "healed_ns": 99}
    assert forgot(faults=(later,), least_loss={"b2": Loses[least]})


@pytest.mark.parametrize(
    "about",
    [
        {"servers": ()},
        {"servers": (*boot(2), *boot(2, 2, began=70))},
        {"least_loss": {}},
        {"faults": (fault(1, "wipe", "b2"),)},
        {"changed": frozenset({"b2"})},
        {"damage": ("faults: line 3",)},
    ],
)
def test_a_fence_that_a_fault_may_have_taken_is_not_noted(about):
    assert not forgot(**about)


@pytest.mark.parametrize(
    "gone",
    [
        deleted(invoked_ns=82),
        metadata(1, 0, earliest_ns=82),
        closed(4, 1, fragments={0: ("b1", "b3", "b4")}, earliest_ns=80),
        metadata(2, 1),  # version 1 was not seen
    ],
)
def test_the_fence_of_a_ledger_that_the_bookie_may_forget_is_not_noted(gone):
    judgement = fencing(created(), fenced(2, 20), TAKEN[1:], gone, servers=BOOTS)
    assert judgement.seen["forgotten"] == 0


@pytest.mark.parametrize(
    "fence",
    [
        fenced(2, 20, boot=0),
        *(fenced(2, 20, flags=FrameFlag.FENCING | flag) for flag in UNPROVEN),
        fenced(2, 20, flags=FrameFlag.RECOVERY),  # a recovery read that did not fence
        said(Message.LAC_READ, 2, 20),
        fenced(2, 20, status=Status.EUNKNOWNLEDGERSTATE),
        fenced(2, 20, status=Status.NONE, delivered=Status.EOK),
    ],
)
def test_answers_that_promise_no_fence(fence):
    judgement = fencing(created(), fence, took(5, 2, 22))
    assert not judgement.findings and not any("took" in note for note in judgement.notes)


@pytest.mark.parametrize("status", [Status.ENOENTRY, Status.ENOLEDGER])
def test_an_explicit_negative_to_fencing_is_noted_and_is_no_anomaly(status):
    judgement = fencing(created(), fenced(2, 20, status=status), took(5, 2, 22), took(6, 2, 23))
    assert not judgement.findings
    (note,) = [note for note in judgement.notes if "took" in note]
    assert note.startswith(f"ledger 1: b2 boot 1 answered {status.name} to a fencing read and took 2 adds")
    fenced_later = fencing(created(), fenced(2, 20, status=status), took(5, 2, 22), fenced(2, 40))
    assert not any("took" in note for note in fenced_later.notes)
    [other] = {Status.ENOENTRY, Status.ENOLEDGER} - {status}
    denials = fenced(2, 20, status=status), fenced(2, 40, status=other)
    (note,) = [note for note in fencing(created(), denials, took(5, 2, 22)).notes if "took" in note]
    assert f"answered {status.name} to" in note


@pytest.mark.parametrize(("at_ns", "when"), [(20, "before"), (21, "after")])
def test_a_delete_before_or_after_the_fence_is_told(at_ns, when):
    (finding,) = fencing(created(), deleted(invoked_ns=at_ns), fenced(2, 20), took(5, 2, 22)).findings
    expected = f"a delete of the ledger was invoked at 0.0000000{at_ns} s, {when} that answer"
    assert finding.proof[1] == expected


def test_boots_that_were_not_recorded_whole_are_no_anomaly():
    history = [created(), fenced(2, 20), took(5, 2, 22)]
    assert fencing(*history).findings
    assert not fencing(*history, damage=("servers: line 3",)).findings


def test_what_it_takes_to_be_valid():
    history = [acked(0), created(), closed(0, 1, latest_ns=50)]
    assert fencing(*history).verdict is Verdict.VALID
    assert fencing(created(), fenced(1, 20)).verdict is Verdict.VALID
    assert fencing(acked(0), created()).verdict is Verdict.UNKNOWN
    assert fencing(acked(0), created(), closed(0, 1, latest_ns=NEVER)).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("table", ["operations", "ledgers", "frames", "servers"])
def test_damage_leaves_it_unknown_and_what_is_there_is_still_an_anomaly(table):
    damage = (f"{table}: something is missing",)
    judgement = fencing(acked(0), created(), closed(0, 1, latest_ns=50), damage=damage)
    assert judgement.verdict is Verdict.UNKNOWN
    assert fencing(late(0, 101), CLOSED, damage=damage).verdict is Verdict.ANOMALY


def test_without_a_wire_log_only_the_first_rule_is_seen():
    history = [acked(0), created(), closed(0, 1, latest_ns=50)]
    judgement = fencing(*history, wire=False)
    assert judgement.verdict is Verdict.UNKNOWN
    assert any("no wire log was kept" in note for note in judgement.notes)
    assert fencing(late(0, 101), CLOSED, wire=False).verdict is Verdict.ANOMALY


def flood(number):
    """``number`` adds, one each nanosecond; one bookie took every one."""
    return facts([[late(entry, entry), took(entry, 2, entry)] for entry in range(number)])


def in_pieces(history, size):
    return [chunk(history[at : at + size]) for at in range(0, len(history), size)]


def test_of_many_adds_the_late_ones_are_counted_wherever_the_rows_are_cut():
    history = facts(created(), closed(-1, 1, latest_ns=4_500), fenced(2, 4_800), flood(5_000))
    for pieces in ([chunk(history)], in_pieces(history, 777), in_pieces(history[::-1], 911)):
        judgement = judge(pieces, run_facts(wire=True)).judgements["fencing"]
        assert dict(judgement.counts) == {"added_after_close": 499, "accepted_when_fenced": 198}
        assert [(f.first_entry, f.last_entry) for f in judgement.findings] == [(4_501, 4_999), (4_802, 4_999)]


def test_all_late_adds_are_counted_however_many_there_are():
    history = facts(created(), closed(-1, 1, latest_ns=10), flood(3_000))
    judgement = judge(in_pieces(history, 1_000), run_facts(wire=True)).judgements["fencing"]
    assert judgement.counts["added_after_close"] == 2_989
    assert [(f.first_entry, f.last_entry) for f in judgement.findings] == [(11, 2_999)]
    history = facts(created(), closed(-1, 1, latest_ns=-1), flood(3_000))
    judgement = judge(in_pieces(history, 1_000), run_facts(wire=True)).judgements["fencing"]
    assert judgement.counts["added_after_close"] == 3_000
    assert [(f.first_entry, f.last_entry) for f in judgement.findings] == [(0, 2_999)]


def test_an_entry_that_was_added_twice_after_the_close_counts_twice():
    history = [CLOSED, late(0, 101), late(1, 103, seq=2), late(1, 102, seq=3)]
    (finding,) = fencing(*history).findings
    assert (finding.first_entry, finding.last_entry, finding.count) == (0, 1, 3)


def test_an_anomaly_that_went_with_the_wire_log_leaves_no_valid_run():
    history = [acked(0), good_ending(0)]
    seen = judged(*history, fenced(2, 20), took(0, 2, 22), wire=True, required=("durability",))
    gone = judged(*history, wire=True, required=("durability",), damage=("frames: 2 records are missing",))
    assert seen.verdict is Verdict.ANOMALY
    assert gone.verdict is Verdict.UNKNOWN
    assert "lost; unknown: evidence, fencing" in gone.headline


def test_older_adds_beyond_the_end_are_found_behind_later_ones_within_it():
    backwards = [late(2_999 - at, at) for at in range(3_000)]
    (finding,) = fencing(backwards, created(), closed(1_500, 1, latest_ns=500)).findings
    assert (finding.first_entry, finding.last_entry, finding.count) == (1_501, 2_498, 998)
