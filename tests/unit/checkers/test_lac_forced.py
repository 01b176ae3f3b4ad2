"""A force is ok when AQ bookies of every write set have confirmed it."""

import pytest

from evidence.codes import Message
from tests.histories.boots import said, took
from tests.histories.story import WRITER, created, deferred, forced, judging, metadata

lac = judging("lac", wire=True)
STRIPED = {"ensemble": 4, "write_quorum": 2, "ack_quorum": 2}
FIRST, SECOND = {0: ("b1", "b2", "b3", "b4")}, {0: ("b1", "b2", "b3", "b4"), 1: ("b1", "b2", "b3", "b5")}
ADDS = [took(0, 1, 10), took(0, 2, 11), deferred(0, invoked_ns=5, completed_ns=22)]
FORCE = forced(0, invoked_ns=29, completed_ns=40)


def too_soon(versions, *bookies):
    confirmed = [said(Message.FORCE, bookie, 30, source=WRITER) for bookie in bookies]
    found = lac(versions, ADDS, confirmed, FORCE).findings
    return [(one.kind, one.first_entry, one.last_entry) for one in found] == [("forced_too_soon", 0, 0)]


@pytest.mark.parametrize("bookies", [(3, 4), (1, 2), (1, 2, 3), (5, 6, 7)])
def test_bookies_of_another_write_set_confirm_nothing_of_an_entry(bookies):
    striped = created(fragments=FIRST, **STRIPED)
    assert too_soon(striped, *bookies)
    assert not too_soon(striped, 1, 2, 3, 4)


def test_the_ensemble_of_any_version_may_be_the_one_that_was_asked():
    versions = [created(fragments=FIRST, **STRIPED), metadata(1, 1, fragments=SECOND, **STRIPED)]
    assert not too_soon(versions, 1, 2, 3, 5)
    assert not too_soon(versions, 1, 2, 3, 4)
    assert too_soon(versions, 2, 3, 4, 5)


def test_where_a_version_was_not_seen_any_ack_quorum_is_enough():
    unseen = [created(fragments=FIRST, **STRIPED), metadata(2, 1, fragments=SECOND, **STRIPED)]
    assert not too_soon(unseen, 3, 4)
    assert too_soon(unseen, 3)
