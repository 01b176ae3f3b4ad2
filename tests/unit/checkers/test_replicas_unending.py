"""What repair promises at any time: a try ends, copies come before metadata, audits mark what is lost."""

import pytest

from checkers.facts.versions import in_force
from evidence.codes import Holding
from protocol.faults import Loses
from tests.histories.boots import boot, fault
from tests.histories.repairs import audit, elected, event, marked, shown, tried, unmarked
from tests.histories.story import closed, created, deleted, facts, kinds, metadata, vanished
from tests.unit.checkers.test_replicas import ALL, BEFORE, judged, ledger, whole

TRIES = (200, 300, 400, 500, 600)
NEVER_REPAIRED = [("never_repaired", -1, -1)]
ON_B4 = ledger(fragments={0: ("b1", "b2", "b4")})
KILLED = fault(target="b4", injected_ns=49, confirmed_ns=51)


def four(*, killed=0):
    """Four bookies that live through the run, but b4 where it is killed."""
    return [*boot(1), *boot(2), *boot(3), *boot(4, killed=killed)]


def repairing(*rows, parts=ON_B4, held=ALL, without=(), faults=(KILLED,), tries=TRIES, **run):
    """A ledger on b1, b2 and b4, which is lost before; tries at five times leave its mark."""
    servers = [*four(killed=50), elected(), marked(100, "b4"), *tried(*tries), *rows]
    servers = [row for row in servers if row["server"] not in without]
    return judged(parts, shown({1: ALL, 2: held, 4: ALL}, last=9), servers=servers, faults=faults, **run)


def test_a_repair_that_fails_again_and_again_is_an_anomaly_though_the_mark_stays():
    judgement = repairing()
    assert (judgement.verdict, kinds(judgement)) == ("anomaly", [("never_repaired", -1, -1)])
    assert judgement.counts["never_repaired"] == 1
    assert "5 times" in judgement.findings[0].text
    assert "lacking b4" in judgement.findings[0].proof[1]


def test_a_repair_that_succeeds_when_the_bookie_is_back_has_failed_all_the_same():
    assert kinds(repairing(unmarked(700), *audit(900, 950))) == [("never_repaired", -1, -1)]


def test_a_mark_that_is_removed_within_the_lock_was_a_repair():
    repairs = [row for at in TRIES for row in (marked(at - 1, "b4"), *tried(at), unmarked(at + 3))]
    judgement = judged(ledger(), whole(), servers=[*four(), elected(), *repairs, *audit(900, 950)])
    assert (judgement.verdict, kinds(judgement)) == ("valid", [])


def test_tries_between_which_something_changed_are_not_in_a_row():
    for change in (event(450, "b3", "znode_gone"), event(450, "zk1", "repair_enabled", zxid=hex(450))):
        assert kinds(repairing(change)) == []
    again = closed(9, 2, earliest_ns=440, latest_ns=450, fragments={0: ("b1", "b2", "b4")})
    assert kinds(repairing(parts=facts(ON_B4, again))) == []


def test_what_changed_before_the_first_try_or_after_the_last_is_no_matter():
    for at_ns, expected in ((199, NEVER_REPAIRED), (200, []), (605, []), (606, NEVER_REPAIRED)):
        assert kinds(repairing(event(at_ns, "b3", "znode_gone"))) == expected


def test_fewer_than_five_tries_in_a_row_under_one_mark_prove_nothing():
    assert kinds(repairing(tries=TRIES[1:])) == []
    assert kinds(repairing(tries=(*TRIES[1:], 995))) == []
    assert kinds(repairing(unmarked(150), marked(160, "b4"))) == NEVER_REPAIRED
    assert kinds(repairing(unmarked(250), marked(260, "b4"))) == []


def test_nothing_is_promised_while_a_fault_hinders_repair():
    cut = fault(2, "cut", "ar1-b1", injected_ns=60, confirmed_ns=61, healed_ns=650)
    assert kinds(repairing(faults=(KILLED,))) != []
    assert kinds(repairing(faults=(KILLED, cut))) == []


def test_a_read_only_bookie_has_copies_and_takes_none():
    """b1, b2 and b3 are left: b4 can be replaced by b3 alone."""
    for bookie in ("b3", "b1"):
        since = event(70, bookie, "readonly_created")
        assert kinds(repairing(since)) == []
        assert kinds(repairing(since, event(150, bookie, "readonly_gone"))) == NEVER_REPAIRED
        assert kinds(repairing(since, event(250, bookie, "readonly_gone"))) == []


def test_nothing_is_promised_without_a_bookie_to_spare_or_enough_copies():
    assert ("never_repaired", -1, -1) in kinds(repairing(held=ALL))
    assert ("never_repaired", -1, -1) not in kinds(repairing(held=range(4)))
    assert kinds(repairing(without=("b3",))) == []
    assert kinds(repairing(racks={"b1": "r1"})) == []
    assert kinds(repairing(marked(101, "b4", "b1"))) == []
    assert kinds(repairing(faults=(KILLED, fault(2, "wipe", "b1")))) == []
    assert kinds(repairing(parts=ledger(fragments={0: ("b1", "b2", "b4")}, ack_quorum=1))) == []


MOVED = facts(
    ledger(), closed(9, number=2, fragments={0: ("b1", "b2", "b4")}, earliest_ns=700, latest_ns=702)
)
STILL_MARKED = [*four(), elected(), marked(100, "b3")]


def after_a_move(*parts, servers=STILL_MARKED, **run):
    """What is found where b4 took b3's place and has only the first three entries."""
    held = {1: ALL, 2: ALL, 3: ALL, 4: range(3)}
    return judged(*(parts or (MOVED,)), shown(held, last=9), servers=servers, **run)


def test_a_bookie_named_by_a_repair_before_it_has_the_copies_is_an_anomaly_though_the_mark_stays():
    judgement = after_a_move()
    assert (judgement.verdict, kinds(judgement)) == ("anomaly", [("not_copied", 3, 9)])
    assert judgement.findings[0].text == (
        "ledger 1: entries 3..9: b4 is named instead of b3 and lacks a copy"
    )
    assert "metadata version 2 " in judgement.findings[0].proof[0]


def test_nothing_says_that_repair_did_not_copy_where_it_may_have_copied_or_did_not_repair():
    lost = [*boot(1), *boot(2), *boot(3), *boot(4, killed=800), *boot(4, 2, began=810)]
    assert kinds(after_a_move(servers=[*lost, elected(), marked(100, "b3")])) == []
    journaled = after_a_move(servers=[*lost, elected(), marked(100, "b3")], least_loss={"b4": Loses.STORED})
    assert kinds(journaled) == [("not_copied", 3, 9)]
    wiped = fault(target="b4", kind="wipe", injected_ns=800, confirmed_ns=801)
    assert kinds(after_a_move(faults=(wiped,))) == []
    assert kinds(after_a_move(servers=four())) == []
    unseen = closed(9, number=3, fragments={0: ("b1", "b2", "b4")}, earliest_ns=700, latest_ns=702)
    assert kinds(after_a_move(ledger(), unseen)) == []
    swapped = closed(9, number=2, fragments={0: ("b2", "b1", "b3")}, earliest_ns=700, latest_ns=702)
    history = facts(ledger(), swapped, shown({1: ALL, 2: range(3), 3: ALL}, last=9))
    assert kinds(judged(history, servers=STILL_MARKED)) == []


def test_a_damaged_copy_on_the_new_bookie_was_copied():
    held = {1: ALL, 2: ALL, 3: ALL, 4: ()}
    damaged = shown(held, last=9, holding=Holding.DAMAGED)
    assert kinds(judged(MOVED, damaged, servers=STILL_MARKED)) == []
    rest = [fact for fact in damaged if fact[1]["bookie"] < 4 or fact[1]["entry"] > 2]
    denied = shown({4: ()}, last=2)
    assert kinds(judged(MOVED, rest, denied, servers=STILL_MARKED)) == [("not_copied", 0, 2)]


def test_a_writer_that_replaces_a_bookie_of_its_last_fragment_has_nothing_to_copy():
    changed = {"fragments": {0: ("b1", "b2", "b4")}, "earliest_ns": 20, "latest_ns": 22}
    end = closed(9, number=2, **{**changed, "earliest_ns": 30, "latest_ns": 32})
    history = facts(created(**BEFORE, fragments={0: ("b1", "b2", "b3")}), metadata(1, 1, **changed), end)
    assert kinds(after_a_move(history)) == []


GONE = [*four(killed=50), elected(), event(60, "b4", "znode_gone")]
AUDITS = [row for at in range(100, 600, 100) for row in audit(at, at + 5)]


def audited(*rows, parts=ON_B4, gone=GONE, audits=AUDITS, faults=(KILLED,)):
    """A ledger of b4, which was gone during five audits."""
    census = shown({1: ALL, 2: ALL, 4: ALL}, last=9)
    return kinds(judged(parts, census, servers=[*gone, *audits, *rows], faults=faults))


def test_a_ledger_that_audits_pass_over_although_its_bookie_is_gone_is_an_anomaly():
    assert audited() == [("not_marked", -1, -1)]
    assert audited(audits=AUDITS[2:]) == []
    assert audited(audits=[*audit(61, 65), *AUDITS[2:]]) == [("not_marked", -1, -1)]
    assert audited(audits=[*audit(60, 65), *AUDITS[2:]]) == []
    assert audited(parts=ledger()) == []


@pytest.mark.parametrize("gone", [deleted(), vanished(), created(put_back=True, zxid=20)])
def test_a_ledger_that_is_gone_or_was_put_back_needs_no_mark(gone):
    assert audited(parts=facts(ON_B4, gone)) == []


def test_audits_that_marked_the_ledger_or_that_something_disturbed_are_not_counted():
    assert audited(marked(105, "b4")) == []
    assert audited(marked(505, "b4")) == []
    assert audited(marked(506, "b4")) == [("not_marked", -1, -1)]
    assert audited(event(250, "b3", "znode_gone")) == []
    assert audited(event(505, "b3", "znode_gone")) == []
    assert audited(event(506, "b3", "znode_gone")) == [("not_marked", -1, -1)]
    assert audited(event(250, "zk1", "repair_disabled", zxid=hex(250))) == []
    cut = fault(2, "cut", "ar1-zk1", injected_ns=60, confirmed_ns=61, healed_ns=650)
    assert audited(faults=(KILLED, cut)) == []


def test_only_a_mark_that_was_there_during_the_audits_excuses_them():
    """A ledger that was repaired for another bookie before has to be marked again."""
    repaired = (marked(20, "b3"), unmarked(40))
    assert audited(*repaired) == [("not_marked", -1, -1)]
    assert audited(marked(20, "b3"), unmarked(99)) == [("not_marked", -1, -1)]
    assert audited(marked(20, "b3"), unmarked(100)) == []
    assert audited(marked(20, "b3")) == []
    assert audited(*repaired, marked(505, "b4")) == []
    assert audited(*repaired, marked(506, "b4")) == [("not_marked", -1, -1)]


def test_a_mark_that_is_made_after_five_audits_comes_too_late():
    later = [*audit(600, 605), *audit(700, 705)]
    assert audited(*later, marked(650, "b4")) == [("not_marked", -1, -1)]
    assert audited(*later, marked(303, "b4")) == []
    assert ("not_marked", -1, -1) in audited(*later, marked(103, "b4"), unmarked(104))


def test_many_audits_are_gone_through_until_the_first_that_had_to_mark_the_ledger(monkeypatch):
    asked = []

    def counting(*of):
        asked.append(of)
        return in_force(*of)

    monkeypatch.setattr("checkers.replicas.marks.in_force", counting)
    many = [row for at in range(100, 900, 10) for row in audit(at, at + 5)]
    assert audited(audits=many) == [("not_marked", -1, -1)]
    assert len(asked) == 1
    asked.clear()
    assert audited(marked(80, "b4"), audits=many) == audited(marked(145, "b4"), audits=many) == []
    assert not asked
    assert audited(marked(146, "b4"), audits=many) == [("not_marked", -1, -1)]


def test_a_bookie_that_was_back_or_still_registered_was_not_gone():
    back = [*boot(4, 2, began=70), event(75, "b4", "znode_created")]
    assert audited(*back) == []
    registered = [row for row in GONE if row["event"] != "znode_gone"]
    assert audited(gone=registered, faults=()) == []


READ_ONLY = [event(20, "b4", "readonly_created"), event(21, "b4", "znode_gone"), *four(killed=50), elected()]


def test_a_read_only_bookie_is_gone_when_that_registration_has_vanished():
    """The auditor counts it as available until its session ends."""
    assert audited(gone=READ_ONLY) == []
    assert audited(event(60, "b4", "readonly_gone"), gone=READ_ONLY) == [("not_marked", -1, -1)]
    assert audited(event(250, "b4", "readonly_gone"), gone=READ_ONLY) == []
    removed = (marked(105, "b4"), unmarked(200))
    assert audited(*removed, audits=(), gone=READ_ONLY) == []
    gone = [*READ_ONLY, event(60, "b4", "readonly_gone")]
    assert audited(*removed, audits=(), gone=gone) == [("unmarked_unrepaired", -1, -1)]
    again = event(150, "b4", "readonly_created")
    assert audited(*removed, again, audits=(), gone=gone) == []


def test_a_mark_that_goes_while_its_bookie_is_gone_and_still_named_is_an_anomaly():
    removed = (marked(105, "b4"), unmarked(200))
    assert audited(*removed, audits=()) == [("unmarked_unrepaired", -1, -1)]
    assert audited(*removed, marked(300, "b4"), unmarked(400), audits=()) == [("unmarked_unrepaired", -1, -1)]
    assert audited(*removed, audits=(), parts=ledger()) == []
    assert audited(*removed, *boot(4, 2, began=150), audits=()) == []
    assert audited(*removed, *boot(4, 2, began=200), audits=()) == []
    assert audited(*removed, *boot(4, 2, began=201), audits=()) == [("unmarked_unrepaired", -1, -1)]
    replaced = closed(9, number=2, fragments={0: ("b1", "b2", "b3")}, earliest_ns=150, latest_ns=160)
    assert ("unmarked_unrepaired", -1, -1) not in audited(*removed, audits=(), parts=facts(ON_B4, replaced))
