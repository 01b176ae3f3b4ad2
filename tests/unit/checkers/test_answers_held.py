"""A bookie whose own disk held an entry when it died does not deny it afterwards."""

import pytest

from evidence.codes import NEVER, FrameFlag, Place
from evidence.findings import Verdict
from tests.histories.asking import ENOENTRY, UNKNOWN_STATE, answered, plain_read, read
from tests.histories.boots import boot, commanded, copied, fault, on_disk
from tests.histories.story import closed, created, deleted, judged, judging, kinds, of_known_ledgers

HELD = [("denied_held", 3, 3)]
SERVERS = (*boot(1, killed=50), copied(1, at=60), *boot(1, 2, began=90))
KILL = fault(1, "kill", "b1", planned_ns=45, injected_ns=70, confirmed_ns=71, healed_ns=95)
DISK = on_disk(1, 0, 9)


def denied(what=None, status=ENOENTRY, *, at=100, boot=2, **columns):
    return answered("reader", "b1", what or plain_read(3), status, at=at, boot=boot, **columns)


answers = judging("answers", wire=True, servers=SERVERS, faults=(KILL,))


def judgement_of(*parts, **run):
    return answers(of_known_ledgers(*parts), **run)


def found(*parts, **run):
    return kinds(judgement_of(*parts, **run))


@pytest.mark.parametrize("what", [plain_read(3), read(3)])
def test_a_bookie_that_denies_what_its_disk_held_violates_answers(what):
    assert found(DISK, denied(what)) == HELD


def test_what_a_boot_replays_from_the_journal_was_held_as_well():
    assert found(on_disk(1, 3, place=int(Place.JOURNAL)), denied()) == HELD


def test_the_proof_names_the_death_and_the_denial():
    (finding,) = judgement_of(DISK, denied()).findings
    assert finding.text == "ledger 1: b1 (boot 2) denied entry 3 that its disk had held"
    assert finding.proof[0] == "its disk held entry 3 when b1 boot 1 died, and nothing changed it since"
    assert finding.proof[1].startswith("b1 (boot 2) answered no such entry to reader's read of entry 3")


def test_a_disk_that_lacked_it_or_another_bookies_disk_is_no_anomaly():
    assert judgement_of(on_disk(1, 4, 9), denied()).verdict is Verdict.VALID
    assert not found(on_disk(1, 3, ledger=2), denied())
    others = (*SERVERS, *boot(2, killed=50), copied(2, at=60))
    assert not found(on_disk(2, 3), denied(), servers=others)
    assert not found(DISK, answered("reader", "b2", plain_read(3), ENOENTRY, at=100), servers=others)


def test_a_disk_shows_what_boots_after_that_death_must_know_and_no_other():
    assert not found(DISK, denied(boot=1, at=40))
    later = (*SERVERS, *boot(1, 3, began=300))
    assert found(DISK, denied(boot=3, at=310), servers=later) == HELD


def test_only_an_explicit_negative_of_the_bookies_own_denies():
    assert not found(DISK, denied(status=UNKNOWN_STATE))
    assert not found(DISK, denied(flags=FrameFlag.FORGED))
    assert not found(DISK, denied(boot=0))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (("wipe", "b1", 75), []),
        (("corrupt", "b1", 75), []),
        (("wipe", "everything", 75), []),
        (("wipe", "b2", 75), HELD),
        (("wipe", "b1", 20), HELD),
        (("cut", "b1", 75), HELD),
        (("fill", "b1", 75), HELD),
        (("kill", "b1", 75), HELD),
        (("power_loss", "b2,b1", 75), []),
        (("power_loss", "b2,b1", 40), HELD),
    ],
)
def test_a_fault_that_may_have_changed_the_disk_since_excuses(changed, expected):
    kind, target, at = changed
    times = {"planned_ns": at, "injected_ns": at + 3, "confirmed_ns": at + 4, "healed_ns": at + 5}
    assert found(DISK, denied(), faults=(KILL, fault(2, kind, target, **times))) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (commanded("b1", at=75, until=80), []),
        (commanded("b1", at=75), []),
        (commanded("b1", at=20), []),
        (commanded("b1", at=20, until=30), HELD),
        (commanded("b2", at=75, until=80), HELD),
        (commanded("b1", at=75, until=80, command="cookie_get"), HELD),
    ],
)
def test_an_operator_who_worked_on_the_files_since_may_have_changed_the_disk(command, expected):
    """The index of a bookie that was killed was rebuilt, badly: the bookie denies what its disk had held."""
    assert found(DISK, denied(), servers=(*SERVERS, *command)) == expected


def test_a_fault_that_was_never_injected_changed_nothing():
    planned = fault(2, "wipe", "b1", planned_ns=75, injected_ns=NEVER, confirmed_ns=NEVER, healed_ns=NEVER)
    assert found(DISK, denied(), faults=(KILL, planned)) == HELD


def test_a_ledger_that_may_be_forgotten_may_be_denied():
    assert not found(DISK, denied(), deleted(invoked_ns=80))
    gone = {"fragments": {0: ("b2", "b3", "b4")}}
    assert not found(DISK, denied(), created(), closed(9, 1), closed(9, 2, earliest_ns=90, **gone))
    assert found(DISK, denied(), created(), closed(9, 1)) == HELD


def test_a_denial_counts_up_to_the_moment_at_which_a_delete_was_invoked():
    assert not found(DISK, denied(at=100), deleted(invoked_ns=100))
    assert found(DISK, denied(at=100), deleted(invoked_ns=101)) == HELD


@pytest.mark.parametrize("damage", ["servers: torn", "ledgers: torn", "faults: torn"])
def test_damage_may_hide_an_excuse(damage):
    assert not found(DISK, denied(), damage=(damage,))


def test_damage_to_other_copies_takes_nothing_from_this_one():
    assert found(DISK, denied(), damage=("holdings: copy.json: it is missing",)) == HELD


@pytest.mark.parametrize("table", ["frames", "ledgers", "operations", "holdings", "servers", "faults"])
def test_damage_to_what_it_rests_on_leaves_it_unknown(table):
    """The copy of a disk that is gone, or a denial that was lost, may have been an anomaly."""
    assert judgement_of(on_disk(1, 4, 9), denied(), damage=(f"{table}: torn",)).verdict is Verdict.UNKNOWN
    assert judgement_of(damage=(f"{table}: torn",)).verdict is Verdict.UNKNOWN


def test_a_range_that_was_held_and_denied_is_one_finding():
    denials = [denied(plain_read(entry)) for entry in range(2, 30)]
    assert found(DISK, denials) == [("denied_held", 2, 9)]
    assert judgement_of(DISK, denials).counts["denied_held"] == 8


def test_striped_entries_are_told_apart():
    disk = [on_disk(1, entry, entry + 1) for entry in range(0, 60, 5)]
    denials = [denied(plain_read(entry)) for entry in range(10, 18)]
    assert found(disk, denials) == [("denied_held", 10, 11), ("denied_held", 15, 16)]


def test_kinds_are_those_of_the_property():
    verdict = judged(created(), DISK, denied(), wire=True, servers=SERVERS, faults=(KILL,))
    assert kinds(verdict, "answers") == HELD
