"""The life of an entry and of a ledger, from the tables of a run with a wire log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.raw.folder import write_log
from evidence.folder import RunFolder
from evidence.raw.wirelog import RECORD
from pipeline.collect import collect
from protocol.errors import EvidenceError, UsageError
from reports.explain.story import explain
from tests.inline import INLINE
from tests.spark.rawfolder import RUN_ID, Story, make
from tests.spark.rawwire import Records, adds

NAMES = {1: "writer-b1", 2: "writer-b2", 3: "writer-b3", 4: "observer-b1", 5: "observer-b2"}
ENTRIES = 200
RECOVERY_READ, RECOVERY_ADD, READ, FENCING = 4, 2, 5, 3
NO_ENTRY, DROPPED = 403, 64
AT_NS = 100 * 10**9
DROP = "fault 2 (drop observer-b2)"


def frame(entry: int, kind: int, link: int, **fields: Any) -> Records:
    row = np.zeros(1, dtype=RECORD)
    usual = {
        "ledger": 7,
        "entry": entry,
        "kind": kind,
        "link": link,
        "protocol": 3,
        "lac": -1,
        "size_bytes": 50,
    }
    for name, value in (usual | {"status": -1, "delivered": -1} | fields).items():
        row[name] = value
    return row


def recovery(entries: range) -> Records:
    """The observer recovers from b1 and b2, which deny every entry; b2's answer to the last is dropped."""
    parts = [frame(-1, FENCING, link) for link in (4, 5)]
    for entry in entries:
        parts += [frame(entry, RECOVERY_READ, link) for link in (4, 5)]
        parts += [
            frame(entry, RECOVERY_READ, link, way=1, status=NO_ENTRY, delivered=NO_ENTRY) for link in (4, 5)
        ]
    rows = np.concatenate(parts)
    rows["received_ns"] = AT_NS + 1000 * np.arange(len(rows))
    rows["asked_ns"] = np.where(rows["way"] == 1, rows["received_ns"] - 2000, 0)
    rows["forwarded_ns"] = rows["received_ns"] + 10
    last = rows[-1:]
    last["flags"], last["rule"], last["delivered"], last["forwarded_ns"] = DROPPED, 3, -1, 0
    return rows


def story(path: Path, recovered: range, *, logged: bool = True) -> RunFolder:
    records = np.concatenate([adds({7: ENTRIES}), recovery(recovered)])

    def write(folder: RunFolder) -> dict[str, Any]:
        fault = {"fault": 2, "kind": "drop", "target": "observer-b2", "params": {"ledger": "l7"}}
        other = {"fault": 3, "kind": "drop", "target": "writer-b1", "params": {"ledger": "l8"}}
        lines = [
            one | {"phase": "injected", "at_ns": AT_NS - 1, "proof": {"number": number}}
            for number, one in ((3, fault), (4, other))
        ]
        with folder.faults.open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        return write_log(folder.frames, [records], NAMES, run_id=RUN_ID)

    folder = make(path, Story({7: ENTRIES}, closed_below={7: 9}), logged=write if logged else None)
    collect(INLINE, folder)
    return folder


def lines(folder: RunFolder, entry: int | None = None) -> list[str]:
    """The story without its times."""
    return [line.partition(" s  ")[2] or line for line in explain([folder], "l7", entry)]


def test_an_entry_is_told_with_every_answer_and_with_what_ended_the_ledger_below_it(tmp_path: Path) -> None:
    found = lines(story(tmp_path, range(10, 11)), 49)
    assert found[0] == "l7 (ledger 7) entry 49, mode protected"
    results = [" ".join(line.split()) for line in found]
    for text in (
        "writer -> b1, b2, b3 add (LAC 48)",
        "b3 -> writer add: EOK",
        "writer add: ok",
        "observer -> b1, b2 fencing read of the LAC",
        "observer -> b1, b2 recovery read of entry 10",
        "b1 -> observer recovery read of entry 10: ENOENTRY",
        f"b2 -> observer recovery read of entry 10: ENOENTRY, dropped by {DROP}",
        "nemesis fault 2 (drop observer-b2)",
        "b1, b2, b3 census 1: absent",
    ):
        assert text in results, text
    assert "version 1: CLOSED at 9, below this entry" in " ".join(results)
    assert not any("writer-b1" in line for line in results), "a fault of another ledger's messages"
    assert results.index("b3 -> writer add: EOK") < results.index(
        "observer -> b1, b2 fencing read of the LAC"
    )


def test_a_ledger_is_told_in_short_and_its_recovery_in_full(tmp_path: Path) -> None:
    results = [" ".join(line.split()) for line in lines(story(tmp_path, range(10, 13)))]
    assert "writer 200 adds ok, entries 0..199" in results
    assert f"b2 -> observer recovery read of entry 12: ENOENTRY, dropped by {DROP}" in results
    assert "b2 -> observer recovery read of entry 11: ENOENTRY" in results
    assert "writer -> b3 add 200 sent; b3: 200 EOK" in results
    assert f"observer -> b2 recovery read 3 sent; b2: 3 ENOENTRY (1 dropped by {DROP})" in results
    assert len(results) < 60


def test_a_long_recovery_is_told_by_stretches_that_went_alike(tmp_path: Path) -> None:
    results = [" ".join(line.split()) for line in lines(story(tmp_path, range(10, 150)))]
    assert any(
        line.startswith("observer -> b1 recovery read of entries 10..149 (140 frames") for line in results
    )
    assert any(
        line.startswith("b2 -> observer recovery read of entries 10..148: ENOENTRY (") for line in results
    )
    assert f"b2 -> observer recovery read of entry 149: ENOENTRY, dropped by {DROP}" in results
    assert len(results) < 60


def test_a_run_without_a_log_says_so(tmp_path: Path) -> None:
    found = lines(story(tmp_path, range(10, 11), logged=False), 5)
    assert found[-1] == "  this run kept no wire log: what went over its links is not known"


def test_a_log_that_is_not_whole_is_told(tmp_path: Path) -> None:
    folder = story(tmp_path, range(10, 11))
    (folder.frames / "frames-000001.wire").unlink()
    collect(INLINE, folder)
    assert "  the wire log is not whole: frames-000001.wire: it is missing" in lines(folder, 5)


def test_what_cannot_be_told_is_said_with_the_next_step(tmp_path: Path) -> None:
    folder = make(tmp_path, Story({7: 3}))
    with pytest.raises(EvidenceError, match="has no tables"):
        list(explain([folder], "l7", None))
    collect(INLINE, folder)
    with pytest.raises(UsageError, match="no ledger named 'l9'"):
        list(explain([folder], "l9", None))
    assert "  nothing is recorded of it" in list(explain([folder], "99", None))
