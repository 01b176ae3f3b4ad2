"""Metadata by ledger: its versions in order, its ends, and what is missing."""

import pyarrow as pa
import pytest

from checkers.facts.histories import Histories
from evidence.schemas import LEDGERS

OPEN, IN_RECOVERY, CLOSED = 1, 2, 3
HERE, THERE = [("b1:3181", "b2:3181")], [("b1:3181", "b3:3181"), ("b3:3181", "b2:3181")]


def version(ledger, number, state=OPEN, end=-2, bookies=HERE, *, put_back=False):
    """A row of ``ledgers``; a fragment of ten entries for each pair of bookies."""
    fragments = [{"first_entry": 10 * at, "bookies": list(names)} for at, names in enumerate(bookies)]
    return {
        **dict.fromkeys(LEDGERS.names, 0),
        "ledger": ledger,
        "version": number,
        "zxid": 100 * ledger + number,
        "state": state,
        "last_entry": end,
        "ensemble": 2,
        "write_quorum": 2,
        "ack_quorum": 1,
        "fragments": fragments,
        "put_back": put_back,
    }


def versions(*rows):
    return pa.Table.from_pylist(list(rows), LEDGERS)


CLOSED_TWICE = [
    version(4, 0),
    version(4, 1, IN_RECOVERY, bookies=THERE),
    version(4, 2, CLOSED, 7),
    version(4, 3, CLOSED, 8),
]


def test_of_a_ledger_that_was_seen_whole_everything_is_known():
    histories = Histories(versions(*reversed(CLOSED_TWICE), version(9, 0)))
    assert histories.ends == {4: 8}
    assert [one.version for one in histories.versions[4]] == [0, 1, 2, 3] and histories.chains[4] == (
        histories.versions[4],
    )
    assert histories.closes[4].last_entry == 8 and list(histories.closes) == [4] and 9 not in histories.closes
    assert histories.versions[4][1].fragments == ((0, ("b1:3181", "b3:3181")), (10, ("b3:3181", "b2:3181")))
    assert histories.seen_whole(9) and not histories.gaps and list(histories.versions) == [4, 9]


@pytest.mark.parametrize(
    ("rows", "seen"),
    [
        ([version(4, 0), version(4, 2, CLOSED, 7)], False),
        ([version(4, 1), version(4, 2, CLOSED, 7)], False),
        ([version(4, 0), version(4, 0, bookies=THERE), version(4, 1, CLOSED, 7)], True),
        ([version(4, 0), version(4, 1, CLOSED, 7), version(4, 2, state=0)], True),
        ([version(4, 0), version(4, 1, CLOSED, 7), version(4, 3, state=0)], False),
        ([version(4, 0), version(4, 1, CLOSED, 7), version(4, 1, CLOSED, 7, put_back=True)], False),
    ],
)
def test_a_ledger_was_seen_whole_if_no_version_is_missing_and_none_was_put_back(rows, seen):
    histories = Histories(versions(*rows, version(5, 0), version(5, 1, CLOSED, 3)))
    assert histories.seen_whole(4) is seen and histories.seen_whole(5)
    assert histories.ends == {4: 7, 5: 3} and sorted(histories.closes) == [4, 5]


def test_the_gaps_of_all_ledgers_are_worked_out_once():
    histories = Histories(versions(version(4, 0), version(4, 3), version(4, 7), version(5, 1), version(6, 0)))
    assert histories.gaps == {4: [(1, 2), (4, 6)], 5: [(0, 0)]}
    assert histories.gaps is histories.gaps


def test_rows_come_in_any_order_with_repeats():
    rows = [CLOSED_TWICE[at] for at in (2, 0, 3, 1, 0)]
    assert Histories(versions(*rows)).versions[4] == Histories(versions(*CLOSED_TWICE)).versions[4]


def test_fragments_are_those_of_the_row():
    swapped = [("b2:3181", "b1:3181")]
    kinds = [HERE, THERE, swapped, THERE, HERE, list(reversed(THERE)), []]
    histories = Histories(versions(*(version(one, 0, bookies=pairs) for one, pairs in enumerate(kinds))))
    for one, pairs in enumerate(kinds):
        assert [names for _, names in histories.versions[one][0].fragments] == pairs
