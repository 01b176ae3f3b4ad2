"""What a property finds depends neither on the size of blocks, nor on batches, nor on the order of rows."""

from __future__ import annotations

import pickle
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.judging.judge import (
    CHECKERS,
    check_all,
    combined_facts,
    conclude_all,
    facts_of,
    join_all,
    judge,
)
from evidence.codes import Flag, Holding, Kind, Message, Outcome, Status
from tests.histories.boots import boot, copied, fenced, forged, on_disk, said, took
from tests.histories.families import FAMILIES
from tests.histories.literals_log import LITERALS
from tests.histories.mutations import boots
from tests.histories.repairs import quiet, shown
from tests.histories.simulator import simulated
from tests.histories.story import (
    BOOKIES,
    OBSERVER,
    READER,
    acked,
    answered,
    chunk,
    closed,
    created,
    deferred,
    deleted,
    delivered,
    facts,
    forced,
    good_ending,
    kept,
    lac_read,
    opened,
    operation,
    run_facts,
)
from tests.histories.story_chain import chain_facts, last, put
from tests.histories.strategies import WHOLE, as_text, blocks, cuts, nonsense, steady

LOSSY = {"losses": True, "flushes": False, "crashes": 5, "steps": 90, "bookies": 4}


def in_blocks(parts, run, checkers=CHECKERS, first_joined=lambda last: 0):
    """Judged as Spark does it: facts and findings of each batch travel, and meet in any grouping.

    ``first_joined`` chooses the place, up to ``last``, of a batch that is joined with the next.
    """
    batches = [chunk(part) for part in parts]
    facts = pickle.loads(pickle.dumps([facts_of(batch, checkers=checkers) for batch in batches]))
    known = combined_facts(facts, checkers=checkers)
    checked = [check_all(batch, run, known, checkers=checkers) for batch in reversed(batches)]
    found = pickle.loads(pickle.dumps(checked))
    while len(found) > 1:
        at = first_joined(len(found) - 2)
        found[at : at + 2] = [join_all(found[at : at + 2], checkers=checkers)]
    return conclude_all(join_all(found, checkers=checkers), run, known, checkers=checkers)


@cache
def whole(seed):
    simulation = simulated(seed, **LOSSY)
    history, run = simulation.history(), simulation.facts()
    return history, run, as_text(judge([chunk(history)], run))


def test_a_block_has_all_rows_of_its_entries():
    history, *_ = whole(1)
    for entries in (1, 3, WHOLE):
        found = blocks(history, entries)
        keys = [
            {(row.get("ledger", -1), row.get("entry", -1) // entries) for _, row in block} for block in found
        ]
        assert all(len(key) == 1 for key in keys)
        assert len(set.union(*keys)) == len(keys)


SEEDS = st.integers(0, 2**31)
HISTORIES = {
    **{name: (SEEDS.map(family.make), family.checkers) for name, family in FAMILIES.items()},
    "nonsense": (nonsense().map(lambda history: (history, run_facts())), CHECKERS),
    "long nonsense": (SEEDS.map(FAMILIES["nonsense"].make), CHECKERS),
}
"""Histories with what they are judged with, and by whom."""


@pytest.mark.parametrize("family", HISTORIES)
@steady(25)
@given(st.data())
def test_no_finding_depends_on_where_a_history_was_cut_and_how_batches_were_joined(family, data):
    histories, checkers = HISTORIES[family]
    history, run = data.draw(histories)
    expected = as_text(judge([chunk(history)], run, checkers=checkers))
    parts = data.draw(cuts(history))
    assert as_text(judge(map(chunk, parts), run, checkers=checkers)) == expected
    joined = in_blocks(parts, run, checkers, lambda last: data.draw(st.integers(0, last)))
    assert as_text(joined) == expected


@steady(30)
@given(st.data(), st.integers(1, 6))
def test_a_simulated_run_is_judged_alike_in_blocks_of_any_size(data, seed):
    history, run, expected = whole(seed)
    assert as_text(in_blocks(data.draw(cuts(history)), run)) == expected


def unread(entry, at_ns):
    """A final read of one entry, to which every bookie asked answered that it has no such entry."""
    times = {"invoked_ns": at_ns, "completed_ns": at_ns + 9}
    ending = {"flags": Flag.FINAL, "outcome": Outcome.UNKNOWN, "error": -13}
    return operation(Kind.READ, entry=entry, last=entry, client=OBSERVER, **ending, **times)


APART = {
    "a force above deferred adds": [[deferred(entry) for entry in range(4)], forced(3), created(), closed(1)],
    "a later census pass over other entries": [
        *(good_ending(0), acked(0), delivered(0)),
        answered(0, 1, Holding.PRESENT, number=2, size_bytes=5),
        answered(1, 1, Holding.PRESENT, number=3),
    ],
    "a LAC above acknowledged adds": [acked(0), acked(1), lac_read(5), created(), closed(0)],
    "a delete": [acked(0), acked(1), deleted(invoked_ns=5), created(), closed(0, earliest_ns=7, latest_ns=9)],
    "a close and adds that were invoked later": [
        *(created(), closed(-1, 2, latest_ns=100)),
        *(acked(entry, invoked_ns=101 + entry, completed_ns=110) for entry in range(3)),
    ],
    "a bookie's answer to fencing and adds that it took later": [
        *(created(), fenced(2, 20)),
        *(took(entry, 2, 22 + entry) for entry in (5, 6, 9)),
    ],
    "a LAC over entries of which one was never sent": [created(), acked(0), acked(2), lac_read(2)],
    "a LAC over adds that too few bookies had acknowledged": [
        *(created(), lac_read(2, completed_ns=70)),
        *(acked(entry, completed_ns=910) for entry in range(3)),
        *(took(entry, bookie, 900) for entry in range(3) for bookie in (1, 2)),
    ],
    "a writer's close and its create": [
        *(acked(0), operation(Kind.CREATE), operation(Kind.CLOSE, result=3, entry=2)),
        *(created(), closed(0)),
    ],
    "the first of a boot's denials": [
        *boots.HISTORY,
        *(
            said(Message.READ, 1, at, entry=at, status=Status.ENOENTRY, boot=2, source=READER)
            for at in (115, 113, 117)
        ),
    ],
    "a forged denial of the entry at which a ledger was cut, and losses beyond it": [
        *(acked(entry) for entry in range(5)),
        *(created(), closed(0, latest_ns=900), opened(0), forged(1, 1, 300)),
        *(took(entry, 2, 100) for entry in range(1, 5)),
    ],
    "a last census pass that began after every read, and another that did not": [
        *(created(), closed(2), opened(2)),
        *(acked(entry) for entry in range(3)),
        *(kept(entry, completed_ns=400 if entry else 700) for entry in range(3)),
        *(answered(1, bookie, Holding.ABSENT, asked_ns=500, answered_ns=600) for bookie in (1, 2, 3)),
    ],
    "losses of entries that only a LAC promised": [
        *(acked(0), lac_read(4), created(), closed(1), opened(1), kept(0)),
        *(answered(1, bookie, Holding.ABSENT, asked_ns=500, answered_ns=600) for bookie in (1, 2, 3)),
    ],
    "one life that had acknowledged more of a lost span than another": [
        *(acked(entry) for entry in range(4)),
        *(created(), closed(-1), opened(-1)),
        *(took(entry, 1, 100) for entry in range(4)),
        *(took(entry, 2, 101) for entry in range(3)),
    ],
    "an entry that was denied and a delete": [
        *(created(), took(3, 1, 20), said(Message.READ, 1, 30, entry=3, status=Status.ENOENTRY)),
        deleted(invoked_ns=25),
    ],
    "entries that a boot denied, one later than the other, as to two readers": [
        *(took(entry, 1, 20) for entry in range(5)),
        *(said(Message.READ, 1, 50 - entry, entry=entry, status=Status.ENOENTRY) for entry in (1, 2, 4)),
        said(Message.RECOVERY_READ, 1, 40, entry=2, status=Status.ENOLEDGER, source=READER),
    ],
    "entries that a disk held at two deaths, of which a later boot denied some": [
        *(on_disk(1, 0, 9), on_disk(1, 4, 10, boot=2)),
        *(said(Message.READ, 1, 100, entry=entry, status=Status.ENOENTRY, boot=3) for entry in (3, 4, 10)),
    ],
    "a denial where limbo was due, for an entry that the boot before had taken": [
        *(created(earliest_ns=2, latest_ns=3), took(9, 1, 20)),
        said(Message.READ, 1, 100, entry=3, status=Status.ENOENTRY, boot=2),
    ],
    "LACs that clients received in two blocks, and a copy that is missing below the higher": [
        *(created(earliest_ns=10, latest_ns=12), acked(4, lac=2), acked(7, lac=5)),
        *shown({1: range(8), 2: range(4), 3: range(8)}, last=7),
    ],
    "a log over two ledgers": [
        *(put(7, 0, (10, 11)), put(7, 1, (72, 73)), put(8, 0, (60, 61))),
        last((7, 1), (8, 0), at=(90, 95)),
    ],
    "an ensemble in one rack": [acked(0), acked(1), created(), closed(1)],
    "an illegal move of the metadata": [acked(0), acked(1), created(), closed(1), closed(0, 2)],
    "final reads of two entries, of which one was shown by the census and the other not": [
        *(created(), closed(1), opened(1), unread(0, at_ns=100), unread(1, at_ns=70)),
        *(answered(0, 1, Holding.PRESENT, number=number, answered_ns=75 * number) for number in (1, 2)),
    ],
    "a final open that succeeds after a failed one": [
        *(created(), acked(0), opened(-1, outcome=Outcome.UNKNOWN, error=-10), opened(0, seq=42))
    ],
}
"""What has to be known of a ledger is in another block than the rows that are judged by it."""
KILLED = (*boot(1, killed=50), copied(1, at=60), *boot(1, 2, began=70, killed=80), *boot(1, 3, began=90))
_ALIVE = run_facts(wire=True, servers=[row for bookie in (1, 2, 3) for row in boot(bookie)])
RUNS = {
    "a forged denial of the entry at which a ledger was cut, and losses beyond it": _ALIVE,
    "one life that had acknowledged more of a lost span than another": _ALIVE,
    "entries that a disk held at two deaths, of which a later boot denied some": run_facts(
        wire=True, servers=KILLED
    ),
    "a denial where limbo was due, for an entry that the boot before had taken": run_facts(
        wire=True, servers=KILLED, guarded=frozenset({"b1"})
    ),
    "LACs that clients received in two blocks, and a copy that is missing below the higher": run_facts(
        bookies={f"b{number}": number for number in (1, 2, 3, 4)}, servers=quiet()
    ),
    "the first of a boot's denials": boots.run_of(),
    "a log over two ledgers": chain_facts(),
    "an ensemble in one rack": run_facts(racks=dict.fromkeys(BOOKIES, "r1"), min_racks=2),
}
"""What such a run has beside its history, where it has more."""


@pytest.mark.parametrize("name", APART)
def test_what_is_known_of_a_ledger_counts_in_all_its_blocks(name):
    history, run = facts(*APART[name]), RUNS.get(name, run_facts(wire=True))
    assert len(blocks(history, 1)) > 1
    expected = as_text(judge([chunk(history)], run))
    assert as_text(in_blocks(blocks(history, 1), run)) == expected


@pytest.mark.parametrize("name", LITERALS)
def test_a_literal_is_judged_alike_in_blocks_of_one_entry(name):
    for history, run in LITERALS[name].both:
        expected = as_text(judge([chunk(history)], run))
        assert as_text(in_blocks(blocks(history, 1), run)) == expected
