"""Corruption: what changes, what does not, and what proves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cluster.interface import ProcessState
from cluster.processes.process import copy_places
from nemesis.corruption import _written
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from protocol.errors import FaultError, UsageError
from tests.nemesis_contract.fault_stories import WHOLE, Lines, changing, inject, phases, proof

FILES = {
    "journal/current/1.txn": b"\x01" * 100 + bytes(900),
    "journal/current/VERSION": b"cookie",
    "ledgers/current/0.log": b"\x02" * 50,
    "ledgers/current/1.log": b"\x03" * 50,
    "ledgers/current/lastMark": b"mark",
    "ledgers/current/locations/1.sst": b"\x04" * 64,
    "ledgers/current/locations/2.log": b"",
    "ledgers/current/locations/CURRENT": b"MANIFEST-1",
    "ledgers/current/ledgers/7.log": b"\x05" * 32,
}
ENTRY_LOGS = {"ledgers/current/0.log", "ledgers/current/1.log"}
INDEX = {"ledgers/current/locations/1.sst", "ledgers/current/ledgers/7.log"}
JOURNAL = {"journal/current/1.txn"}


@pytest.fixture
def disk(cluster: Any, tmp_path: Path, nemesis: Nemesis) -> Path:
    """What b1 had stored when it was killed; it can copy that."""
    root = tmp_path / "data"
    for name, data in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    b1, copies = cluster.process("b1"), tmp_path / "snapshots"
    b1.places = lambda: {name: root / name for name in ("journal", "ledgers")}
    b1.snapshot = lambda name: copy_places(b1.places(), copies / name)
    b1.snapshots = lambda: {copy.name: copy for copy in copies.glob("*")}
    inject(nemesis, "kill", target="b1")
    return root


def content(disk: Path) -> dict[str, bytes]:
    return {str(path.relative_to(disk)): path.read_bytes() for path in disk.rglob("*") if path.is_file()}


def bits(before: bytes, after: bytes) -> int:
    assert len(before) == len(after)
    return sum((left ^ right).bit_count() for left, right in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("what", "meant"),
    [
        ("entry_log", ENTRY_LOGS),
        ("index", INDEX),
        ("journal", JOURNAL),
        ("ledgers_wal", {"ledgers/current/ledgers/7.log"}),
    ],
)
def test_just_so_many_bits_flip_and_only_where_something_was_written(
    disk: Path, nemesis: Nemesis, lines: Lines, what: str, meant: set[str]
) -> None:
    inject(nemesis, "corrupt", target="b1", what=what, how="flip", bits=40)
    after = content(disk)
    flipped = {name: bits(data, after[name]) for name, data in FILES.items() if data != after[name]}
    assert (sum(flipped.values()), set(flipped) <= meant) == (40, True)
    assert set(proof(lines, "injected", 2)["changed"]) == set(flipped)
    assert after["journal/current/1.txn"][100:] == bytes(900)
    assert nemesis.heal()[0] == "corrupt b1 (what was corrupted stays so)"
    assert (content(disk), phases(lines, 2)) == (after, WHOLE)


def test_the_length_of_a_record_grows_by_a_mebibyte(disk: Path, nemesis: Nemesis, lines: Lines) -> None:
    header, records = bytes(1024), [b"\0\0\0\x02ab", b"\0\0\0\x03cde", b"\0\0\0\x01f"]
    (disk / "ledgers/current/0.log").write_bytes(header + b"".join(records))
    inject(nemesis, "corrupt", target="b1", what="entry_log", how="flip", record=1)
    assert proof(lines, "injected", 2)["place"] == 1030
    damaged = header + records[0] + b"\0\x10\0\x03cde" + records[2]
    assert content(disk) == FILES | {"ledgers/current/0.log": damaged}


def test_a_record_that_is_not_there_is_not_damaged(disk: Path, nemesis: Nemesis) -> None:
    with pytest.raises(FaultError, match=r"0.log of b1 has no record 0"):
        inject(nemesis, "corrupt", target="b1", what="entry_log", how="flip", record=0)


@pytest.mark.parametrize(
    ("what", "cut", "left"),
    [
        ("entry_log", {"cut_bytes": 20}, {"ledgers/current/1.log": b"\x03" * 30}),
        ("journal", {"cut_share": 0.5}, {"journal/current/1.txn": b"\x01" * 50}),
    ],
)
def test_the_newest_file_loses_its_end_or_a_share_of_what_was_written(
    disk: Path, nemesis: Nemesis, what: str, cut: dict[str, float], left: dict[str, bytes]
) -> None:
    inject(nemesis, "corrupt", target="b1", what=what, how="truncate", **cut)
    assert content(disk) == FILES | left


def test_a_file_that_was_only_prepared_has_no_end_to_lose(disk: Path, nemesis: Nemesis) -> None:
    """A bookie fills its next journal with zeros before it writes to it."""
    (disk / "journal/current/2.txn").write_bytes(bytes(100))
    inject(nemesis, "corrupt", target="b1", what="journal", how="truncate", cut_bytes=10)
    assert content(disk)["journal/current/1.txn"] == b"\x01" * 90
    assert content(disk)["journal/current/2.txn"] == bytes(100)


def test_an_index_goes_back_whole_and_nothing_else_does(disk: Path, cluster: Any, nemesis: Nemesis) -> None:
    cluster.process("b1").snapshot("before")
    (disk / "ledgers/current/locations/1.sst").unlink()
    (disk / "ledgers/current/locations/9.sst").write_bytes(b"newer")
    (disk / "ledgers/current/0.log").write_bytes(b"newer")
    inject(nemesis, "corrupt", target="b1", what="index", how="roll_back", to="before")
    assert content(disk) == FILES | {"ledgers/current/0.log": b"newer"}


def test_what_is_as_it_was_was_not_corrupted(disk: Path, cluster: Any, nemesis: Nemesis) -> None:
    cluster.process("b1").snapshot("before")
    with pytest.raises(FaultError, match="no file of b1's journal has changed"):
        inject(nemesis, "corrupt", target="b1", what="journal", how="roll_back", to="before")


def test_what_changes_again_or_is_started_before_it_is_confirmed_refutes_it(disk: Path, cluster: Any) -> None:
    state = vars(cluster.process("b1"))
    for change, message in (
        (lambda: (disk / "journal/current/1.txn").write_bytes(b"o"), "journal/current/1.txn changed again"),
        (lambda: state.update(state=ProcessState.RUNNING), "was started meanwhile"),
    ):
        with pytest.raises(FaultError, match=message):
            inject(changing(cluster, change), "corrupt", target="b1", what="journal", how="flip")


def test_there_must_be_enough_to_flip(disk: Path, nemesis: Nemesis) -> None:
    with pytest.raises(FaultError, match="b1's journal has 800 bits, too few to flip 801"):
        inject(nemesis, "corrupt", target="b1", what="journal", how="flip", bits=801)
    inject(nemesis, "corrupt", target="b1", what="journal", how="flip", bits=800)


def test_a_snapshot_that_nobody_took_is_refused(disk: Path, nemesis: Nemesis) -> None:
    with pytest.raises(UsageError, match="b1 has no snapshot 'before'"):
        inject(nemesis, "corrupt", target="b1", what="index", how="roll_back", to="before")


def test_the_same_seed_flips_the_same_bits(disk: Path, cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "corrupt", target="b1", what="journal", how="flip")
    first = content(disk)
    for name, data in FILES.items():
        (disk / name).write_bytes(data)
    again = Nemesis(cluster, lambda line: None)
    again._numbered = 1
    inject(again, "corrupt", target="b1", what="journal", how="flip")
    assert content(disk) == first


@pytest.mark.parametrize(
    "params",
    [
        {"how": "truncate"},
        {"how": "truncate", "cut_bytes": 1, "cut_share": 0.5},
        {"how": "flip", "cut_bytes": 1},
        {"how": "roll_back"},
        {"how": "flip", "to": "before"},
        {"how": "flip", "record": 0},
    ],
)
def test_each_way_takes_its_own_parameters(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FAULTS["corrupt"](target="b1", what="journal", **params)


def test_zeros_at_the_end_were_not_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0a\0\0")
    assert _written(tmp_path / "file") == b"\0a"


@pytest.mark.parametrize("way", [{"how": "flip", "bits": 8}, {"how": "truncate", "cut_bytes": 20}])
def test_what_was_copied_at_the_death_stays_as_it_was(
    disk: Path, nemesis: Nemesis, tmp_path: Path, way: dict[str, Any]
) -> None:
    """The copy may be a link to the file."""
    copy, journal = tmp_path / "copy.txn", "journal/current/1.txn"
    copy.hardlink_to(disk / journal)
    inject(nemesis, "corrupt", target="b1", what="journal", **way)
    assert copy.read_bytes() == FILES[journal] != (disk / journal).read_bytes()


def test_the_index_of_every_ledger_directory_goes_back(disk: Path, cluster: Any, nemesis: Nemesis) -> None:
    b1, newer = cluster.process("b1"), disk / "more/current/locations/1.sst"
    newer.parent.mkdir(parents=True)
    newer.write_bytes(b"old")
    b1.places = lambda: {name: disk / name for name in ("journal", "ledgers", "more")}
    b1.snapshot("before")
    newer.write_bytes(b"new")
    (disk / "more/current/0.log").write_bytes(b"stays")
    inject(nemesis, "corrupt", target="b1", what="index", how="roll_back", to="before")
    assert (newer.read_bytes(), (disk / "more/current/0.log").read_bytes()) == (b"old", b"stays")
