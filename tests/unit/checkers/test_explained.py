"""A loss that recorded deaths explain: every holder died, and its disk lacked the entry."""

import json

import pytest

from checkers.judging.contract import EVERY_LEDGER
from evidence.codes import NEVER, FrameFlag, Holding
from evidence.findings import Verdict
from protocol.faults import Loses
from tests.histories import story
from tests.histories.boots import boot, commanded, configured, copied, fault, on_disk, server, took
from tests.histories.story import acked, answered, closed, created, found, judging, kept, opened, recovering

CENSUS = {"asked_ns": 10_000, "answered_ns": 10_010}
BORN = created(earliest_ns=50, latest_ns=60)


def denied(entry):
    return [answered(entry, bookie, Holding.ABSENT, **CENSUS) for bookie in (1, 2, 3)]


LOSS = [acked(0), acked(1), BORN, closed(1), opened(1), kept(0), found(0), denied(1)]
ACKS = [took(1, 1, 100), took(1, 3, 101)]
LIVES = [
    *(*boot(1, killed=500), *boot(1, 2, began=600), *boot(2)),
    *(*boot(3, killed=700), *boot(3, 2, began=800)),
]
READ = [copied(1, at=510), copied(3, at=710)]


def killed(number, bookie, at, **columns):
    times = {"planned_ns": at - 2, "injected_ns": at + 20, "confirmed_ns": at + 21, "healed_ns": at + 90}
    return fault(number, "kill", f"b{bookie}", **{**times, **columns})


KILLS = (killed(1, 1, 500), killed(2, 3, 700))
REQUIRED = {"wire": True, "servers": (*LIVES, *READ), "faults": KILLS, "required": ("durability",)}


def dying(bookie, earliest_ns, latest_ns, servers=(*LIVES, *READ)):
    """The servers, but the first boot of a bookie died at some time between two."""
    known = [
        row for row in servers if (row["server"], row["boot"], row["event"]) != (f"b{bookie}", 1, "exit")
    ]
    return (*known, server(bookie, 1, "exit", earliest_ns, latest_ns, code=None, signal=9))


def durability(*parts, servers=(*LIVES, *READ), faults=KILLS, **run):
    known = {"wire": True, "servers": tuple(servers), "faults": tuple(faults), **run}
    return judging("durability")(*(parts or (LOSS, ACKS)), **known)


def classes(*parts, **run):
    return [(one.loss, one.first_entry, one.last_entry) for one in durability(*parts, **run).findings]


EXPLAINED, UNEXPLAINED, UNDETERMINED = (
    [(name, 1, 1)] for name in ("explained", "unexplained", "undetermined")
)


def test_a_loss_is_explained_when_every_holder_died_with_a_disk_that_lacked_it():
    judgement = durability()
    (finding,) = judgement.findings
    assert finding.loss == "explained"
    assert finding.proof[-3:] == (
        "b1 boot 1 and b3 boot 1 had acknowledged entry 1 (on the wire)",
        "b1 boot 1 was killed at 0.000000500 s; its disk held none of that",
        "b3 boot 1 was killed at 0.000000700 s; its disk held none of that",
    )
    assert judgement.counts["lost_explained"] == judgement.counts["lost"] == 1
    assert judgement.verdict is Verdict.ANOMALY


def test_the_plan_may_allow_for_it():
    for allowance in ({1: 1}, {2: 0, EVERY_LEDGER: 1}):
        verdict = story.judged(LOSS, ACKS, allowance=allowance, **REQUIRED)
        assert "valid within allowance: 1 lost of 2 acknowledged entries" in verdict.headline
    for other in ({1: 0, EVERY_LEDGER: 9}, {2: 1}, {}):
        verdict = story.judged(LOSS, ACKS, allowance=other, **REQUIRED)
        assert "1 of 2 acknowledged entries lost" in verdict.headline


POWER = {"planned_ns": 490, "injected_ns": 720, "confirmed_ns": 721, "healed_ns": 900}
POWER_LOSS = (fault(1, "power_loss", "b1,b3", **POWER),)
PROCESS = {"params": json.dumps({"level": "process"})}


@pytest.mark.parametrize(
    ("least", "faults", "expected"),
    [
        (Loses.MEMORY, KILLS, EXPLAINED),
        (Loses.MEMORY, POWER_LOSS, EXPLAINED),
        (Loses.UNSYNCED, KILLS, UNEXPLAINED),
        (Loses.UNSYNCED, POWER_LOSS, EXPLAINED),
        (Loses.UNSYNCED, ({**POWER_LOSS[0], **PROCESS},), UNEXPLAINED),
        (Loses.MEMORY, ({**POWER_LOSS[0], **PROCESS},), EXPLAINED),
        (Loses.STORED, KILLS, UNEXPLAINED),
        (Loses.STORED, POWER_LOSS, UNEXPLAINED),
        (Loses.UNSYNCED, (*KILLS, fault(3, "power_loss", "b2", **POWER)), UNEXPLAINED),
        (None, KILLS, UNDETERMINED),
    ],
)
def test_a_fault_explains_only_what_it_may_take_with_the_bookies_settings(least, faults, expected):
    """A kill takes no journaled add, a loss of power none that was synced."""
    known = {} if least is None else dict.fromkeys(("b1", "b3"), least)
    assert classes(faults=faults, least_loss=known) == expected


def test_a_journaled_loss_by_a_kill_is_outside_of_every_allowance():
    journaled = dict.fromkeys(("b1", "b2", "b3"), Loses.STORED)
    verdict = story.judged(LOSS, ACKS, allowance={1: 40}, least_loss=journaled, **REQUIRED)
    assert verdict.verdict is Verdict.ANOMALY
    assert verdict.headline.startswith("1 of 2 acknowledged entries lost")
    (finding,) = verdict.judgements["durability"].findings
    assert finding.proof[-2:] == (
        "b1 boot 1 was killed at 0.000000500 s, which takes no journaled add; its disk held none of that",
        "b3 boot 1 was killed at 0.000000700 s, which takes no journaled add; its disk held none of that",
    )


def test_one_journaled_holder_leaves_the_loss_of_all_unexplained():
    assert classes(servers=(*LIVES, *READ, configured(3, journalWriteData="true"))) == UNEXPLAINED
    assert classes(servers=(*LIVES, *READ, configured(3, 2, journalWriteData="true"))) == EXPLAINED


def test_what_was_journaled_and_not_synced_may_go_with_the_power_later():
    """The kill took nothing of it; the journal was lost with the power of a later boot."""
    unsynced = {"least_loss": dict.fromkeys(("b1", "b3"), Loses.UNSYNCED)}
    power = {"planned_ns": 850, "injected_ns": 860, "confirmed_ns": 861, "healed_ns": 900}
    later = (*KILLS, fault(3, "power_loss", "b1,b3", **power))
    assert classes(LOSS, ACKS, on_disk(1, 1), on_disk(3, 1), faults=later, **unsynced) == UNDETERMINED


def test_a_wipe_explains_what_was_journaled_too():
    journaled = {"least_loss": dict.fromkeys(("b1", "b3"), Loses.STORED)}
    wipes = (*KILLS, wiped(1, 720), wiped(3, 725, number=9))
    both = [on_disk(1, 1), on_disk(3, 1)]
    assert classes(LOSS, ACKS, both, faults=wipes, **journaled) == EXPLAINED
    assert classes(LOSS, ACKS, both[:1], faults=wipes, **journaled) == UNDETERMINED


def test_other_entries_on_the_disks_explain_nothing_and_deny_nothing():
    assert classes(LOSS, ACKS, on_disk(1, 0), on_disk(3, 2, 9), on_disk(1, 1, ledger=2)) == EXPLAINED


def test_an_entry_that_a_holders_disk_held_was_not_lost_by_its_death():
    """Its index had it, or its journal, from which the next boot replays."""
    held = on_disk(3, 0, 5)
    judgement = durability(LOSS, ACKS, held)
    assert [one.loss for one in judgement.findings] == ["unexplained"]
    assert judgement.findings[0].proof[-1].endswith("; its disk held what it had acknowledged")


def test_what_a_fault_may_have_taken_from_the_disk_since_is_undetermined():
    held = on_disk(3, 0, 5)
    wiped = (*KILLS, fault(3, "wipe", "b3", planned_ns=715, injected_ns=716, healed_ns=717))
    assert classes(LOSS, ACKS, held, faults=wiped) == UNDETERMINED
    for healed_ns, expected in ((709, UNEXPLAINED), (710, UNDETERMINED)):  # copied from 710 on
        early = fault(3, "wipe", "b3", planned_ns=5, injected_ns=6, confirmed_ns=7, healed_ns=healed_ns)
        assert classes(LOSS, ACKS, held, faults=(*KILLS, early)) == expected
    elsewhere = (*KILLS, fault(3, "wipe", "b2", planned_ns=715, injected_ns=716, healed_ns=717))
    assert classes(LOSS, ACKS, held, faults=elsewhere) == UNEXPLAINED


ALL = {"params": json.dumps({"what": "all"})}


def wiped(bookie, at, number=8, **columns):
    times = {"planned_ns": at, "injected_ns": at + 1, "confirmed_ns": at + 2, "healed_ns": at + 80}
    return fault(number, "wipe", f"b{bookie}", **{**ALL, **times, **columns})


def test_a_wipe_of_all_that_a_dead_bookie_had_explains_what_its_disk_held():
    held = on_disk(3, 0, 5)
    judgement = durability(LOSS, ACKS, held, faults=(*KILLS, wiped(3, 715)))
    assert [one.loss for one in judgement.findings] == ["explained"]
    assert judgement.findings[0].proof[-1] == (
        "b3 boot 1 was killed at 0.000000700 s; its disk held what it had acknowledged"
        "; a fault took all of its disk at 0.000000716 s"
    )


def test_a_wipe_explains_what_a_bookie_lost_that_was_stopped_in_order():
    servers = (*LIVES[:5], *boot(3, stopped=700), *boot(3, 2, began=800), READ[0])
    assert classes(servers=servers) == UNEXPLAINED
    assert classes(servers=servers, faults=(KILLS[0], wiped(3, 715))) == EXPLAINED


@pytest.mark.parametrize(
    "other",
    [
        wiped(3, 715, params=json.dumps({"what": "journal"})),
        wiped(3, 715, confirmed_ns=NEVER),
        {**wiped(3, 715), "kind": "corrupt"},
        wiped(2, 715),
    ],
)
def test_only_a_confirmed_wipe_of_all_that_a_holder_had_explains_it(other):
    assert classes(LOSS, ACKS, on_disk(3, 1), faults=(*KILLS, other)) != EXPLAINED


@pytest.mark.parametrize(("at", "expected"), [(400, UNEXPLAINED), (698, UNDETERMINED), (699, EXPLAINED)])
def test_a_wipe_before_its_end_took_nothing_of_what_a_boot_had(at, expected):
    """b3 died at 700; the wipe was injected one nanosecond after ``at``."""
    assert classes(LOSS, ACKS, on_disk(3, 1), faults=(*KILLS, wiped(3, at))) == expected


def test_what_a_wiped_disk_may_have_been_given_back_is_not_proven_lost():
    back = fault(9, "corrupt", "b3", planned_ns=720, injected_ns=721, confirmed_ns=722, healed_ns=723)
    assert classes(LOSS, ACKS, on_disk(3, 1), faults=(*KILLS, wiped(3, 715), back)) == UNDETERMINED


def test_a_repair_before_the_last_wipe_may_have_given_it_back():
    """b2 completes a check when b1 has lost it and the disk of b3 still holds it."""
    done = server(2, 1, "full_check_complete", 710, 711)
    faults = (*KILLS, wiped(3, 715))
    assert classes(LOSS, ACKS, on_disk(3, 1), servers=(*LIVES, *READ, done), faults=faults) == UNDETERMINED


def test_a_disk_that_held_it_makes_a_holder_of_one_that_never_acknowledged_it():
    """b2 got the entry by an unseen repair; its disk was copied, and not wiped."""
    down = [row for row in (*LIVES, *READ) if row["server"] != "b2"] + [
        *boot(2, killed=650),
        *boot(2, 2, began=900),
    ]
    servers = (*down, copied(2, at=660))
    faults = (*KILLS, killed(4, 2, 650))
    assert classes(servers=servers, faults=faults) == EXPLAINED
    assert classes(LOSS, ACKS, on_disk(2, 1), servers=servers, faults=faults) == UNDETERMINED
    wipe = wiped(2, 670)
    assert classes(LOSS, ACKS, on_disk(2, 1), servers=servers, faults=(*faults, wipe)) == EXPLAINED


def test_what_an_operator_may_have_taken_from_the_disk_since_is_undetermined():
    held = on_disk(3, 0, 5)
    assert (
        classes(LOSS, ACKS, held, servers=(*LIVES, *READ, *commanded("b3", at=720, until=730)))
        == UNDETERMINED
    )
    assert classes(LOSS, ACKS, held, servers=(*LIVES, *READ, *commanded("b3", at=5, until=8))) == UNEXPLAINED
    assert (
        classes(LOSS, ACKS, held, servers=(*LIVES, *READ, *commanded("b2", at=720, until=730))) == UNEXPLAINED
    )


def test_a_holder_whose_files_an_operator_worked_on_may_have_lost_it_by_that():
    up = (*LIVES[:5], *boot(3), *READ)
    assert classes(servers=up) == UNEXPLAINED
    assert classes(servers=(*up, *commanded("b3", at=720, until=730))) == UNDETERMINED


def test_a_later_loss_of_power_may_take_what_was_never_synced():
    power = {"planned_ns": 900, "injected_ns": 901, "healed_ns": 999}
    later = (*KILLS, fault(3, "power_loss", "b2,b3", **power))
    assert classes(LOSS, ACKS, on_disk(3, 1), faults=later) == UNDETERMINED
    elsewhere = (*KILLS, fault(3, "power_loss", "b2", **power))
    assert classes(LOSS, ACKS, on_disk(3, 1), faults=elsewhere) == UNEXPLAINED
    process = (*KILLS, fault(3, "power_loss", "b2,b3", **PROCESS, **power))
    assert classes(LOSS, ACKS, on_disk(3, 1), faults=process) == UNEXPLAINED


@pytest.mark.parametrize(("planned_ns", "expected"), [(711, UNEXPLAINED), (712, UNDETERMINED)])
def test_a_loss_of_power_counts_as_later_when_the_copy_was_made_before_it(planned_ns, expected):
    """The disk of b3 was copied between 710 and 711."""
    power = {"planned_ns": planned_ns, "injected_ns": 901, "confirmed_ns": 902, "healed_ns": 999}
    later = (*KILLS, fault(3, "power_loss", "b2,b3", **power))
    assert classes(LOSS, ACKS, on_disk(3, 1), faults=later) == expected


def test_a_loss_of_power_is_a_death_like_a_kill():
    """The copy is made after the mount, so it shows what that loss left."""
    power = {"planned_ns": 690, "injected_ns": 720, "confirmed_ns": 721, "healed_ns": 900}
    lost = (KILLS[0], fault(2, "power_loss", "b2,b3", **power))
    assert classes(faults=lost) == EXPLAINED
    assert classes(LOSS, ACKS, on_disk(3, 1), faults=lost) == UNEXPLAINED


@pytest.mark.parametrize(
    "read",
    [
        [copied(1, at=510)],
        [copied(1, at=510), copied(3, at=710, why="no index")],
        [copied(1, at=510), copied(3, 2, at=710)],
    ],
)
def test_a_disk_that_was_not_read_proves_no_absence(read):
    assert classes(servers=(*LIVES, *read)) == UNDETERMINED


def test_why_a_disk_could_not_be_read_is_told():
    unread = (*LIVES, copied(1, at=510), copied(3, at=710, why="no index"))
    judgement = durability(servers=unread)
    assert judgement.findings[0].proof[-1].endswith("; what its disk held is not known: no index")
    assert judgement.notes == (
        "1 loss of class undetermined: no life that acknowledged the entry provably kept it, and it is not "
        "proven that all of them lost it by recorded faults before a repair",
    )


def test_a_holder_that_lived_on_is_no_such_loss():
    assert classes(servers=(*LIVES[:5], *boot(3), *READ)) == UNEXPLAINED


def test_an_acknowledgement_of_nobody_known_may_hide_a_holder():
    hidden = took(1, 2, 102, flags=FrameFlag.AMBIGUOUS)
    assert classes(LOSS, ACKS, hidden) == UNDETERMINED


def test_a_copy_that_anybody_has_was_not_lost_by_these_deaths():
    cut = [acked(0), BORN, closed(-1), opened(-1), answered(0, 2, Holding.PRESENT, **CENSUS)]
    acks = [took(0, 1, 100), took(0, 3, 101)]
    assert [one[0] for one in classes(cut, acks)] == ["undetermined"]
    gone = [acked(0), BORN, closed(-1), opened(-1), denied(0)]
    assert [one[0] for one in classes(gone, acks)] == ["explained"]


def test_a_copy_on_a_disk_of_one_that_never_acknowledged_it_was_brought_there():
    assert classes(LOSS, ACKS, on_disk(2, 1), servers=(*LIVES, *READ, copied(2, at=900))) == UNDETERMINED


def check(bookie, at, number=1, event="full_check_complete", **detail):
    return server(bookie, number, event, at, at, **detail)


@pytest.mark.parametrize(
    ("at", "found"),
    [
        *((499, UNDETERMINED), (500, UNDETERMINED), (700, UNDETERMINED), (701, EXPLAINED)),
        *((49, EXPLAINED), (50, UNDETERMINED)),
    ],
)
def test_a_repair_until_the_last_death_may_have_brought_it_back(at, found):
    """Before the first death b2 became a holder that lives on; before the ledger nothing was to bring."""
    assert classes(servers=(*LIVES, *READ, check(2, at))) == found


def test_the_check_of_one_ledger_is_a_repair_of_that_one():
    copy = "ledger_check_and_copy_end"
    assert classes(servers=(*LIVES, *READ, check(2, 600, event=copy, ledgerId=1))) == UNDETERMINED
    assert classes(servers=(*LIVES, *READ, check(2, 600, event=copy, ledgerId=2))) == EXPLAINED


def test_a_repair_by_one_that_should_not_hold_it_brings_nothing():
    assert classes(servers=(*LIVES, *READ, check(4, 600), *boot(4))) == EXPLAINED


def test_one_who_was_repaired_and_died_as_well_has_lost_it_too():
    dead = (*boot(2, killed=650), *boot(2, 2, began=660))
    boots = (*(row for row in LIVES if row["server"] != "b2"), *dead, *READ)
    faults = (*KILLS, killed(3, 2, 650))
    repaired = (*boots, check(2, 300))
    assert classes(servers=repaired, faults=faults) == UNDETERMINED
    assert classes(servers=(*repaired, copied(2, at=655)), faults=faults) == EXPLAINED
    later = (*boots, copied(2, at=655), check(2, 550))
    assert classes(servers=later, faults=faults) == UNDETERMINED
    # b1 may have been dead from 480 on, so a check at 490 may have undone its loss.
    early = dying(1, 480, 500, (*boots, copied(2, at=655)))
    assert classes(servers=(*early, check(2, 479)), faults=faults) == EXPLAINED
    assert classes(servers=(*early, check(2, 490)), faults=faults) == UNDETERMINED


def test_a_death_before_the_others_makes_their_repair_one_in_between():
    """b2 was repaired at 300 and died at 400; b4 was repaired at 450, after that."""
    four = created(earliest_ns=50, latest_ns=60, fragments={0: ("b1", "b2", "b3", "b4")}, ensemble=4)
    loss = [acked(1), four, closed(1, fragments={0: ("b1", "b2", "b3", "b4")}, ensemble=4), opened(1)]
    loss += [answered(1, bookie, Holding.ABSENT, **CENSUS) for bookie in (1, 2, 3, 4)]
    loss = [*loss, took(0, 1, 100), took(0, 3, 101), acked(0), kept(0), found(0)]
    dead = (*boot(2, killed=400), *boot(4, killed=480))
    boots = (*(row for row in LIVES if row["server"] != "b2"), *dead, *READ)
    boots = (*boots, copied(2, at=405), copied(4, at=485), check(2, 300))
    faults = (*KILLS, killed(3, 2, 400), killed(4, 4, 480))
    entry = [took(1, 1, 100), took(1, 2, 100), took(1, 3, 101)]
    assert classes(loss, entry, servers=boots, faults=faults) == EXPLAINED
    assert classes(loss, entry, servers=(*boots, check(4, 450)), faults=faults) == UNDETERMINED


def test_a_guarded_bookie_repairs_itself_and_only_its_log_tells():
    guarded = {"guarded": frozenset({"b2"})}
    assert classes(**guarded) == UNDETERMINED
    assert classes(servers=(*LIVES, *READ, check(2, 900, event="log_read")), **guarded) == EXPLAINED


def test_replication_by_the_last_death_may_have_brought_it_where_nobody_looked():
    moved = {"fragments": {0: ("b1", "b2", "b4")}}
    before = [*LOSS[:2], BORN, closed(1, earliest_ns=200), closed(1, 2, earliest_ns=690, **moved)]
    rest = [opened(1), kept(0), found(0), denied(1), answered(1, 4, Holding.ABSENT, **CENSUS)]
    assert classes(before, rest, ACKS) == UNDETERMINED
    at_once = [*LOSS[:2], BORN, closed(1, earliest_ns=200), closed(1, 2, earliest_ns=700, **moved)]
    assert classes(at_once, rest, ACKS) == UNDETERMINED
    after = [*LOSS[:2], BORN, closed(1, earliest_ns=200), closed(1, 2, earliest_ns=701, **moved)]
    assert classes(after, rest, ACKS) == EXPLAINED
    own = [*LOSS[:2], BORN, recovering(1, earliest_ns=200, **moved), closed(1, 2, **moved)]
    assert classes(own, rest, ACKS) == EXPLAINED


def test_metadata_that_nobody_saw_may_name_others():
    cut = [acked(0), BORN, closed(-1, 2), opened(-1), denied(0)]
    assert [one[0] for one in classes(cut, [took(0, 1, 100), took(0, 3, 101)])] == ["undetermined"]
