"""When the writer of a ledger may have closed it itself, while another client was recovering it."""

import pytest

from evidence.codes import Kind, Outcome
from tests.histories.asking import CLOSED_BY as BY
from tests.histories.asking import recovered, recovery
from tests.histories.boots import server
from tests.histories.story import acked, closed, created, deferred, operation, recovering, unsure
from tests.unit.checkers.test_recovery import everywhere, found, judgement_of


def test_a_writer_that_neither_added_nor_closed_made_no_close():
    made = operation(Kind.CREATE)
    closes = operation(Kind.CLOSE, seq=9, invoked_ns=50)
    versions = [created(), recovering(1), closed(-1, 2, latest_ns=BY)]
    assert found(versions, made, recovery(-1, denied=())) == [("ended_too_soon", 0, 0)]
    assert not found(versions, made, closes, recovery(-1, denied=()))
    later = operation(Kind.CLOSE, seq=9, invoked_ns=BY + 1)
    assert found(versions, made, later, recovery(-1, denied=()))
    refused = operation(Kind.CLOSE, seq=9, outcome=Outcome.FAIL)
    assert found(versions, made, refused, recovery(-1, denied=()))


def test_a_writer_that_was_dead_before_the_recovery_began_made_no_close():
    def ended(at, boot=1):
        return {**server(1, boot, "exit", at, at), "server": "writer"}

    parts = [created(), recovering(1, earliest_ns=20), closed(0, 2, latest_ns=BY), acked(0), unsure(1)]
    parts.append(recovery(0, denied=(), at=30))
    assert not found(*parts, servers=(ended(20),))
    assert found(*parts, servers=(ended(19),)) == [("ended_too_soon", 1, 1)]
    again = [acked(0, seq=(2 << 40) + 1), unsure(1, seq=(2 << 40) + 2)]
    assert not found(parts[:3], again, parts[-1], servers=(ended(19),))
    assert found(parts[:3], again, parts[-1], servers=(ended(19, 2),)) == [("ended_too_soon", 1, 1)]
    assert not found(parts[:3], again, parts[-1], servers=(ended(5), ended(20, 2)))
    twice = [*parts[:2], recovering(2, earliest_ns=30), closed(0, 3, latest_ns=BY), *parts[3:]]
    assert not found(*twice, servers=(ended(25),))


@pytest.mark.parametrize(("invoked_ns", "kinds_found"), [(BY, []), (BY + 1, [("ended_too_soon", 10, 10)])])
def test_a_writer_may_have_closed_at_the_moment_at_which_it_was_asked_to(invoked_ns, kinds_found):
    close = operation(Kind.CLOSE, seq=90, invoked_ns=invoked_ns, completed_ns=BY + 2)
    assert found(recovered(9), everywhere(9), close, recovery(9, denied=())) == kinds_found


def test_a_deferred_writer_may_close_anywhere_below_its_last_add():
    versions = [created(), recovering(1), closed(-1, 2, latest_ns=BY)]
    assert not found(versions, deferred(0), unsure(1), recovery(-1, denied=()))
    assert found(versions, acked(0), unsure(1), recovery(-1, denied=()))
    above = [created(), recovering(1), closed(1, 2, latest_ns=BY)]
    assert found(above, deferred(0), unsure(1), recovery(1, denied=()))


OPEN_TO_CLOSED = [created(), closed(4, 1, latest_ns=BY), [acked(entry) for entry in range(5)]]
NOT_IN_RECOVERY = [("not_in_recovery", -1, -1)]


def test_a_close_that_no_writer_can_have_made_was_to_be_announced():
    parts = [*OPEN_TO_CLOSED, everywhere(4), recovery(4, denied=())]
    assert found(*parts) == NOT_IN_RECOVERY
    assert judgement_of(*parts).findings[0].proof == (
        "metadata version 0: OPEN",
        "metadata version 1: CLOSED at 4",
        "no writer had invoked a close by then, and every add was ok (the last: 4) and was answered normally "
        "by every bookie of its write set",
    )
    assert not found(
        created(), recovering(1), closed(4, 2, latest_ns=BY), OPEN_TO_CLOSED[2], everywhere(4), recovery(4)
    )


@pytest.mark.parametrize(
    "reason",
    [
        [operation(Kind.CLOSE, seq=90, invoked_ns=BY)],
        [operation(Kind.CLOSE, seq=90, outcome=Outcome.UNKNOWN, invoked_ns=BY)],
        [unsure(5)],
    ],
)
def test_a_writer_with_a_reason_may_have_closed_an_open_ledger(reason):
    assert not found(*OPEN_TO_CLOSED, everywhere(4), recovery(4, denied=()), reason)


def test_a_close_is_not_to_be_announced_where_not_all_is_known_of_its_writers():
    assert not found(*OPEN_TO_CLOSED, everywhere(3), recovery(4, denied=()))
    assert not found(*OPEN_TO_CLOSED[:2], everywhere(4), recovery(4, denied=()))
    unseen = [created(), closed(4, 2, latest_ns=BY), OPEN_TO_CLOSED[2]]
    assert ("not_in_recovery", -1, -1) not in found(*unseen, everywhere(4), recovery(4, denied=()))
    late = operation(Kind.CLOSE, seq=90, invoked_ns=BY + 1)
    assert found(*OPEN_TO_CLOSED, everywhere(4), recovery(4, denied=()), late) == NOT_IN_RECOVERY
    undated = [created(), closed(4, 1), OPEN_TO_CLOSED[2], everywhere(4), recovery(4, denied=())]
    assert found(*undated) == NOT_IN_RECOVERY
    assert not found(*undated, late)
