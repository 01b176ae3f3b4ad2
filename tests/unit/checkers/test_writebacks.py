"""What recoverers write back, and where BP-46 asks for more than the client does."""

import pytest

from evidence.codes import Direction, Flag, FrameFlag, Message
from evidence.findings import Verdict
from tests.histories.asking import CLOSED_BY as BY
from tests.histories.asking import (
    EIO,
    ENOENTRY,
    answered,
    asked,
    exchange,
    fencing,
    plain_read,
    read,
    recovered,
    recovery,
    swallowed,
    write_back,
)
from tests.histories.boots import UNPROVEN, fault
from tests.histories.story import BOOKIES, acked, closed, created, finds, judging, recovering

judgement_of = judging("recovery", wire=True)
found = finds("recovery", wire=True)


def test_one_positive_answer_is_enough_to_write_an_entry_back():
    judgement = judgement_of(recovered(5), recovery(5, found=(5,)))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["written_back"] == 1


def test_a_close_before_the_write_back_reached_an_ack_quorum_is_an_anomaly():
    parts = [recovered(5), *[fact for fact in recovery(5, found=(5,)) if not acknowledges(fact, "b2", "b3")]]
    assert found(*parts) == [("not_written_back", 5, 5)]
    assert judgement_of(*parts).findings[0].proof[1:] == (
        "reader was given entry 5 by b1 in a recovery read",
        "recovery adds of entry 5 were acknowledged to reader by b1 (AQ 2)",
    )


def test_two_of_three_acknowledgements_of_a_write_back_are_enough():
    facts = [fact for fact in recovery(5, found=(5,)) if not acknowledges(fact, "b3")]
    assert found(recovered(5), *facts) == []


FIRST_TRY = [asked("reader", bookie, fencing(), at=10) for bookie in ("b1", "b2", "b3")] + [
    answered("reader", "b1", fencing(), at=11, lac=3),
    answered("reader", "b2", fencing(), at=11, lac=2),
    *exchange("reader", "b1", read(4), at=20),
    *exchange("reader", "b1", write_back(4), at=22),
    *(asked("reader", bookie, write_back(4), at=22) for bookie in ("b2", "b3")),
]


def second_try(lac):
    """b3 answers with that LAC, and entry 5 is found there and written back to all."""
    return [
        *(asked("reader", bookie, fencing(), at=50) for bookie in ("b1", "b3")),
        answered("reader", "b1", fencing(), at=51, lac=3),
        answered("reader", "b3", fencing(), at=51, lac=lac),
        *exchange("reader", "b3", read(5), at=60),
        *(fact for bookie in ("b1", "b2", "b3") for fact in exchange("reader", bookie, write_back(5), at=62)),
        *(fact for bookie in ("b1", "b2") for fact in exchange("reader", bookie, read(6), ENOENTRY, at=70)),
    ]


def test_what_the_lac_of_a_later_try_confirms_need_not_be_written_back():
    """The first try read entry 4 and wrote it back to b1 alone; the second one began behind it."""
    assert found(recovered(5), FIRST_TRY, second_try(lac=4)) == []
    assert found(recovered(5), FIRST_TRY, second_try(lac=3)) == [("not_written_back", 4, 4)]


def test_of_entries_that_were_not_written_back_those_from_the_lac_on_are_named():
    facts = [fact for fact in recovery(8, found=(4, 5, 6, 7, 8)) if not acknowledges(fact, "b2", "b3")]
    facts += [answered("reader", "b2", read(6), at=38), answered("reader", "b2", write_back(7), at=60)]
    assert found(recovered(8), facts) == [("not_written_back", 4, 6), ("not_written_back", 8, 8)]
    first, _ = judgement_of(begun_at(4, recovered(8), facts)).findings
    assert (first.first_entry, first.last_entry, first.count) == (5, 6, 2)
    assert first.proof[1] == "reader was given entry 5 by b1 in a recovery read"


def test_another_recoverer_that_wrote_everything_back_may_have_closed():
    facts = [fact for fact in recovery(5, found=(5,)) if not acknowledges(fact, "b1", "b2", "b3")]
    assert found(recovered(5), *facts, *recovery(5, found=(5,), source="observer", at=40)) == []


def test_an_entry_read_above_the_end_need_not_be_written_back():
    facts = [fact for fact in recovery(5, found=(7,)) if fact[1]["kind"] != write_back(7)[0]]
    assert found(recovered(5), *facts) == []


def begun_at(lac, *parts):
    return [answered("reader", "b1", fencing(), at=9, lac=lac), *parts]


def test_recovery_reads_every_entry_after_the_lac_that_fencing_gave_it():
    parts = [recovered(5), recovery(5, found=(4, 5))]
    assert found(*begun_at(3, *parts)) == []
    assert found(*begun_at(1, *parts)) == [("not_read", 2, 3)]
    assert judgement_of(*begun_at(1, *parts)).findings[0].proof[1:] == (
        "the highest LAC that an answer to fencing brought reader is 1",
        "no positive answer to a recovery read of entry 2 had reached reader by then",
    )


def given(at=9, **lacs):
    return [answered("reader", bookie, fencing(), at=at, lac=lac) for bookie, lac in lacs.items()]


DENIED = [recovered(5), recovery(5, fenced=())]
BELOW = [("closed_below_lac", 6, 9)]


def test_a_recovery_does_not_close_below_the_lac_with_which_it_began():
    assert found(*DENIED, given(b1=9, b2=4)) == BELOW
    assert judgement_of(*DENIED, given(b1=9, b2=4)).findings[0].proof[1:] == (
        "reader went on by 0.000000020 s with these answers to fencing: LAC 9 from b1",
        "without them an ack quorum was not known to be fenced (answers of others: b2)",
    )
    assert found(*DENIED, given(b1=5, b2=5)) == []
    assert found(recovered(9), recovery(9, fenced=()), given(b1=9, b2=4)) == []


def test_a_lac_counts_that_the_answers_of_others_cannot_have_made_needless():
    """Two of three end fencing, and the third may come later than it was passed on."""
    assert found(*DENIED, given(b1=9, b2=4, b3=4)) == []
    assert found(*DENIED, given(b1=9, b2=4), answered("reader", "b3", fencing(), ENOENTRY, at=9)) == []
    assert found(*DENIED, given(b1=9, b2=7, b3=4)) == [("closed_below_lac", 6, 7)]
    assert found(*DENIED, given(b1=9, b2=9, b3=4)) == BELOW
    assert found(*DENIED, given(b1=9, b2=4), given(at=20, b3=4)) == []
    assert found(*DENIED, given(b1=9, b2=4), given(at=21, b3=4)) == BELOW
    assert found(*DENIED, given(b1=9, b2=4), answered("reader", "b3", fencing(), EIO, at=9)) == BELOW


def test_answers_to_an_earlier_try_bind_no_later_one():
    assert found(*DENIED, given(at=8, b1=9, b2=9), given(b2=4, b3=4)) == []


def test_another_recoverer_without_that_lac_may_have_closed():
    assert found(*DENIED, given(b1=9, b2=4), recovery(5, source="observer")) == []


@pytest.mark.parametrize("flag", [*UNPROVEN, FrameFlag.GARBLED])
def test_a_lac_that_may_not_be_the_bookies_own_binds_nobody(flag):
    odd = answered("reader", "b1", fencing(), at=9, lac=9, flags=flag)
    assert found(*DENIED, odd, given(b2=4)) == []


def test_a_lac_that_may_not_be_that_of_the_bookies_last_entry_binds_nobody():
    parts = [*DENIED, given(b1=9, b2=4)]
    assert found(*parts, acked(3, flags=Flag.ADV)) == []
    assert found(*parts, acked(3, flags=Flag.ADV, ledger=2)) == BELOW
    assert found(*parts, asked("writer", "b1", (Message.WRITE_LAC, -1))) == []
    back = [answered("observer", "b1", plain_read(5), at=3), asked("observer", "b1", write_back(5), at=9)]
    assert found(*parts, back) == []
    back[1] = asked("observer", "b1", write_back(5), at=10)
    assert found(*parts, back) == BELOW


@pytest.mark.parametrize("kind", ["corrupt", "garble", "fill", "power_loss", "other"])
def test_no_lac_binds_where_a_fault_may_have_damaged_entries(kind):
    assert found(*DENIED, given(b1=9, b2=4), faults=(fault(1, kind, "b3"),)) == []
    assert found(*DENIED, given(b1=9, b2=4), faults=(fault(1, "kill", "b3"),)) == BELOW


def test_a_gap_and_an_end_that_were_not_read_are_two_findings():
    parts = begun_at(0, recovered(7), recovery(7, found=(1, 3, 4)))
    assert found(*parts) == [("not_read", 2, 2), ("not_read", 5, 7)]


def test_the_highest_lac_counts_that_reached_the_recoverer():
    parts = [recovered(5), recovery(5, found=(5,))]
    assert found(*begun_at(2, answered("reader", "b2", fencing(), at=9, lac=4), *parts)) == []
    lost = swallowed("reader", "b2", fencing(), at=9, lac=4)
    assert found(*begun_at(2, lost, *parts)) == [("not_read", 3, 4)]
    other = answered("observer", "b2", fencing(), at=9, lac=4)
    assert found(*begun_at(2, other, *parts)) == [("not_read", 3, 4)]


def test_what_was_read_below_that_lac_leaves_no_gap():
    assert found(*begun_at(5, recovered(7), recovery(7, found=(0, 6, 7)))) == []


def test_entries_before_the_last_fragment_are_confirmed():
    fragments = {0: ("b1", "b2", "b3"), 5: ("b1", "b2", "b3")}
    parts = [recovered(5, fragments=fragments), recovery(5, found=(5,))]
    assert found(*begun_at(2, *parts)) == []


def test_the_last_fragment_is_the_highest_of_the_versions_in_recovery():
    later = {0: ("b1", "b2", "b3"), 5: ("b1", "b2", "b3")}
    versions = [created(), recovering(1), recovering(2, fragments=later), closed(5, 3, fragments=later)]
    assert found(*begun_at(2, versions, recovery(5, found=(5,)))) == []


def test_an_acknowledgement_at_the_moment_of_the_close_counts():
    facts = [fact for fact in recovery(5, found=(5,)) if not acknowledges(fact, "b2", "b3")]
    for at, expected in ((BY, []), (BY + 1, [("not_written_back", 5, 5)])):
        assert found(recovered(5), facts, answered("reader", "b2", write_back(5), at=at)) == expected


def test_without_a_lac_nothing_is_known_of_where_recovery_began():
    assert found(recovered(5), recovery(5, found=(5,))) == []


def test_a_recovering_bookie_may_have_read_from_itself():
    parts = [recovered(5), recovery(5, source="b3", found=(5,))]
    assert found(answered("b3", "b1", fencing(), at=9, lac=2), *parts) == []


def acknowledges(fact, *bookies):
    row = fact[1]
    same = (row["kind"], row["way"]) == (write_back(0)[0], Direction.ANSWER)
    return same and row["bookie"] in {BOOKIES[bookie] for bookie in bookies}


def test_an_entry_that_nobody_had_read_is_written_back():
    parts = [recovered(), recovery(4), asked("reader", "b2", write_back(3), at=30)]
    assert found(*parts) == [("wrote_back_unread", 3, 3)]
    assert judgement_of(*parts).seen["found_by_fewer_than_AQ"] == 0
    assert judgement_of(*parts).findings[0].proof == (
        "reader sent a recovery add of entry 3, at the proxy by 0.000000030 s",
        "no positive answer to a read of entry 3 had been passed on to reader by then",
    )


def test_only_an_answer_that_reached_the_source_before_is_a_ground_to_write():
    wrote = asked("reader", "b2", write_back(3), at=30)
    unread = [("wrote_back_unread", 3, 3)]
    assert not found(wrote, answered("reader", "b1", read(3), at=30))
    assert found(wrote, answered("reader", "b1", read(3), at=31)) == unread
    assert found(wrote, answered("reader", "b1", read(3), ENOENTRY, at=20)) == unread
    assert found(wrote, answered("observer", "b1", read(3), at=20)) == unread
    assert found(wrote, swallowed("reader", "b1", read(3), at=20)) == unread
    assert found(wrote, answered("reader", "b1", read(4), at=20)) == unread


def test_replication_copies_what_plain_reads_returned():
    wrote = asked("b5", "b4", write_back(3), at=30)
    assert not found(recovered(), recovery(4), wrote, answered("b5", "b1", plain_read(3), at=20))
    assert found(recovered(), recovery(4), wrote) == [("wrote_back_unread", 3, 3)]


def test_a_bookie_reads_its_own_copy_unseen():
    assert not found(recovered(), recovery(4), asked("b3", "b4", write_back(3), at=30))


def test_a_version_that_nobody_saw_may_name_the_bookie_that_wrote():
    wrote = asked("b5", "b4", write_back(3), at=30)
    assert not found(closed(4, 7), wrote)
    assert found(created(), wrote) == [("wrote_back_unread", 3, 3)]


def test_many_unread_entries_are_one_span():
    wrote = [asked("reader", "b2", write_back(entry), at=30) for entry in range(200, 500)]
    parts = [recovered(), recovery(4), wrote, answered("reader", "b1", read(300), at=20)]
    assert found(*parts) == [("wrote_back_unread", 200, 299), ("wrote_back_unread", 301, 499)]
    assert judgement_of(*parts).counts["wrote_back_unread"] == 299


def test_bp46_asks_for_more_positive_answers():
    judgement = judgement_of(recovered(5), recovery(5, found=(4, 5)), ledger_names={1: "main"})
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["found_by_fewer_than_AQ"] == 2
    assert judgement.notes == (
        "differs from BP-46: entry 4 of ledger 1 (main) was recovered on 1 positive answer; "
        "BP-46 asks for 2 (AQ) (2 entries in all)",
    )
    more = [answered("reader", "b2", read(entry), at=21) for entry in (4, 5)]
    assert judgement_of(recovered(5), recovery(5, found=(4, 5)), more).seen["found_by_fewer_than_AQ"] == 0


def test_bp46_stops_at_a_quorum_coverage_of_unknown_answers():
    errors = [answered("reader", bookie, read(5), EIO, at=19) for bookie in ("b2", "b3")]
    judgement = judgement_of(recovered(5), recovery(5, found=(5,)), errors)
    assert judgement.seen["found_beside_QC_unknown"] == 1
    assert "BP-46 makes no progress at 2 of them (QC)" in judgement.notes[1]
    assert (
        judgement_of(recovered(5), recovery(5, found=(5,)), errors[:1]).seen["found_beside_QC_unknown"] == 0
    )
    kept = [swallowed("reader", bookie, read(5), EIO, at=19) for bookie in ("b2", "b3")]
    assert judgement_of(recovered(5), recovery(5, found=(5,)), kept).seen["found_beside_QC_unknown"] == 0


def test_bp46_counts_fencing_over_the_whole_ensemble():
    bookies = ("b1", "b2", "b3", "b4", "b5", "b6")
    parts = recovered(ensemble=6, write_quorum=3, ack_quorum=2, fragments={0: bookies})
    denied = ("b6", "b1", "b2")
    few = recovery(4, fenced=("b2", "b3", "b5", "b6"), denied=denied)
    judgement = judgement_of(parts, few)
    assert judgement.verdict is Verdict.VALID
    assert judgement.notes == ("differs from BP-46: ledger 1 was fenced on 4 answers; BP-46 asks for 5 (EC)",)
    assert not judgement_of(parts, recovery(4, fenced=bookies[1:], denied=denied)).notes
    outside = answered("reader", "b7", fencing(), at=9)
    assert judgement_of(parts, few, outside).notes == judgement.notes


def test_bp46_knows_no_negative_answer_to_fencing():
    empty = answered("reader", "b2", fencing(), ENOENTRY, at=9)
    judgement = judgement_of(recovered(), recovery(4, fenced=("b1",)), empty)
    assert judgement.seen["fencing_denied"] == 1
    assert "b2 answered a fencing read with an explicit negative" in judgement.notes[0]


def test_a_bookie_that_recovers_has_answers_that_bp46_counts_and_no_link_carries():
    empty = answered("b3", "b1", fencing(), ENOENTRY, at=9)
    judgement = judgement_of(
        recovered(5), empty, recovery(5, source="b3", fenced=(), found=(4, 5), denied=("b1",))
    )
    assert (judgement.seen["legal"], judgement.notes) == (1, ())


def test_where_the_writers_end_may_be_missing_a_close_is_excused_too_easily_to_be_valid():
    damaged = {"damage": ("servers: torn",)}
    assert judgement_of(recovered(), recovery(4), **damaged).verdict is Verdict.UNKNOWN
    assert found(recovered(), recovery(4, denied=("b1",)), **damaged) == [("ended_too_soon", 5, 5)]
