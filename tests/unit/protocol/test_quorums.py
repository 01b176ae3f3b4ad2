"""Write sets and quorum coverage."""

import itertools

import pytest

from protocol.quorums import Quorums, fenced, unknown_in, unrecoverable


@pytest.mark.parametrize(
    ("write", "ack", "needed"),
    [(2, 1, 2), (2, 2, 1), (3, 1, 3), (3, 2, 2), (3, 3, 1), (4, 2, 3), (4, 3, 2), (4, 4, 1)],
)
def test_negative_answers_required(write, ack, needed):
    """The table of *Closing Ledgers Safely*."""
    quorums = Quorums(write, write, ack)
    assert quorums.coverage == needed
    assert unrecoverable(range(needed), quorums, 7)
    assert not unrecoverable(range(needed - 1), quorums, 7)


def test_only_the_write_set_can_deny_an_entry():
    quorums = Quorums(4, 2, 2)
    assert quorums.write_set(7) == (3, 0)
    assert unrecoverable([0], quorums, 7)
    assert not unrecoverable([1, 2], quorums, 7)


def test_a_position_counts_once():
    assert not unrecoverable([1, 1, 1], Quorums(3, 3, 2), 0)


@pytest.mark.parametrize(
    "quorums", [Quorums(e, w, a) for e in range(1, 7) for w in range(1, e + 1) for a in range(1, w + 1)]
)
def test_fencing_is_covered_exactly_when_no_ack_quorum_is_left_out(quorums):
    """By the definition: of every ack quorum of every write set one bookie answered."""
    for size in range(quorums.ensemble + 1):
        for known in itertools.combinations(range(quorums.ensemble), size):
            by_definition = all(
                set(ack_quorum) & set(known)
                for write_set in quorums.write_sets()
                for ack_quorum in itertools.combinations(write_set, quorums.ack)
            )
            assert fenced(known, quorums) == by_definition


def test_the_unknown_are_named_for_the_write_set_with_the_most():
    assert unknown_in([0, 3], Quorums(5, 3, 2)) == (1, 2)
    assert unknown_in([0, 1, 2], Quorums(3, 3, 2)) == ()
