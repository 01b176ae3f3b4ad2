"""A journal is read as a bookie replays it, whatever its bytes are."""

import gzip
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.raw.journal import (
    EXPLICIT_LAC,
    FENCE,
    FORCE,
    KEY,
    NO_MARK,
    PADDING,
    Mark,
    journal_id,
    parse,
    read_mark,
    replayed,
)

REAL = sorted((Path(__file__).parent / "journals").glob("*.txn.gz"))


def header(version=6):
    size = 512 if version >= 5 else 8
    return (b"BKLG" + struct.pack(">i", version)).ljust(size, b"\0")


def record(ledger, entry, body=b"x" * 20):
    return struct.pack(">iqq", 16 + len(body), ledger, entry) + body


def padding(size):
    return struct.pack(">ii", PADDING, size) + b"\0" * size


def places(data, begin=0):
    return parse(data, begin).places.tolist()


def test_entries_and_marks_are_told_apart():
    data = header() + record(4, KEY) + record(4, 0) + record(4, 1) + record(4, FENCE)
    data += record(4, EXPLICIT_LAC) + record(5, FORCE) + record(5, 7)
    found = parse(data)
    assert found.places.tolist() == [[4, 0], [4, 1], [5, 7]]
    assert (found.keyed, found.fenced) == ({4}, {4})
    assert (found.torn, found.broken) == (0, "")


def test_padding_is_passed_over_and_a_length_of_zero_ends_the_file():
    data = header() + record(1, 0) + padding(100) + record(1, 1) + padding(0) + record(1, 2)
    assert places(data) == [[1, 0], [1, 1], [1, 2]]
    assert places(data + b"\0" * 512 + record(1, 3)) == [[1, 0], [1, 1], [1, 2]]


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_older_versions_have_shorter_headers_and_no_padding(version):
    data = (b"" if version == 1 else header(version)) + record(1, 0)
    assert places(data) == [[1, 0]]
    padded = parse(data + padding(8) + record(1, 1))
    assert bool(padded.broken) == (version < 5)


def test_a_file_of_a_version_that_nobody_knows_is_not_guessed_at():
    assert parse(header(7) + record(1, 0)).broken == "its version is 7, known are 1 to 6"
    assert not places(header(7) + record(1, 0))


def test_reading_begins_where_the_mark_says():
    first = header() + record(1, 0)
    assert places(first + record(1, 1), len(first)) == [[1, 1]]
    assert places(first, len(first)) == []
    assert places(first, 10**9) == []


def test_a_last_record_that_was_cut_is_counted_and_not_held():
    whole = header() + record(1, 0)
    for cut in range(1, len(record(1, 1))):
        found = parse(whole + record(1, 1)[:cut])
        assert (found.places.tolist(), found.torn, found.broken) == ([[1, 0]], cut, "")


@pytest.mark.parametrize("length", [-1, -0x101, 1, 15])
def test_a_length_that_cannot_be_ends_the_reading_with_a_reason(length):
    found = parse(header() + record(1, 0) + struct.pack(">i", length) + b"\1" * 600)
    assert found.places.tolist() == [[1, 0]]
    assert found.broken == f"the record at 552 has the length {length}"


@given(st.binary(max_size=2000), st.integers(-5, 2500), st.booleans())
def test_any_bytes_give_a_result(data, begin, headed):
    found = parse(header() + data if headed else data, begin)
    assert found.places.shape[1] == 2
    assert found.torn >= 0


@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40), st.binary(max_size=40))), st.integers(0)
)
def test_what_was_written_is_read_up_to_the_cut(written, cut):
    parts = [record(*one) for one in written]
    data = header() + b"".join(parts)
    cut = min(len(data), 512 + cut % (len(data) - 511))
    whole, at = 0, 512
    while whole < len(parts) and at + len(parts[whole]) <= cut:
        at += len(parts[whole])
        whole += 1
    found = parse(data[:cut])
    assert found.places.tolist() == [list(one[:2]) for one in written[:whole]]
    assert found.torn == cut - at


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_journals_of_real_bookies(path):
    """Seven entries in one ledger; five in the next, which another client then fenced and recovered."""
    found = parse(gzip.decompress(path.read_bytes()))
    assert found.places.tolist() == [[0, n] for n in range(7)] + [[1, n] for n in (0, 1, 2, 3, 4, 4)]
    assert (found.keyed, found.fenced) == ({0, 1}, {1})
    assert (found.torn, found.broken) == (0, "")


def test_there_is_a_real_journal_of_every_line_of_releases():
    assert [path.name[:4] for path in REAL] == ["4.14", "4.15", "4.16", "4.17", "4.18"]


def test_a_boot_replays_from_its_mark_on(tmp_path):
    names = {name: tmp_path / name for name in ("a.txn", "1f.txn", "b.txn", "lastMark", "x.txn")}
    assert [(path.name, at) for path, at in replayed(names, Mark(11, 700))] == [("b.txn", 700), ("1f.txn", 0)]
    assert [path.name for path, _ in replayed(names, NO_MARK)] == ["a.txn", "b.txn", "1f.txn"]
    with pytest.raises(ValueError, match=r"the journal c\.txn, from which a boot must replay, is not there"):
        replayed(names, Mark(12, 0))
    assert journal_id("1a1ff007287.txn") == 0x1A1FF007287 and journal_id("zz.txn") is None


def test_a_mark_is_whole_or_refused(tmp_path):
    mark = tmp_path / "lastMark"
    assert read_mark(mark) == NO_MARK
    mark.write_bytes(struct.pack(">qq", 5, 700))
    assert read_mark(mark) == Mark(5, 700)
    mark.write_bytes(b"\0" * 15)
    with pytest.raises(ValueError, match="lastMark has 15 bytes, not 16"):
        read_mark(mark)
