"""A LAC covers only what AQ bookies had acknowledged when a client received it."""

import pytest

from evidence.codes import Kind
from tests.histories.boots import took
from tests.histories.story import (
    READER,
    acked,
    closed,
    created,
    judged,
    judging,
    kinds,
    lac_read,
    operation,
    recovering,
    refused,
    unsure,
    vanished,
)

lac = judging("lac")


def unacked(*parts, **run):
    found = kinds(judged(*parts, **{"wire": True, **run}), "lac")
    return [(first, last) for kind, first, last in found if kind == "covers_unacked"]


def both(entry, at_ns):
    """Two bookies acknowledged it; the writer had the second's answer at ``at_ns``."""
    return [took(entry, 1, at_ns - 3), took(entry, 2, at_ns - 2)]


SENT = [
    created(),
    both(0, 10),
    acked(0, completed_ns=10),
    [acked(entry, completed_ns=910) for entry in (1, 2)],
]
LATE = [both(1, 901), both(2, 905)]


def test_a_reader_hears_no_lac_that_too_few_bookies_had_acknowledged():
    history = [*SENT, *LATE]
    assert unacked(*history, lac_read(2, completed_ns=70)) == [(1, 2)]
    assert unacked(*history, lac_read(2, completed_ns=904)) == [(2, 2)]
    assert not unacked(*history, lac_read(2, completed_ns=905))
    assert not unacked(*history, lac_read(0, completed_ns=10))
    assert unacked(*history, lac_read(0, completed_ns=9)) == [(0, 0)]


def test_the_proof_says_who_heard_what_and_when_bookies_acknowledged_it():
    again = took(1, 1, 950, source=READER)
    verdict = judged(*SENT, *LATE, again, lac_read(2, completed_ns=900), wire=True)
    [finding] = verdict.judgements["lac"].findings
    assert finding.text == ("ledger 1: reader received LAC 2 before 2 bookies had acknowledged entries 1..2")
    assert finding.proof == (
        "metadata: the ack quorum is 2",
        "reader received LAC 2 by 0.000000900 s (operation 50)",
        "b1's acknowledgement of entry 1 was passed on not before 0.000000900 s",
        "b2's acknowledgement of entry 1 was passed on not before 0.000000901 s, too late",
    )
    assert finding.count == 2


def test_each_entry_is_held_against_the_first_lac_that_covers_it():
    history = [*SENT, *LATE, lac_read(1, completed_ns=80), lac_read(2, completed_ns=902, seq=51)]
    assert unacked(*history) == [(1, 1), (2, 2)]
    assert unacked(*history, lac_read(2, completed_ns=70, seq=52)) == [(1, 2)]
    assert unacked(*history, lac_read(2, completed_ns=80, seq=52)) == [(1, 2)]
    assert lac(*history, wire=True).counts["covers_unacked"] == 2


@pytest.mark.parametrize("kind", [Kind.OPEN, Kind.LAC, Kind.READ, Kind.FORCE])
def test_whatever_tells_a_lac_is_held_against_the_acknowledgements(kind):
    telling = operation(kind, entry=2, lac=1, client=READER, completed_ns=70)
    assert unacked(*SENT, *LATE, telling) == [(1, 1)]


def test_an_entry_that_no_bookie_acknowledged_is_not_confirmed():
    history = [created(), both(0, 10), acked(0, completed_ns=10), unsure(1)]
    [finding] = lac(*history, lac_read(1, completed_ns=70), wire=True).findings
    assert (finding.kind, finding.first_entry, finding.last_entry) == ("covers_unacked", 1, 1)
    assert finding.proof[2:] == ("no bookie's acknowledgement of entry 1 was ever passed on",)
    assert not unacked(*history, lac_read(0, completed_ns=70))


def test_the_lac_of_an_add_beyond_itself_is_held_against_them_too():
    assert unacked(*SENT, *LATE, acked(0, lac=2, completed_ns=70, seq=7)) == [(1, 2)]
    assert not unacked(*SENT, acked(0, lac=0, completed_ns=9, seq=7))


@pytest.mark.parametrize(("source", "expected"), [(READER, []), (2, [(0, 0)])])
def test_acknowledgements_of_any_clients_adds_count_and_of_no_bookies(source, expected):
    history = [
        created(),
        [took(0, bookie, 10, source=source) for bookie in (1, 2)],
        took(0, 1, 10),
        unsure(0),
    ]
    assert unacked(*history, lac_read(0, completed_ns=12)) == expected


def test_from_the_beginning_of_a_recovery_on_no_lac_is_held_against_them():
    """A bookie that recovers acknowledges to itself what no link carries."""
    history = [*SENT, *LATE, lac_read(2, completed_ns=70)]
    assert unacked(*history, recovering(earliest_ns=71)) == [(1, 2)]
    assert not unacked(*history, recovering(earliest_ns=70))
    assert not unacked(*history, closed(2, 2))  # the version between may have been IN_RECOVERY
    assert unacked(*history, recovering(earliest_ns=71), vanished()) == [(1, 2)]
    assert not unacked(*history, recovering(earliest_ns=70), vanished())


@pytest.mark.parametrize(
    "run",
    [{"wire": False}, {"complete": False}, {"damage": ("frames: torn",)}, {"damage": ("ledgers: torn",)}],
)
def test_where_the_log_is_not_whole_no_lac_is_held_against_it(run):
    assert not unacked(*SENT, *LATE, lac_read(2, completed_ns=70), **run)


def test_no_lac_is_held_against_a_log_that_lacks_a_writers_links():
    history = [*SENT, *LATE, lac_read(2, completed_ns=70)]
    assert not unacked(*history, unsure(7, client=READER))
    assert unacked(*history, unsure(7, client=READER), took(7, 1, 950, source=READER)) == [(1, 2)]
    assert unacked(*history, refused(7, client=READER)) == [(1, 2)]


def test_a_ledger_that_no_client_wrote_is_not_held_against_the_log():
    assert not unacked(created(), took(0, 1, 10, ledger=2), lac_read(3, completed_ns=70))


def test_of_long_ledgers_every_entry_that_a_lac_covers_too_soon_is_found():
    history = [
        created(),
        [both(entry, 100 + entry) for entry in range(300)],
        [acked(entry, completed_ns=100 + entry) for entry in range(300)],
    ]
    assert unacked(*history, lac_read(299, completed_ns=90)) == [(0, 299)]
    verdict = judged(*history, lac_read(299, completed_ns=150), wire=True)
    assert kinds(verdict, "lac") == [("covers_unacked", 51, 299)]
    proof = verdict.judgements["lac"].findings[0].proof
    assert proof[2:] == (
        "b1's acknowledgement of entry 51 was passed on not before 0.000000150 s",
        "b2's acknowledgement of entry 51 was passed on not before 0.000000151 s, too late",
    )
    assert not unacked(*history, lac_read(299, completed_ns=399))
    assert unacked(*history, unsure(300), lac_read(300, completed_ns=399)) == [(300, 300)]
