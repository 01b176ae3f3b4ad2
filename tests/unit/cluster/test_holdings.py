"""What a disk held at a death is copied once, before it changes."""

import json
import struct

import pytest

from cluster.interface import Exit
from cluster.servers.holdings import DiskRecord
from evidence.collect.holdings import lacking


@pytest.fixture
def places(tmp_path):
    found = {name: tmp_path / "data" / name for name in ("journal", "ledgers")}
    for name in ("locations", "ledgers"):
        index = found["ledgers"] / "current" / name
        index.mkdir(parents=True)
        for file in ("000004.log", "000007.sst", "CURRENT", "LOCK", "LOG", "LOG.old.1"):
            (index / file).write_text(file)
    (found["ledgers"] / "current" / "0.log").write_text("an entry log")
    (found["journal"] / "current").mkdir(parents=True)
    for name in ("a", "b", "c"):
        (found["journal"] / "current" / f"{name}.txn").write_text(name)
    mark(found, 0xB)
    return found


def mark(places, journal, name="lastMark"):
    (places["ledgers"] / "current" / name).write_bytes(struct.pack(">qq", journal, 0))


def died(boot=1, signal=9, code=None):
    return Exit("b1", boot, code, signal, 5)


@pytest.fixture
def record(tmp_path):
    return DiskRecord(tmp_path / "holdings", "b1")


def files(tmp_path, boot=1):
    copy = tmp_path / "holdings" / f"b1-{boot}"
    return sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file())


def facts(tmp_path, boot=1):
    return json.loads((tmp_path / "holdings" / f"b1-{boot}" / "copy.json").read_text())


def test_the_index_and_the_journal_that_a_boot_replays_are_copied(record, places, tmp_path):
    record.take(died(), places)
    assert files(tmp_path) == [
        "copy.json",
        "journal/b.txn",
        "journal/c.txn",
        "ledgers/lastMark",
        "ledgers/ledgers/000004.log",
        "ledgers/ledgers/000007.sst",
        "ledgers/ledgers/CURRENT",
        "ledgers/locations/000004.log",
        "ledgers/locations/000007.sst",
        "ledgers/locations/CURRENT",
    ]
    result = facts(tmp_path)
    assert (result["server"], result["boot"], result["failed"]) == ("b1", 1, "")
    assert 0 < result["began_ns"] <= result["ended_ns"]


def test_a_copy_lists_its_files(record, places, tmp_path):
    record.take(died(), places)
    copy = tmp_path / "holdings" / "b1-1"
    assert facts(tmp_path)["files"] == files(tmp_path)[1:]
    assert lacking(copy) == []
    (copy / "ledgers" / "locations" / "000004.log").unlink()
    assert lacking(copy) == ["ledgers/locations/000004.log"]
    (copy / "copy.json").write_text("{}")
    assert lacking(copy) == []


def test_only_what_is_never_written_again_is_linked(record, places, tmp_path):
    record.take(died(), places)
    copy = tmp_path / "holdings" / "b1-1"
    found = [path for path in copy.rglob("*") if path.is_file() and path.stat().st_nlink > 1]
    linked = {path.relative_to(copy).as_posix() for path in found}
    tables = {f"ledgers/{name}/000007.sst" for name in ("ledgers", "locations")}
    assert linked == set(facts(tmp_path)["linked"]) == {"journal/b.txn", "journal/c.txn"} | tables


def test_a_journal_whose_files_are_used_again_is_not_linked(record, places, tmp_path):
    record.take(died(), places, reused=True)
    assert "journal/b.txn" in files(tmp_path)
    assert set(facts(tmp_path)["linked"]) == {
        f"ledgers/{name}/000007.sst" for name in ("ledgers", "locations")
    }


def test_each_death_is_copied_once(record, places, tmp_path):
    record.take(died(), places)
    before = facts(tmp_path)
    mark(places, 0xC)
    record.take(died(), places)
    assert facts(tmp_path) == before
    record.take(died(2), places)
    assert "journal/b.txn" not in files(tmp_path, 2) and "journal/b.txn" in files(tmp_path)


def test_each_journal_is_copied_from_its_own_mark(record, places, tmp_path):
    second = tmp_path / "data" / "journal2"
    (second / "current").mkdir(parents=True)
    for name in ("a", "b", "c"):
        (second / "current" / f"{name}.txn").write_text(name)
    mark(places, 0xC, "lastMark.0")
    mark(places, 0xB, "lastMark.1")
    record.take(died(), {"journal2": second, **places})
    assert [name for name in files(tmp_path) if "ournal" in name or "Mark" in name] == [
        *("journal/b.txn", "journal/c.txn", "journal2/c.txn"),
        *("ledgers/lastMark.0", "ledgers/lastMark.1"),
    ]
    assert facts(tmp_path)["journals"] == ["journal2", "journal"]


@pytest.mark.parametrize(
    "end", [None, died(signal=None, code=143), died(signal=None, code=0), died(signal=15)]
)
def test_an_end_in_order_is_no_death(record, places, tmp_path, end):
    record.take(end, places)
    assert not (tmp_path / "holdings").exists()


def test_a_crash_by_itself_is_one(record, places, tmp_path):
    record.take(died(signal=None, code=3), places)
    assert "journal/c.txn" in files(tmp_path)


def test_a_copy_that_failed_says_why_and_is_tried_again(record, places, tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(5, "whatever it says")

    with monkeypatch.context() as broken:
        broken.setattr("cluster.servers.holdings.shutil.copyfile", refused)
        record.take(died(), places)
    assert facts(tmp_path)["failed"] == "OSError: Input/output error"
    record.take(died(), places)
    assert facts(tmp_path)["failed"] == "" and "journal/c.txn" in files(tmp_path)


def test_where_links_are_refused_everything_is_copied(record, places, tmp_path, monkeypatch):
    monkeypatch.setattr("cluster.servers.holdings._linked", lambda *_: False)
    record.take(died(), places)
    assert facts(tmp_path)["linked"] == {} and "journal/c.txn" in files(tmp_path)


def test_a_mark_that_is_torn_keeps_every_journal(record, places, tmp_path):
    (places["ledgers"] / "current" / "lastMark").write_bytes(b"x")
    record.take(died(), places)
    assert [name for name in files(tmp_path) if name.endswith(".txn")] == [
        f"journal/{name}.txn" for name in ("a", "b", "c")
    ]
