"""Why an entry was lost: who had acknowledged it, and what became of those."""

import pytest

from evidence.codes import NEVER, FrameFlag, Holding, Message, Status
from evidence.findings import Verdict
from tests.histories.boots import UNPROVEN, boot, copied, fault, fenced, forged, on_disk, said, server, took
from tests.histories.story import (
    OBSERVER,
    READER,
    acked,
    answered,
    closed,
    created,
    found,
    judged,
    judging,
    kept,
    opened,
    recovering,
)

durability = judging("durability", wire=True)


def classes(*parts, **run):
    return [(one.loss, one.first_entry, one.last_entry) for one in durability(*parts, **run).findings]


CENSUS = {"asked_ns": 1_000, "answered_ns": 1_010}


def gone(entry, **columns):
    """Every bookie denied it in the last census pass."""
    return [answered(entry, bookie, Holding.ABSENT, **CENSUS, **columns) for bookie in (1, 2, 3)]


THREE_LIVES = (*boot(1), *boot(2), *boot(3))
FIRST_KILLED = (*boot(1, killed=500), *boot(1, 2, began=600), *boot(2))
KILLED = (*FIRST_KILLED, *boot(3, killed=700), *boot(3, 2, began=800))
LOSS = [acked(0), acked(1), created(), closed(1), opened(1), kept(0), found(0), gone(1)]


def test_a_holder_that_lived_on_leaves_a_loss_unexplained():
    judgement = durability(LOSS, took(1, 1, 100), took(1, 3, 101), servers=(*FIRST_KILLED, *boot(3)))
    (finding,) = judgement.findings
    assert (finding.kind, finding.loss) == ("lost", "unexplained")
    assert finding.proof[-3:] == (
        "b1 boot 1 and b3 boot 1 had acknowledged entry 1 (on the wire)",
        "b1 boot 1 was killed at 0.000000500 s",
        "b3 boot 1 did not end uncleanly before that census",
    )
    assert judgement.counts["lost_unexplained"] == judgement.counts["lost"] == 1
    assert not judgement.notes


def test_a_boot_that_was_stopped_in_order_lost_nothing():
    stopped = (*boot(1, killed=500), *boot(3, stopped=500), *boot(3, 2, began=600, killed=700))
    assert classes(LOSS, took(1, 1, 100), took(1, 3, 101), servers=stopped) == [("unexplained", 1, 1)]


def test_a_boot_that_was_killed_after_the_census_lost_nothing_by_then():
    late = (*boot(1, killed=500), *boot(3, killed=1_011))
    assert classes(LOSS, took(1, 3, 101), servers=late) == [("unexplained", 1, 1)]
    meanwhile = (*boot(1, killed=500), *boot(3, killed=1_010))
    assert classes(LOSS, took(1, 3, 101), servers=meanwhile) == [("undetermined", 1, 1)]
    perhaps = (*boot(1, killed=500), *boot(3), server(3, 1, "exit", 1_010, 1_020, code=None, signal=9))
    assert classes(LOSS, took(1, 3, 101), servers=perhaps) == [("undetermined", 1, 1)]


def test_metadata_that_name_no_bookies_leave_a_loss_unproven():
    none = {"fragments": {}}
    versions = [created(**none), closed(1, **none), closed(1, 2, **none)]
    parts = [acked(0), acked(1), *versions, opened(1), kept(0), found(0), gone(1)]
    judgements = judged(*parts, servers=KILLED).judgements
    (note,) = judgements["durability"].notes
    assert note == "ledger 1: 1 entry unavailable (first 1): not read back, with no proof of loss"
    assert not [note for one in judgements.values() for note in one.notes if "failed" in note]


def test_when_every_holder_was_killed_it_takes_what_their_disks_held():
    judgement = durability(LOSS, took(1, 1, 100), took(1, 3, 101), servers=KILLED)
    (finding,) = judgement.findings
    assert finding.loss == "undetermined"
    assert (
        "b1 boot 1 was killed at 0.000000500 s" in finding.proof
        and "b3 boot 1 was killed at 0.000000700 s" in finding.proof
    )
    assert judgement.notes == (
        "1 loss of class undetermined: no life that acknowledged the entry provably kept it, "
        "and what disks held was not recorded",
    )


def test_a_copy_that_is_still_there_is_a_holder_that_never_lost_it():
    """BP-46, scenario 2: the close cut off what b3 has, though it was killed as well."""
    history = [acked(0), created(), closed(-1), opened(-1), answered(0, 3, Holding.PRESENT, **CENSUS)]
    (finding,) = durability(history, took(0, 1, 100), took(0, 3, 101), servers=KILLED).findings
    assert finding.loss == "unexplained"
    assert finding.proof[-3:] == (
        "b1 boot 1 and b3 boot 1 had acknowledged entry 0 (on the wire)",
        "b1 boot 1 was killed at 0.000000500 s",
        "the last census pass found 1 copy on b3",
    )


@pytest.mark.parametrize(
    "answer",
    [
        took(1, 3, 100, status=Status.EFENCED),
        took(1, 3, 100, boot=0),
        took(0, 3, 100),
        took(1, 3, 100, ledger=2),
        said(Message.READ, 3, 100, entry=1),
        *(took(1, 3, 100, flags=flag) for flag in UNPROVEN),
    ],
)
def test_what_makes_nobody_a_holder(answer):
    assert classes(LOSS, answer, servers=THREE_LIVES) == [("undetermined", 1, 1)]


def test_an_add_of_recovery_makes_a_holder_too():
    answer = said(Message.RECOVERY_ADD, 3, 100, entry=1)
    assert classes(LOSS, answer, servers=THREE_LIVES) == [("unexplained", 1, 1)]


def test_an_answer_that_was_dropped_still_came_from_its_bookie():
    answer = took(1, 3, 100, delivered=Status.NONE, flags=FrameFlag.DROPPED, forwarded_ns=NEVER)
    assert classes(LOSS, answer, servers=THREE_LIVES) == [("unexplained", 1, 1)]


@pytest.mark.parametrize(
    ("run", "because"),
    [
        ({"wire": False}, "no wire log was kept"),
        ({"damage": ("frames: 3 records are missing",)}, "the wire log is damaged"),
        ({"damage": ("servers: line 3",)}, "the boots of the bookies were not recorded whole"),
        ({"damage": ("faults: line 3",)}, "the boots of the bookies were not recorded whole"),
    ],
)
def test_without_a_whole_record_of_who_lived_nothing_is_determined(run, because):
    judgement = durability(LOSS, took(1, 3, 100), servers=THREE_LIVES, **run)
    (finding,) = judgement.findings
    assert finding.loss == "undetermined" and finding.kind == "lost"
    assert any(because in note for note in judgement.notes)


def test_a_fault_that_changes_disks_leaves_its_bookie_out():
    wiped = {"faults": (fault(1, "wipe", "b3"),), "servers": THREE_LIVES}
    assert classes(LOSS, took(1, 3, 100), **wiped) == [("undetermined", 1, 1)]
    assert classes(LOSS, took(1, 2, 99), took(1, 3, 100), **wiped) == [("unexplained", 1, 1)]
    planned = {"faults": (fault(1, "wipe", "b3", injected_ns=NEVER),), "servers": THREE_LIVES}
    assert classes(LOSS, took(1, 3, 100), **planned) == [("unexplained", 1, 1)]


REPLACED = {"fragments": {0: ("b1", "b2", "b4")}}
HOLDER = [took(1, 1, 100), took(1, 3, 101)]
ALL_BUT_THREE = (*FIRST_KILLED, *boot(3), *boot(4))


def closed_and_moved(*moves):
    """LOSS with more versions behind the close, each with the fragments given."""
    versions = [closed(1, 2 + index, fragments=fragments) for index, fragments in enumerate(moves)]
    return [*LOSS, *versions, answered(1, 4, Holding.ABSENT, **CENSUS)]


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([], "unexplained"),
        ([{0: ("b4", "b2", "b3")}], "unexplained"),
        ([{0: ("b1", "b2", "b4")}], "undetermined"),
        ([{0: ("b1", "b2", "b4")}, {0: ("b1", "b2", "b3")}], "undetermined"),
    ],
)
def test_a_holder_that_replication_replaced_may_have_collected_its_copy(moves, expected):
    assert classes(closed_and_moved(*moves), HOLDER, servers=ALL_BUT_THREE) == [(expected, 1, 1)]


def test_a_holder_that_is_named_for_other_entries_alone_is_not_responsible_for_this_one():
    """Entry 5 is on b3 to the end, entry 1 only where b3 was not replaced in the first fragment."""
    parts = [{0: ("b1", "b2", last), 5: ("b1", "b2", "b3")} for last in ("b3", "b4")]
    rest = [acked(5), closed(5, fragments=parts[0]), opened(5), kept(0), found(0), gone(1), gone(5)]
    denials = [answered(entry, 4, Holding.ABSENT, **CENSUS) for entry in (1, 5)]
    acks = [took(entry, bookie, 100 + entry) for entry in (1, 5) for bookie in (1, 3)]
    kept_to_the_end, replaced = ([*LOSS[:3], *rest, closed(5, 2, fragments=part), *denials] for part in parts)
    both = [("unexplained", 1, 1), ("unexplained", 5, 5)]
    one = [("unexplained", 5, 5), ("undetermined", 1, 1)]
    assert classes(kept_to_the_end, acks, servers=ALL_BUT_THREE) == both
    assert classes(replaced, acks, servers=ALL_BUT_THREE) == one
    held = {"servers": (*FIRST_KILLED, *boot(3, killed=700), copied(3, at=710), *boot(4))}
    assert classes(kept_to_the_end, acks, on_disk(3, 1, 5), **held) == both
    assert classes(replaced, acks, on_disk(3, 1, 5), **held) == one


def test_a_copy_that_is_still_there_was_not_lost_wherever_it_lies():
    history = [acked(0), created(), closed(-1), closed(-1, 2, **REPLACED), opened(-1)]
    shown = answered(0, 3, Holding.PRESENT, **CENSUS)
    assert classes([*history, shown], took(0, 3, 101), servers=ALL_BUT_THREE) == [("unexplained", 0, 0)]


def test_entries_of_one_loss_may_be_of_different_classes():
    history = [[acked(entry) for entry in range(4)], created(), closed(-1, latest_ns=900), opened(-1)]
    wire = [took(0, 1, 100), took(1, 1, 101), took(2, 1, 102), took(1, 2, 103), took(2, 2, 104)]
    verdict = judged(history, wire, wire=True, servers=KILLED)
    judgement = verdict.judgements["durability"]
    assert [(one.loss, one.first_entry, one.last_entry) for one in judgement.findings] == [
        ("unexplained", 1, 2),
        ("undetermined", 0, 0),
        ("undetermined", 3, 3),
    ]
    assert judgement.counts["lost_unexplained"] == 2 and judgement.counts["lost_undetermined"] == 2
    assert verdict.headline.startswith("4 of 4 acknowledged entries lost")


CUT = [acked(0), acked(1), created(), closed(0, latest_ns=900), opened(0), kept(0), found(0)]


def test_all_that_a_close_cut_off_after_a_denial_of_ours_is_forged():
    cut = [acked(0), acked(1), acked(2), created(), closed(0, latest_ns=900), opened(0), kept(0)]
    assert classes(cut, forged(1, 1, 300), took(2, 2, 100), servers=THREE_LIVES) == [("forged", 1, 2)]


def test_a_close_that_followed_a_denial_of_ours_is_forged():
    healed = '{"healed": {"rule": "denied", "number": 2, "link": "reader-b1", "matched": 1, "acted": 1}}'
    faults = (fault(5, "forge", "reader-b1", proof=healed),)
    judgement = durability(CUT, forged(1, 1, 300), took(1, 2, 100), servers=THREE_LIVES, faults=faults)
    (finding,) = judgement.findings
    assert (finding.kind, finding.loss) == ("lost", "forged")
    assert finding.proof[-1] == (
        "fault 5 (forge reader-b1, rule 2 of link reader-b1) answered ENOENTRY in the name of b1 to the "
        "recovery read of entry 1, passed on at 0.000000302 s"
    )
    assert judgement.counts["lost_forged"] == 1 and judgement.verdict is Verdict.ANOMALY


def test_a_forged_denial_counts_until_the_close_is_in_force():
    answer = forged(1, 1, 300, forwarded_ns=899)
    assert classes(CUT, answer, took(1, 2, 100), servers=THREE_LIVES) == [("forged", 1, 1)]


def test_a_denial_of_ours_after_the_first_close_came_too_late_for_it():
    """Replication writes CLOSED again."""
    again = closed(0, 2, latest_ns=2_000, fragments={0: ("b1", "b2", "b4")})
    history = [CUT, again, took(1, 2, 100)]
    assert classes(history, forged(1, 1, 300), servers=THREE_LIVES) == [("forged", 1, 1)]
    assert classes(history, forged(1, 1, 950), servers=THREE_LIVES) == [("unexplained", 1, 1)]


@pytest.mark.parametrize(
    "answer",
    [
        forged(1, 1, 300, forwarded_ns=900),  # not before the close
        forged(1, 1, 300, forwarded_ns=NEVER),
        forged(1, 1, 300, delivered=Status.EIO),
        said(Message.READ, 1, 300, entry=1, flags=FrameFlag.FORGED, status=Status.ENOENTRY),
        forged(1, 1, 300, ledger=2),
        forged(2, 1, 300),  # not the entry at which the ledger ends
        forged(1, 1, 300, flags=FrameFlag.FENCING),
    ],
)
def test_what_the_close_did_not_follow_from(answer):
    assert classes(CUT, answer, took(1, 2, 100), servers=THREE_LIVES) == [("unexplained", 1, 1)]


def denied(bookie, at_ns=310, **columns):
    """A bookie itself denied the first entry after the end of CUT to the reader."""
    return fenced(bookie, at_ns, **{"entry": 1, "status": Status.ENOENTRY, **columns})


ENOUGH = [denied(2), denied(3)]


@pytest.mark.parametrize(
    ("honest", "loss"),
    [
        (ENOUGH, "unexplained"),
        ([denied(2), denied(3, source=OBSERVER)], "forged"),  # to no client enough
        ([denied(2), denied(3, delivered=Status.EIO)], "forged"),
        ([denied(2), denied(3, status=Status.EOK)], "forged"),  # not the bookie's own word
        ([denied(2), denied(3, entry=2)], "forged"),
        ([denied(2), denied(3, forwarded_ns=900)], "forged"),  # not before the close
        ([denied(2), denied(3), denied(3, flags=FrameFlag.AMBIGUOUS)], "unexplained"),
        ([denied(2), denied(3, flags=FrameFlag.AMBIGUOUS)], "forged"),
        ([denied(2), denied(2, 320)], "forged"),  # one bookie, twice
        ([denied(2), denied(4)], "forged"),  # not of the write set
    ],
)
@pytest.mark.parametrize("source", [READER, OBSERVER])
def test_what_bookies_denied_themselves_was_not_cut_off_by_a_forged_denial(honest, loss, source):
    """b1 has the entry: with E3 WQ3 AQ2 two denials of one client close the ledger below it."""
    history = [CUT, forged(1, 1, 300, source=source), took(1, 1, 100), honest]
    assert classes(*history, servers=(*THREE_LIVES, *boot(4))) == [(loss, 1, 1)]


@pytest.mark.parametrize(("changed_ns", "loss"), [(311, "unexplained"), (312, "forged")])
def test_denials_suffice_by_each_version_that_may_have_been_in_force(changed_ns, loss):
    """b2 takes the place of b4 before the denials or meanwhile."""
    old, new = ({"fragments": {0: ("b1", bookie, "b3")}} for bookie in ("b4", "b2"))
    chain = [
        created(**old),
        recovering(1, earliest_ns=changed_ns, latest_ns=changed_ns, **new),
        closed(0, 2, earliest_ns=890, latest_ns=900, **new),
    ]
    history = [acked(0), acked(1), chain, opened(0), kept(0), found(0)]
    parts = [*history, forged(1, 1, 300), took(1, 1, 100), ENOUGH]
    assert classes(*parts, servers=(*THREE_LIVES, *boot(4))) == [(loss, 1, 1)]


def test_denials_suffice_only_by_metadata_that_were_seen_whole():
    history = [acked(0), acked(1), created(), closed(0, 2, latest_ns=900), opened(0), kept(0), found(0)]
    assert classes(history, forged(1, 1, 300), took(1, 1, 100), ENOUGH, servers=THREE_LIVES) == [
        ("forged", 1, 1)
    ]


def test_an_entry_that_everyone_denies_was_not_lost_by_a_forged_answer():
    answer = forged(2, 1, 300)
    assert classes(LOSS, answer, took(1, 2, 100), servers=THREE_LIVES) == [("unexplained", 1, 1)]
