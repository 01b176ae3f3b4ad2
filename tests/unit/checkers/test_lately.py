"""The latest rows of each kind, and what is still known of the others."""

import pickle

import numpy as np
import pytest

from checkers.sets.lately import NAMES, Lately
from checkers.sets.packing import packed, unpacked


def rows(ledgers, entries, *, who=0):
    """``entries`` rows for each ledger, one each nanosecond."""
    ledger = np.repeat(np.arange(ledgers), entries)
    entry = np.tile(np.arange(entries), ledgers)
    return {
        "ledger": ledger,
        "who": np.full(len(ledger), who),
        "at_ns": entry,
        "seq": np.arange(len(ledger)),
        "entry": entry,
        "by": ledger + 101,
        "until_ns": entry + 1,
    }


def dealt(columns, pieces, seed=1):
    """The same rows, shuffled and merged piece by piece."""
    order = np.random.default_rng(seed).permutation(len(columns["seq"]))
    parts = [
        Lately.of_rows(**{n: c[part] for n, c in columns.items()}) for part in np.array_split(order, pieces)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total | part
    return total


def same(left, right):
    return left.earlier == right.earlier and all(
        np.array_equal(left.rows[name], right.rows[name]) for name in NAMES
    )


@pytest.mark.parametrize(("ledgers", "entries"), [(1, 10), (1, 3_000), (3, 2_000), (3_000, 100)])
def test_what_is_kept_does_not_depend_on_the_cuts(ledgers, entries):
    columns = rows(ledgers, entries)
    whole = Lately.of_rows(**columns)
    assert whole.number == ledgers * entries
    assert same(whole, dealt(columns, 7)) and same(whole, dealt(columns, 30, seed=2))


def test_the_room_is_shared_by_all_and_never_less_than_a_few():
    few, many = Lately.of_rows(**rows(2, 3_000)), Lately.of_rows(**rows(20_000, 20))
    assert len(few.rows["seq"]) == 2 * 1024
    assert len(many.rows["seq"]) == 20_000 * 16


def test_what_is_late_is_told_apart_from_what_may_be():
    lately = Lately.of_rows(**rows(1, 3_000))
    late = lately.after((0, 0), [(2_990, -1)])
    assert late.rows["entry"].tolist() == list(range(2_991, 3_000)) and not late.more and not late.perhaps
    assert lately.after((0, 0), [(1_000, -1)]).perhaps
    everything = lately.after((0, 0), [(-1, -1)])
    assert everything.more == (1_976, 0, 1_975, 0, 1_975) and not everything.perhaps
    assert lately.after((0, 0), [(-1, 1_000)]).perhaps
    assert not len(lately.after((0, 0), [(-1, 5_000)]).rows["seq"])


def test_all_older_rows_are_late_only_if_the_first_and_the_lowest_of_them_are():
    """The older rows are those of 0 to 1,975."""
    lately = Lately.of_rows(**rows(1, 3_000))
    for limit in ((0, -1), (-1, 0)):
        late = lately.after((0, 0), [limit])
        assert late.perhaps and not late.more, limit


def test_another_key_has_rows_of_its_own():
    lately = Lately.of_rows(**rows(2, 5)) | Lately.of_rows(**rows(2, 5, who=7))
    assert len(lately.after((1, 7), [(2, -1)]).rows["seq"]) == 2
    assert not len(lately.after((1, 8), [(2, -1)]).rows["seq"])
    assert lately.of_entry(1, 3)["who"].tolist() == [0, 7]


def test_nothing_is_neutral():
    nothing = Lately.of_rows(**{name: np.empty(0, dtype=np.int16) for name in NAMES})
    something = Lately.of_rows(**rows(2, 5))
    assert same(nothing | something, something) and same(something | nothing, something)


@pytest.mark.parametrize(("ledgers", "entries"), [(1, 10), (3, 2_000), (0, 0)])
def test_it_travels_whole_and_small(ledgers, entries):
    lately = Lately.of_rows(**rows(ledgers, entries))
    whole = pickle.dumps(lately)
    assert same(lately, pickle.loads(whole))
    assert len(whole) < 1_000 + 20 * len(lately.rows["seq"]) + 60 * len(lately.earlier)


@pytest.mark.parametrize("numbers", [[], [5], [-(2**63), 2**63 - 1], [-3, 2**40, 7], [0, 255], [0, 256]])
def test_any_numbers_can_be_packed(numbers):
    column = np.array(numbers, dtype=np.int64)
    assert unpacked(packed(column)).tolist() == numbers


def test_of_what_ended_before_the_limits_nothing_is_late():
    lately = Lately.of_rows(**rows(2, 100))
    assert lately.latest_ns == {(0, 0): 99, (1, 0): 99}
    late = lately.after((1, 0), [(99, -1), (200, -1)])
    assert not len(late.rows["seq"]) and not late.more and not late.perhaps
    assert lately.after((1, 0), [(98, -1)]).rows["entry"].tolist() == [99]
    assert not len(lately.after((7, 0), [(0, -1)]).rows["seq"])
