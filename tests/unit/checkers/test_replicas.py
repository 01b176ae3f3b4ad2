"""Replicas, as stories of a ledger, its bookies, and an auditor that was quiet or not."""

from checkers.judging.judge import judge
from checkers.replicas.checker import Replicas
from evidence.codes import Holding
from tests.histories.boots import boot, commanded, fault
from tests.histories.repairs import audit, elected, event, marked, quiet, shown, unmarked
from tests.histories.story import (
    chunk,
    closed,
    created,
    deleted,
    facts,
    kinds,
    lac_read,
    opened,
    run_facts,
    vanished,
)

BOOKIES = {f"b{number}": number for number in range(1, 5)}
ALL = range(10)
QUIET = quiet()
BEFORE = {"earliest_ns": 10, "latest_ns": 12}


def judged(*parts, servers=QUIET, **run):
    verdict = judge(
        [chunk(facts(*parts))],
        run_facts(bookies=BOOKIES, servers=tuple(servers), **run),
        checkers=(Replicas(),),
    )
    return verdict.judgements["replicas"]


def ledger(last=9, fragments=None, **columns):
    """A ledger that was created and closed long before the census."""
    shape = {"fragments": fragments or {0: ("b1", "b2", "b3")}, **columns}
    return facts(created(**BEFORE, **shape), closed(last, earliest_ns=20, latest_ns=22, **shape))


def everywhere(number):
    return shown({1: ALL, 2: ALL, 3: ALL}, last=9, ledger=number)


def whole():
    return everywhere(1)


REMOVED = vanished(zxid=100, put_back=True, earliest_ns=30)
PUT_BACK = closed(9, zxid=101, put_back=True, earliest_ns=40)


def test_a_ledger_that_is_everywhere_is_valid():
    judgement = judged(ledger(), whole())
    assert (judgement.verdict, kinds(judgement)) == ("valid", [])
    assert judgement.seen == {"ledgers": 1, "entries": 10, "copies": 30, "marked_ledgers": 0}


def test_a_copy_that_is_missing_is_an_anomaly_that_names_who_lacks_it_and_since_when():
    boots = boot(2, began=1, killed=500) + boot(2, 2, began=600)
    judgement = judged(
        ledger(), shown({1: ALL, 2: range(4), 3: ALL}, last=9), servers=(*quiet(), *boots), began_ns=0
    )
    assert kinds(judgement) == [("under_replicated", 4, 9)]
    assert {kind: number for kind, number in judgement.counts.items() if number} == {"under_replicated": 6}
    assert judgement.findings[0].text == "ledger 1: entries 4..9: b2 lacks a copy"
    assert judgement.findings[0].proof == (
        "metadata version 1: WQ 3, from entry 0 on b1, b2, b3",
        "census pass 1: b2 showed none of entries 4..9, b1, b3 a copy",
        "b2 boot 1 was killed at 0.000000500 s",
        "the ledger was never marked under-replicated",
    )


def test_a_damaged_copy_is_none():
    history = shown({1: ALL, 2: range(4), 3: ALL}, last=9, holding=Holding.DAMAGED)
    assert kinds(judged(ledger(), history)) == [("under_replicated", 4, 9)]


def test_an_entry_on_none_of_its_bookies_is_a_hole():
    missing = {bookie: (*range(5), *range(6, 10)) for bookie in (1, 2, 3)}
    assert kinds(judged(ledger(), shown(missing, last=9))) == [("hole", 5, 5)]
    unasked = shown({1: missing[1], 2: missing[2]}, last=9)
    assert ("under_replicated", 5, 5) in kinds(judged(ledger(), unasked))
    elsewhere = shown({**missing, 4: (5,)}, last=9)
    assert kinds(judged(ledger(), elsewhere)) == [("under_replicated", 5, 5)]


def test_only_the_write_set_of_an_entry_owes_it():
    two = {"write_quorum": 2, "ack_quorum": 2}
    held = {1: (0, 2, 3, 5), 2: (0, 1, 3, 4), 3: (1, 2, 4, 5)}
    assert judged(ledger(5, **two), shown(held, last=5)).verdict == "valid"
    held[3] = (1, 2, 4)
    assert kinds(judged(ledger(5, **two), shown(held, last=5))) == [("under_replicated", 5, 5)]


def test_only_the_fragment_of_an_entry_owes_it():
    fragments = {0: ("b1", "b2", "b3"), 6: ("b1", "b4", "b3")}
    held = {1: ALL, 2: range(6), 3: ALL, 4: range(6, 10)}
    assert judged(ledger(fragments=fragments), shown(held, last=9)).verdict == "valid"


def test_the_bookie_that_took_anothers_place_owes_what_the_other_had():
    before = ledger()
    after = closed(9, number=2, fragments={0: ("b1", "b2", "b4")}, earliest_ns=700, latest_ns=702)
    held = {1: ALL, 2: ALL, 3: ALL, 4: range(3)}
    assert kinds(judged(before, after, shown(held, last=9))) == [("under_replicated", 3, 9)]


def test_a_change_while_the_census_asks_is_no_anomaly_of_the_old_or_the_new_bookie():
    after = closed(9, number=2, fragments={0: ("b1", "b2", "b4")}, earliest_ns=1050, latest_ns=1060)
    held = {1: ALL, 2: ALL, 3: (), 4: ()}
    assert kinds(judged(ledger(), after, shown(held, last=9))) == []


def test_a_bookie_owes_during_a_change_only_what_it_owes_before_and_after():
    fragments = {0: ("b1", "b2", "b3"), 5: ("b1", "b4", "b3")}
    moved = {0: ("b1", "b2", "b3"), 5: ("b2", "b4", "b3")}
    after = closed(9, number=2, fragments=moved, earliest_ns=1050, latest_ns=1060)
    held = {1: range(5), 2: range(5), 3: ALL, 4: range(5, 10)}
    assert kinds(judged(ledger(fragments=fragments), after, shown(held, last=9))) == []


def test_an_open_ledger_owes_what_its_lac_covers_not_what_the_final_open_found():
    history = facts(created(**BEFORE), lac_read(4), shown({1: ALL, 2: ALL, 3: range(6)}, last=9))
    late = facts(opened(9), closed(9, earliest_ns=1500, latest_ns=1502))
    judgement = judged(history, late)
    assert (judgement.verdict, judgement.seen["entries"]) == ("valid", 5)
    assert kinds(judged(history, late, lac_read(7, seq=51))) == [("under_replicated", 6, 7)]


def test_the_first_of_the_two_last_passes_counts():
    healed = [
        (table, row if row["pass_number"] == 1 else {**row, "holding": int(Holding.PRESENT)})
        for table, row in shown({1: ALL, 2: range(4), 3: ALL}, last=9)
    ]
    assert kinds(judged(ledger(), healed)) == [("under_replicated", 4, 9)]
    early = [(table, {**row, "pass_number": row["pass_number"] + 1}) for table, row in whole()]
    lacking = [fact for fact in shown({1: ALL, 2: range(4), 3: ALL}, last=9) if fact[1]["pass_number"] == 1]
    assert judged(ledger(), lacking, early).verdict == "valid"


def test_different_copies_are_an_anomaly():
    history = [
        (table, {**row, "size_bytes": 64} if row["bookie"] == 2 and row["entry"] == 3 else row)
        for table, row in whole()
    ]
    assert kinds(judged(ledger(), history)) == [("differing", 3, 3)]


def test_a_copy_that_nobody_owes_may_differ():
    history = [
        (table, {**row, "size_bytes": 64} if row["bookie"] == 4 else row)
        for table, row in shown({1: ALL, 2: ALL, 3: ALL, 4: ALL}, last=9)
    ]
    assert judged(ledger(), history).verdict == "valid"


def test_a_bookie_that_is_down_is_named_and_is_no_anomaly():
    boots = boot(1, began=1) + boot(2, began=1) + boot(3, began=1, stopped=500)
    history = shown({1: ALL, 2: ALL, 3: ()}, last=9, holding=Holding.UNKNOWN)
    judgement = judged(ledger(), history, servers=(*quiet(), *boots))
    assert (judgement.verdict, kinds(judgement)) == ("unknown", [])
    assert judgement.notes == ("ledger 1: b3 was down for 10 entries from 0 on",)


def test_a_bookie_that_was_not_asked_has_proved_nothing():
    judgement = judged(ledger(), shown({1: ALL, 2: ALL}, last=9), servers=(*quiet(), *boot(3)))
    assert judgement.verdict == "unknown"
    assert judgement.notes == ("ledger 1: b3 gave no answer for 10 entries from 0 on",)


def test_a_bookie_that_the_run_does_not_know_can_have_shown_nothing():
    judgement = judged(ledger(fragments={0: ("b1", "b2", "b9")}), shown({1: ALL, 2: ALL}, last=9))
    assert (judgement.verdict, kinds(judgement)) == ("unknown", [])
    assert judgement.notes == ("ledger 1: a bookie that is not of the run owes 10 entries from 0 on",)


def test_a_ledger_that_was_deleted_owes_nothing():
    lacking = shown({1: ALL, 2: (), 3: ()}, last=9)
    assert kinds(judged(ledger(), lacking, deleted())) == []
    assert kinds(judged(ledger(), lacking, vanished(earliest_ns=30, latest_ns=31))) == []


def test_a_ledger_whose_metadata_a_fault_removed_and_put_back_owes_its_copies():
    lacking = facts(ledger(), shown({1: ALL, 2: (), 3: ALL}, last=9), ledger(ledger=2), everywhere(2))
    assert kinds(judged(lacking, REMOVED)) == []
    assert kinds(judged(lacking, REMOVED, PUT_BACK)) == [("under_replicated", 0, 9)]


def test_a_lac_of_another_ledger_with_the_same_id_promises_no_copies_of_this_one():
    lacking = facts(lac_read(9), shown({1: ALL, 2: (), 3: ALL}, last=9), created(**BEFORE))
    assert kinds(judged(lacking)) == [("under_replicated", 0, 9)]
    again = created(zxid=101, earliest_ns=40, latest_ns=42)
    assert kinds(judged(lacking, REMOVED, again)) == []


def test_a_version_that_nobody_saw_leaves_its_ledger_open():
    late = closed(9, number=2, earliest_ns=20, latest_ns=22)
    judgement = judged(created(**BEFORE), late, shown({1: ALL, 2: (), 3: ()}, last=9))
    assert judgement.verdict == "unknown"
    assert judgement.notes == ("ledger 1: a version of its metadata was not seen",)


def lacking_copies():
    return facts(ledger(), shown({1: ALL, 2: (), 3: ALL}, last=9))


def assert_unrest(servers, note, **run):
    """No anomaly; for a plan that requires the property it is unknown."""
    judgement = judged(lacking_copies(), servers=servers, **run)
    assert (judgement.verdict, kinds(judgement)) == ("not judged", [])
    assert judgement.notes == (note,)
    assert judged(lacking_copies(), servers=servers, required=("replicas",), **run).verdict == "unknown"


def test_without_autorecovery_nothing_is_judged():
    assert_unrest((), "no auditor was elected: nothing was repaired")


def test_an_audit_has_to_begin_after_the_last_death_and_end_before_the_census():
    boots = boot(2, killed=500)
    unseen = "no audit was begun and ended after b2 was lost"
    assert_unrest((elected(), *boots, *audit(500, 510)), unseen)
    assert_unrest((elected(), *boots, *audit(600, 1000)), unseen)
    assert_unrest((elected(), *boots), unseen)
    assert_unrest((*quiet(), event(960, "b2", "znode_gone")), unseen)
    assert_unrest((elected(),), "no audit was begun and ended")
    assert kinds(judged(lacking_copies(), servers=(*quiet(), event(960, "ar2", "exit", code=0))))
    assert kinds(judged(lacking_copies(), servers=(*quiet(), event(1000, "b2", "znode_gone"))))
    assert kinds(judged(lacking_copies(), servers=(elected(), *boots, *audit(501, 999))))


def test_an_audit_has_to_begin_after_a_fault_has_acted():
    wiped = fault(kind="wipe", target="b2", confirmed_ns=940, healed_ns=950)
    assert_unrest(quiet(), "no audit was begun and ended after fault 1 (wipe b2)", faults=(wiped,))
    cut = fault(kind="cut", target="writer-b2", confirmed_ns=10, healed_ns=940)
    assert_unrest(quiet(), "no audit was begun and ended after fault 1 (cut writer-b2)", faults=(cut,))
    assert_unrest(
        quiet(),
        "no audit was begun and ended after fault 1 (cut writer-b2)",
        faults=({**cut, "healed_ns": 900},),
    )
    assert kinds(judged(lacking_copies(), faults=({**cut, "healed_ns": 899},)))
    assert kinds(judged(lacking_copies(), faults=({**cut, "injected_ns": 1000, "healed_ns": 1010},)))


def test_an_audit_has_to_begin_after_an_operator_worked_on_a_bookies_files():
    servers = (*quiet(), *commanded("b2", at=930, until=940))
    assert_unrest(servers, "no audit was begun and ended after an operator's rebuild_index")
    assert kinds(judged(lacking_copies(), servers=(*quiet(), *commanded("b2", at=5, until=8))))


def test_a_mark_that_is_still_there_leaves_everything_open():
    note = "ledger 1 was still marked under-replicated, lacking b2"
    assert_unrest((*quiet(), marked(600, "b2")), note)
    assert_unrest((*quiet(), marked(600, "b2"), unmarked(700), marked(800, "b2")), note)
    for at_ns in (1000, 1005):
        late = (*quiet(), marked(600, "b2"), event(at_ns, "zk1", "ledger_unmarked", ledgerId=1, within_ns=10))
        assert_unrest(late, "ledger 1 was perhaps still marked under-replicated")


def test_repair_that_is_switched_off_promises_nothing():
    off, on = event(600, "zk1", "repair_disabled"), event(700, "zk1", "repair_enabled")
    assert_unrest((*quiet(), off), "repair was switched off at 0.000000600 s")
    assert kinds(judged(lacking_copies(), servers=(*quiet(), off, on)))


MS = 1_000_000


def seconds_later():
    """Whole copies, each census pass a second after the one before."""
    second = 1_000 * MS
    return [
        (table, {**row, "asked_ns": row["pass_number"] * second, "answered_ns": row["pass_number"] * second})
        for table, row in whole()
    ]


def test_the_time_to_full_replication_runs_from_the_first_death_to_the_last_mark_that_vanishes():
    rows = [
        *boot(1, began=1, stopped=2 * MS),  # died before, and was not repaired
        *boot(2, began=1, killed=10 * MS),
        elected(),
        *audit(15 * MS, 16 * MS),
        marked(20 * MS, "b2"),
        marked(25 * MS, "b2", ledger=2),
        unmarked(40 * MS),
        unmarked(73 * MS, ledger=2),
        *audit(80 * MS, 81 * MS),
    ]
    judgement = judged(ledger(), seconds_later(), servers=rows)
    assert judgement.seen["full_replication_ms"] == 63
    assert judgement.seen["marked_ledgers"] == 2


def test_of_two_bookies_that_one_mark_names_the_first_death_counts():
    deaths = (*boot(2, began=1, killed=10 * MS), *boot(3, began=1, killed=510 * MS))
    marks = (elected(), marked(520 * MS, "b2", "b3"), unmarked(530 * MS))
    rows = [*deaths, *marks, *audit(600 * MS, 601 * MS)]
    assert judged(ledger(), seconds_later(), servers=rows).seen["full_replication_ms"] == 520


def test_damaged_evidence_is_no_anomaly():
    for damage in ("census: torn", "ledgers: changed", "servers: torn", "faults: torn"):
        judgement = judged(lacking_copies(), damage=(damage,))
        assert (judgement.verdict, kinds(judgement)) == ("unknown", [])
        assert judgement.notes == (f"damaged evidence: {damage}",)
        assert judged(ledger(), damage=(damage,)).notes == judgement.notes
