"""What bookies' disks held, from the raw copies to the tables and the verdict."""

import json
import shutil

import pytest

from evidence.collection import read_collection
from evidence.schemas import HOLDINGS
from pipeline.collect import collect
from pipeline.judge import judge
from pipeline.tables import read_table
from tests.spark.rawfolder import Story, make
from tests.unit.evidence.disks import ended, index, journal


def with_disks(story, path):
    """A run in which b1 and b2 died: one with an index and a journal, one without an index."""

    def disks(folder):
        first, second = folder.holdings / "b1-1", folder.holdings / "b2-1"
        index(first / "ledgers", [(7, entry) for entry in range(40)])
        journal(first / "journal" / "a.txn", [(7, 40), (7, 41)])
        ended(first)
        journal(second / "journal" / "a.txn", [(7, 1)])
        ended(second, server="b2", began_ns=70, ended_ns=80)
        return {}

    return make(path, story, logged=disks)


@pytest.fixture
def folder(tmp_path):
    return with_disks(Story({7: 50}), tmp_path / "one")


def disk_events(folder):
    rows = read_table(folder.tables, "servers").to_pylist()
    return {
        (row["server"], row["event"]): (row["earliest_ns"], row["latest_ns"], json.loads(row["detail"]))
        for row in rows
        if row["event"].startswith("disk_")
    }


def rows(folder):
    table = read_table(folder.tables, "holdings")
    assert table.schema == HOLDINGS
    return [tuple(row.values()) for row in table.to_pylist()]


def test_copies_become_rows_and_events_and_the_same_bytes_elsewhere(session, folder, tmp_path):
    collection = collect(session, folder)
    assert collection.rows["holdings"] == 2 and not collection.damage
    assert sorted(rows(folder)) == [(7, 0, 39, 1, 1, 1), (7, 40, 41, 1, 1, 2)]
    events = disk_events(folder)
    assert set(events) == {("b1", "disk_read"), ("b2", "disk_unreadable")}
    began, done, detail = events["b1", "disk_read"]
    assert (began, done, detail["index_entries"], detail["journal_entries"]) == (50, 60, 40, 2)
    assert events["b2", "disk_unreadable"][2]["why"].startswith("its storage keeps no index")
    judge(session, folder)
    elsewhere = type(folder)(tmp_path / "another" / "machine" / folder.mode)
    shutil.copytree(folder.path, elsewhere.path)
    shutil.rmtree(elsewhere.tables)
    collect(session, elsewhere)
    judge(session, elsewhere)
    assert elsewhere.verdict_json.read_bytes() == folder.verdict_json.read_bytes()
    ours, theirs = (
        {path.relative_to(one.tables): path.read_bytes() for path in one.tables.rglob("*") if path.is_file()}
        for one in (folder, elsewhere)
    )
    assert ours == theirs


def test_a_copy_that_was_changed_tells_nothing_and_leaves_the_rest_as_it_is(session, folder):
    (path,) = (folder.holdings / "b1-1").rglob("a.txn")
    path.write_bytes(path.read_bytes()[:-1])
    collect(session, folder)
    (damage,) = read_collection(folder).damage
    assert damage == "holdings: a.txn: it is not what it was when the evidence was closed"
    assert disk_events(folder)["b1", "disk_unreadable"][2] == {"why": damage}
    assert rows(folder) == []
    verdict = judge(session, folder)
    assert not [note for note in verdict.judgements["evidence"].notes if "holdings" in note]
    assert verdict.judgements["durability"].verdict.value == "valid"
