"""Metadata that a fault of the run put back in time: named, and no anomaly for that alone."""

from __future__ import annotations

import json

import pytest

from evidence.codes import NEVER, Holding, Kind, Message, Outcome, Status
from evidence.collect.ledgers import collect_ledgers
from evidence.findings import Verdict
from evidence.schemas import OPERATIONS
from tests.histories.boots import boot, fault, fenced, said, took
from tests.histories.story import (
    SIZE,
    Fact,
    acked,
    answered,
    closed,
    created,
    deleted,
    delivered,
    facts,
    found,
    judged,
    kept,
    kinds,
    kinds_found,
    lac_read,
    lost,
    metadata,
    opened,
    operation,
    recovered,
    recovering,
    unsure,
    vanished,
)
from tests.unit.checkers.test_availability import Read
from tests.unit.evidence.transactions import CLOCK, MS, put_back, txn
from tests.unit.evidence.transactions import metadata as written

RESTORED = fault(3, "restore_metadata", "zk1", proof=json.dumps({"injected": {"zxid": hex(100)}}))
THREE_ACKED = [acked(entry) for entry in range(3)]


def back(number: int, state: int = 1, *, zxid: int = 100, **columns):
    """The row of a ledger that was put back to that version."""
    return metadata(number, state, zxid=zxid, put_back=True, **columns)


def later(version, zxid: int):
    """A version that was made after the store had been put back."""
    table, row = version
    return table, {**row, "zxid": zxid}


def verdict_on(*parts, **run):
    return judged(*parts, faults=(RESTORED,), **run)


def test_versions_that_a_restore_undid_are_no_move_of_bookkeeper() -> None:
    judgement = verdict_on(created(), recovering(1), closed(4, 2), back(1, 2)).judgements["metadata"]
    assert (judgement.verdict, judgement.findings) == (Verdict.VALID, ())
    assert judgement.seen["put_back"] == 1
    assert judgement.notes == (
        "ledger 1: metadata put back from version 2 to version 1 by fault 3 (restore_metadata zk1)",
    )


def test_what_follows_from_there_is_judged_like_any_other() -> None:
    legal = [created(), recovering(1), closed(4, 2), back(1, 2), later(closed(3, 2), 101)]
    assert not verdict_on(legal).judgements["metadata"].findings
    wrong = [created(), recovering(1), closed(4, 2), back(1, 2), later(metadata(2, 1), 101)]
    (finding,) = verdict_on(wrong).judgements["metadata"].findings
    assert finding.kind == "illegal_move"
    twice = [created(), closed(4, 1), later(closed(5, 1), 50), back(0)]
    (finding,) = verdict_on(twice).judgements["metadata"].findings
    assert finding.kind == "two_versions"


def test_a_version_that_is_missing_behind_a_restore_is_not_seen() -> None:
    history = [created(), recovering(1), back(0), later(closed(4, 2), 101)]
    (put_back, unseen) = reversed(verdict_on(history).judgements["metadata"].notes)
    assert unseen == "ledger 1: metadata versions 1 not seen"
    assert put_back.startswith("ledger 1: metadata put back")


def test_a_close_upon_metadata_that_is_behind_is_no_anomaly() -> None:
    grown = {"fragments": {0: ("b1", "b2", "b3"), 1: ("b1", "b2", "b4")}}
    history = [
        THREE_ACKED,
        *(created(), metadata(1, 1, **grown)),
        *(back(0), later(recovering(1), 101), later(closed(0, 2), 102)),
        *(opened(0), kept(0), found(0), lost(1), lost(2)),
    ]
    verdict = verdict_on(history)
    assert verdict.judgements["closing"].verdict is Verdict.VALID
    (finding,) = verdict.judgements["durability"].findings
    assert (finding.kind, finding.loss, finding.count) == ("lost", "put_back", 2)
    assert any("put back from version 1 to version 0" in note for note in verdict.judgements["closing"].notes)


def test_a_close_before_the_restore_is_still_an_anomaly() -> None:
    """Of entries that were promised before it as well: at 2 they were acknowledged."""
    for at, below in ((2, []), (3, [("closed_below", 1, 2)])):
        undone = [created(), closed(0), back(0, earliest_ns=at), later(closed(2, 1), 101)]
        assert kinds(verdict_on(THREE_ACKED, undone, opened(2)), "closing") == below
        read = [acked(0), unsure(1), unsure(2), delivered(1), delivered(2)]
        assert kinds(verdict_on(read, undone), "closing") == below


def test_a_close_binds_no_promise_of_another_ledger_that_had_its_id_later() -> None:
    """The first one ended at 0; what clients know of the other, they know since the store was emptied."""
    first = [acked(0, completed_ns=8), created(), closed(0), back(2, 0, earliest_ns=50)]
    late = {"invoked_ns": 60, "completed_ns": 61}
    other = [acked(1, **late), delivered(2, **late), lac_read(3, **late), later(created(), 101)]
    verdict = verdict_on(first, other, later(closed(3), 102))
    assert kinds(verdict, "closing") == []


def test_a_ledger_that_is_open_again_has_no_end_that_proves_a_loss() -> None:
    first = [acked(0), created(), closed(0), back(2, 0)]
    verdict = verdict_on(first, acked(1), later(created(), 101))
    assert not verdict.judgements["durability"].findings
    assert verdict.judgements["durability"].counts["unavailable"] == 2
    assert verdict.judgements["closing"].undecided == (1,)


def test_a_close_is_an_anomaly_again_once_the_metadata_is_what_it_had_been() -> None:
    history = [
        THREE_ACKED,
        *(
            created(),
            back(1, 0, earliest_ns=50),
            back(0, zxid=200),
            later(recovering(1), 201),
            later(closed(-1, 2), 202),
        ),
        *(opened(-1), lost(0), lost(1), lost(2)),
    ]
    verdict = verdict_on(history)
    assert kinds(verdict, "closing") == [("closed_below", 0, 2)]
    (finding,) = verdict.judgements["durability"].findings
    assert (finding.kind, finding.loss) == ("lost", "put_back")


def test_two_ends_of_two_lives_are_no_contradiction_and_two_of_one_are() -> None:
    one = [created(), closed(2, 1), back(0), later(closed(1, 1), 101)]
    assert not verdict_on(one).judgements["closing"].findings
    two = [created(), closed(2, 1), closed(1, 2), back(0)]
    assert ("two_ends", 2, 2) in kinds(verdict_on(two), "closing")


def test_what_clients_were_told_of_two_lives_is_no_contradiction() -> None:
    versions = [created(), closed(2, 1), back(0), later(closed(1, 1), 101)]
    writer = operation(Kind.CREATE, handle=1), operation(Kind.CLOSE, handle=1, result=1, seq=70)
    assert not verdict_on(versions, writer, recovered(1)).judgements["closing"].findings
    assert verdict_on(versions[:2], writer).judgements["closing"].findings
    assert verdict_on(versions[:2], recovered(1)).judgements["closing"].findings


TWICE = [acked(0), delivered(0), acked(0, size_bytes=64, seq=9, handle=2), kept(0, size_bytes=64)]


def test_an_id_that_is_used_again_after_the_metadata_was_put_back_is_no_second_add() -> None:
    """The store was emptied, or put back to a time before the ledger; the next one gets the same id."""
    again = [created(), back(1, 0), later(created(), 101), later(closed(0, 1), 102)]
    stale = [answered(0, 1, Holding.PRESENT), answered(0, 2, Holding.PRESENT, size_bytes=64)]
    reused = verdict_on(TWICE, again, stale)
    assert not {"order/acked_twice", "content/two_writings"} & kinds_found(reused)
    assert reused.judgements["order"].verdict is Verdict.VALID
    other = [created(ledger=2), back(1, 0, ledger=2), created(), closed(0)]
    assert {"order/acked_twice", "content/two_writings"} <= kinds_found(verdict_on(TWICE, other, stale))


@pytest.mark.parametrize("size_bytes", [64, SIZE])
def test_which_of_two_ledgers_with_one_id_was_promised_what_is_unknown(size_bytes) -> None:
    """Only the second one has its entry: that says nothing of the first one's, however alike they are."""
    late = {"handle": 2, "invoked_ns": 62, "completed_ns": 63}
    first = [operation(Kind.CREATE), acked(0), created(), back(1, 0, earliest_ns=50)]
    add = acked(0, seq=9, size_bytes=size_bytes, **late)
    end = later(closed(0, length_bytes=size_bytes), 102)
    second = [operation(Kind.CREATE, seq=8, **late), later(created(), 101), add, end]
    last = [opened(0), kept(0, size_bytes=size_bytes), found(0)]
    durability = verdict_on(first, second, last).judgements["durability"]
    assert (durability.verdict, durability.undecided) == (Verdict.UNKNOWN, (1,))
    assert any("its id was given again" in note for note in durability.notes)
    restored = [acked(0), created(), back(0), later(closed(0), 101), opened(0), kept(0), found(0)]
    assert verdict_on(restored).judgements["durability"].verdict is Verdict.VALID


def test_an_id_that_is_used_again_after_a_client_had_deleted_the_first_ledger_parts_the_two() -> None:
    """The store was emptied when the ledger was deleted already, so that changed nothing of the ledger."""

    def versions(zxid: int, last: int) -> list[dict[str, object]]:
        end = written("CLOSED", last_entry=last)
        return [txn(zxid, "create", data=written("OPEN")), txn(zxid + 1, "set", version=1, data=end)]

    def clients(at_ms: int, last: int, **writer: int) -> list[object]:
        when = {"invoked_ns": at_ms * MS, "completed_ns": at_ms * MS + 1, "ledger": 7, **writer}
        return [
            *(acked(entry, **when) for entry in range(last + 1)),
            operation(Kind.CREATE, **when),
            operation(Kind.CLOSE, result=last, **{**when, "completed_ns": at_ms * MS + 9 * MS}),
        ]

    removed = [txn(20, "delete"), put_back(100, 0, 150 * MS)]
    lines = [*versions(1, 9), *removed, *versions(200, 19)]
    collected = collect_ledgers(lines, CLOCK, OPERATIONS.empty_table())
    rows = [("ledgers", row) for row in collected.table.to_pylist()]
    told = [clients(2, 9), deleted(ledger=7, invoked_ns=15 * MS), clients(210, 19, handle=2)]
    verdict = verdict_on(rows, told)
    assert not kinds_found(verdict)
    assert any("its id was free again after fault 3" in note for note in verdict.judgements["closing"].notes)
    for row in rows:
        row[1]["put_back"] = False
    found = {"metadata/two_versions", "closing/two_ends", "closing/closed_below", "order/acked_twice"}
    assert found <= kinds_found(verdict_on(rows, told))


def test_with_damaged_metadata_nobody_knows_which_ids_were_used_again() -> None:
    found = {"order/acked_twice", "content/two_writings"}
    damaged = {"damage": ("ledgers: line 3",)}
    hidden = verdict_on(TWICE, created(), **damaged)
    assert not found & kinds_found(hidden)
    assert {hidden.judgements[name].verdict for name in ("order", "content")} == {Verdict.UNKNOWN}
    assert found <= kinds_found(judged(TWICE, created(), **damaged))


def test_a_bookie_that_was_fenced_for_another_ledger_of_the_same_id_may_take_an_add() -> None:
    """It has collected the former ledger, with its fence, when the store no longer knew it."""
    wire = [fenced(1, 10), took(0, 1, 200)]
    versions = [created(), back(1, 0), later(created(), 101)]
    assert "fencing/accepted_when_fenced" not in kinds_found(verdict_on(versions, wire, wire=True))
    assert "fencing/accepted_when_fenced" in kinds_found(verdict_on(created(), wire, wire=True))


def test_a_bookie_may_deny_what_it_took_for_another_ledger_of_the_same_id() -> None:
    wire = [took(0, 1, 10), said(Message.READ, 1, 20, entry=0, status=Status.ENOENTRY)]
    versions = [created(), closed(0), back(0)]
    assert "answers/denied_own_ack" not in kinds_found(verdict_on(versions, wire, wire=True))
    assert "answers/denied_own_ack" in kinds_found(verdict_on(versions[:2], wire, wire=True))


def test_whether_a_recovery_upon_metadata_that_was_put_back_is_stuck_stays_open() -> None:
    alive = {"bookies": {f"b{number}": number for number in (1, 2, 3)}}
    alive["servers"] = tuple(row for bookie in (1, 2, 3) for row in boot(bookie))
    times = {"invoked_ns": 100, "completed_ns": 109}
    refused = opened(-1, outcome=Outcome.UNKNOWN, error=-10, **times)
    versions = [created(), recovering(1), back(1, 2)]
    assert verdict_on(versions, refused, **alive).judgements["availability"].undecided == (1,)
    assert "availability/stuck" in kinds_found(judged(versions[:2], refused, **alive))


AFTER_CLOSE = {
    "fencing/added_after_close": acked(1, invoked_ns=200, completed_ns=210, lac=0),
    "closing/closed_below": acked(1, lac=0),
    "durability/lost": acked(1, lac=0),
    "closing/two_ends": recovered(1, lac=0),
    "lac/beyond_close": lac_read(1, invoked_ns=200, completed_ns=210),
    "metadata/illegal_move": metadata(2, 1),
}


@pytest.mark.parametrize("name", sorted(AFTER_CLOSE.keys() - {"metadata/illegal_move"}))
def test_a_close_that_was_undone_binds_nobody(name) -> None:
    history = [created(), closed(0, 1, latest_ns=100), AFTER_CLOSE[name]]
    assert name in kinds_found(verdict_on(history))
    assert name not in kinds_found(verdict_on(history, back(0)))


@pytest.mark.parametrize("name", AFTER_CLOSE)
def test_a_close_of_damaged_metadata_may_have_been_undone(name) -> None:
    history = [created(), closed(0, 1, latest_ns=100), AFTER_CLOSE[name]]
    damaged = {"damage": ("ledgers: line 3",)}
    assert name not in kinds_found(verdict_on(history, **damaged))
    assert name in kinds_found(judged(history, **damaged)) & kinds_found(verdict_on(history))


def test_a_ledger_that_our_fault_removed_is_an_explained_loss() -> None:
    history = [THREE_ACKED, created(), back(1, 0), acked(0, ledger=2), created(ledger=2), closed(0, ledger=2)]
    ending = [opened(0, ledger=2), kept(0, ledger=2), found(0, ledger=2)]
    verdict = verdict_on(history, ending)
    (finding,) = verdict.judgements["durability"].findings
    assert (finding.kind, finding.loss, finding.count) == ("vanished", "explained", 3)
    assert finding.proof[0] == "ledger 1: removed from the metadata by fault 3 (restore_metadata zk1)"
    assert verdict.judgements["closing"].verdict is Verdict.VALID
    excused = verdict_on(history, ending, allowance={1: 3})
    assert excused.headline.startswith("valid within allowance: 3 lost of 4 acknowledged entries")
    assert verdict_on(history, ending, allowance={1: 2}).verdict is Verdict.ANOMALY


def test_an_empty_ledger_that_our_fault_removed_is_only_named() -> None:
    history = [created(), back(1, 0), acked(0, ledger=2), created(ledger=2), closed(0, ledger=2)]
    verdict = verdict_on(history, opened(0, ledger=2), kept(0, ledger=2), found(0, ledger=2))
    durability = verdict.judgements["durability"]
    assert durability.verdict is Verdict.VALID
    assert any("removed from the metadata by fault 3" in note for note in durability.notes)


def test_a_ledger_that_somebody_else_removed_is_vanished_as_ever() -> None:
    history = [acked(0), created(), vanished(1), later(created(ledger=2), 11), back(1, 0, ledger=2)]
    (finding,) = verdict_on(history, allowance={1: 10, 2: 10}).judgements["durability"].findings
    assert (finding.kind, finding.loss, finding.ledger) == ("vanished", "", 1)


def test_an_add_after_a_close_that_was_undone_is_no_lost_fence() -> None:
    history = [created(), closed(0, 1, latest_ns=100), back(0, latest_ns=NEVER), acked(3, invoked_ns=200)]
    assert verdict_on(history, wire=True).judgements["fencing"].verdict is Verdict.UNKNOWN


def test_a_close_that_our_fault_put_back_is_no_recovery() -> None:
    verdict = verdict_on(created(), closed(4), back(1, 3, last_entry=4), wire=True)
    assert verdict.judgements["recovery"].seen["recoveries"] == 0


def test_a_ledger_that_somebody_else_removed_before_our_fault_put_it_back_is_vanished() -> None:
    verdict = verdict_on(acked(0), created(), vanished(1), back(0))
    (finding,) = verdict.judgements["durability"].findings
    assert (finding.kind, finding.loss, finding.ledger) == ("vanished", "", 1)
    assert finding.proof[0] == "the metadata was removed by transaction 0xb"
    note = verdict.judgements["closing"].notes[1]
    assert note.startswith("ledger 1: metadata put back from nothing to version 0 by fault 3")


def test_of_many_ledgers_that_vanished_the_faults_are_read_once() -> None:
    def walks(number: int, gone: Fact) -> int:
        Read.walks = 0
        ledgers = range(1, number + 1)
        story = facts(acked(0), created(), gone)
        history = [(table, {**row, "ledger": one}) for one in ledgers for table, row in story]
        judgement = judged(history, faults=Read((RESTORED,))).judgements["durability"]
        assert judgement.counts["vanished_ledgers"] == number
        return Read.walks

    for gone in (vanished(1), back(1, 0)):
        assert walks(1, gone) == walks(20, gone)
