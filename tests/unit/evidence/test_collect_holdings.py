"""What a disk held at a death: spans of entries where it could be read, and a reason where not."""

import hashlib
import json
import shutil
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.codes import Place
from evidence.collect.holdings import ranges, read_copy
from evidence.raw.disk_layout import copies
from evidence.raw.journal import FENCE, KEY
from protocol.buckets import ENTRIES_PER_BLOCK
from tests.unit.evidence.disks import ended, index, journal, ledger_data


@pytest.fixture
def scratch(tmp_path):
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "b1-1"
    folder.mkdir()
    ended(folder)
    return folder


def read(copy, scratch, **more):
    return read_copy("b1", 1, 7, copy, scratch, **more)


def spans(disk):
    rows = disk.table.to_pylist()
    assert all((row["bookie"], row["boot"]) == (7, 1) for row in rows)
    return [(Place(row["place"]).name, row["ledger"], row["entry"], row["last"]) for row in rows]


def why(disk):
    assert disk.event["event"] == "disk_unreadable" and disk.table.num_rows == 0
    return disk.event["why"]


def test_the_index_and_the_journal_are_held(copy, scratch):
    entries = [(4, n) for n in range(100)] + [(5, 0), (5, 2)]
    index(copy / "ledgers", entries, {4: ledger_data(fenced=True), 5: ledger_data(limbo=True)})
    journal(copy / "journal" / "a.txn", [(6, KEY), (6, 0), (6, 1), (6, FENCE), (9, 3)])
    disk = read(copy, scratch)
    assert spans(disk) == [
        ("INDEX", 4, 0, 99),
        ("INDEX", 5, 0, 0),
        ("INDEX", 5, 2, 2),
        ("JOURNAL", 6, 0, 1),
    ]
    assert disk.event == {
        "server": "b1",
        "boot": 1,
        "event": "disk_read",
        "earliest_ns": 50,
        "at_ns": 60,
        "index_entries": 102,
        "journal_entries": 3,
        "ledgers": [[4, 5]],
        "fenced": [[4, 4]],
        "limbo": [[5, 5]],
        "fences_in_journal": [[6, 6]],
        "without_key": [[9, 9]],
        "torn_bytes": 0,
    }
    assert list(scratch.iterdir()) == []


def test_entries_of_a_ledger_that_the_next_boot_does_not_know_are_not_held(copy, scratch):
    """``locations`` is synced before ``ledgers``, and power can fail in between."""
    index(copy / "ledgers", [(4, 0), (5, 0), (6, 0), (6, 1)], {4: ledger_data()})
    journal(copy / "journal" / "a.txn", [(5, KEY), (6, 2)])
    disk = read(copy, scratch)
    assert spans(disk) == [("INDEX", 4, 0, 0), ("INDEX", 5, 0, 0)]
    assert (disk.event["index_entries"], disk.event["without_key"]) == (4, [[6, 6]])


def test_the_copy_is_not_changed_by_being_read(copy, scratch):
    index(copy / "ledgers", [(4, 0)])
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    read(copy, scratch)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_an_empty_index_is_read_and_holds_nothing(copy, scratch):
    index(copy / "ledgers", [])
    disk = read(copy, scratch)
    assert disk.event["event"] == "disk_read" and spans(disk) == []


def test_only_what_a_boot_replays_is_held_in_the_journal(copy, scratch):
    index(copy / "ledgers", [], {1: ledger_data(), 2: ledger_data()})
    for name in ("a", "b", "c"):
        journal(copy / "journal" / f"{name}.txn", [(1, int(name, 16)), (2, int(name, 16))])
    (copy / "ledgers" / "lastMark").write_bytes(struct.pack(">qq", 0xB, 512 + 24))
    assert spans(read(copy, scratch)) == [("JOURNAL", 1, 12, 12), ("JOURNAL", 2, 11, 12)]


def test_each_journal_is_replayed_from_its_own_mark(copy, scratch):
    index(copy / "ledgers", [], {1: ledger_data(), 2: ledger_data()})
    for place, ledger in (("journal", 1), ("journal2", 2)):
        for name in ("a", "b"):
            journal(copy / place / f"{name}.txn", [(ledger, int(name, 16))])
    ended(copy, journals=["journal2", "journal"])
    (copy / "ledgers" / "lastMark").write_bytes(struct.pack(">qq", 0xC, 0))  # of a time with one journal
    (copy / "ledgers" / "lastMark.0").write_bytes(struct.pack(">qq", 0xB, 0))
    (copy / "ledgers" / "lastMark.1").write_bytes(struct.pack(">qq", 0xA, 512 + 24))
    assert spans(read(copy, scratch)) == [("JOURNAL", 1, 11, 11), ("JOURNAL", 2, 11, 11)]
    (copy / "ledgers" / "lastMark.1").unlink()
    assert spans(read(copy, scratch)) == [("JOURNAL", 1, 10, 11), ("JOURNAL", 2, 11, 11)]
    shutil.rmtree(copy / "journal2")
    assert why(read(copy, scratch)) == "the journal b.txn, from which a boot must replay, is not there"


def test_spans_are_cut_where_blocks_end(copy, scratch):
    edge = ENTRIES_PER_BLOCK
    index(copy / "ledgers", [(1, entry) for entry in range(edge - 2, edge + 2)])
    assert spans(read(copy, scratch)) == [("INDEX", 1, edge - 2, edge - 1), ("INDEX", 1, edge, edge + 1)]


def test_a_storage_without_such_an_index_is_not_readable(copy, scratch):
    journal(copy / "journal" / "a.txn", [(1, 0)])
    assert why(read(copy, scratch)) == (
        "its storage keeps no index in RocksDB, as DbLedgerStorage alone does"
    )


def test_half_an_index_is_not_readable(copy, scratch):
    index(copy / "ledgers", [(1, 0)])
    (copy / "ledgers" / "locations" / "CURRENT").unlink()
    assert why(read(copy, scratch)) == "there is no index in RocksDB (locations/CURRENT)"


@pytest.mark.parametrize("half", ["locations", "ledgers"])
def test_one_half_of_an_index_beside_a_whole_one_is_not_readable(copy, scratch, half):
    """Its entries would count as lost."""
    index(copy / "ledgers", [(1, 0)])
    index(copy / "more", [(2, 0)])
    shutil.rmtree(copy / "more" / half)
    assert why(read(copy, scratch)) == f"there is no index in RocksDB ({half}/CURRENT)"


def test_a_damaged_table_is_not_readable_and_its_path_is_not_told(copy, scratch):
    index(copy / "ledgers", [(1, n) for n in range(5000)])
    (table,) = (copy / "ledgers" / "locations").glob("*.sst")
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 0xFF
    table.write_bytes(data)
    reason = why(read(copy, scratch))
    assert reason.startswith("RocksDB cannot read locations: Corruption") and str(scratch) not in reason


def test_a_journal_that_no_bookie_would_replay_is_not_readable(copy, scratch):
    index(copy / "ledgers", [])
    path = copy / "journal" / "a.txn"
    journal(path, [(1, 0)])
    path.write_bytes(path.read_bytes()[:536] + struct.pack(">i", -5))
    assert why(read(copy, scratch)) == "a.txn: the record at 536 has the length -5"
    (copy / "ledgers" / "lastMark").write_bytes(struct.pack(">qq", 0xB, 0))
    assert why(read(copy, scratch)) == "the journal b.txn, from which a boot must replay, is not there"
    path.unlink()
    assert why(read(copy, scratch)) == "the journal b.txn, from which a boot must replay, is not there"
    (copy / "ledgers" / "lastMark").write_bytes(b"\0")
    assert why(read(copy, scratch)) == "lastMark has 1 bytes, not 16"


def test_a_copy_that_was_not_ended_or_failed_or_changed_is_not_readable(copy, scratch):
    index(copy / "ledgers", [(1, 0)])
    journal(copy / "journal" / "a.txn", [(1, 1)])
    ended(copy, linked={"journal/a.txn": "0" * 64})
    assert why(read(copy, scratch)) == "journal/a.txn was written to after it had been copied"
    whole = hashlib.sha256((copy / "journal" / "a.txn").read_bytes()).hexdigest()
    ended(copy, linked={"journal/a.txn": whole})
    assert spans(read(copy, scratch)) == [("INDEX", 1, 0, 0), ("JOURNAL", 1, 1, 1)]
    assert why(read(copy, scratch, spoiled=["holdings: x: gone"])) == "holdings: x: gone"
    ended(copy, failed="OSError: Input/output error")
    assert why(read(copy, scratch)) == "it could not be copied: OSError: Input/output error"
    ended(copy, boot=2)
    assert why(read(copy, scratch)) == "it is a copy of b1 boot 2"
    (copy / "copy.json").write_text(json.dumps({"server": "b1"}))
    assert why(read(copy, scratch)) == "the copy was not ended"


def test_copies_are_found_by_their_names(tmp_path):
    for name in ("b2-1", "b10-2", "b2-11", "writer-1", "b2", ".b2-3"):
        (tmp_path / name).mkdir()
    assert [(server, boot) for server, boot, _ in copies(tmp_path)] == [("b10", 2), ("b2", 1), ("b2", 11)]
    assert copies(tmp_path / "none") == []


@given(st.sets(st.integers(0, 60)))
def test_ranges_are_the_numbers(numbers):
    result = ranges(numbers)
    assert {n for first, last in result for n in range(first, last + 1)} == numbers
    assert all(after[0] > before[1] + 1 for before, after in pairwise(result))
