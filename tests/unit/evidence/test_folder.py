"""The run folder: fresh ones, existing ones, and finding them again."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evidence.folder import (
    FORMAT,
    RunFolder,
    every_mode,
    every_run,
    find_run,
    left_scratch,
    new_run,
    point_latest,
    remove_run,
    scratch_name,
    write_json,
)
from protocol.errors import EvidenceError, UsageError

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def ran(results: Path, scenario: str = "bp46/truncation", *, seed: int = 7, at: datetime = NOON) -> RunFolder:
    folder = RunFolder.create(new_run(results, scenario, seed, at=at), "protected")
    folder.write_run({"scenario": scenario, "mode": "protected"})
    return folder


def test_a_fresh_folder_has_a_place_for_every_raw_file(tmp_path: Path) -> None:
    folder = ran(tmp_path)
    assert folder.path == tmp_path / "bp46/truncation/20260102T120000Z-7/protected"
    for place in (folder.faults, folder.events, folder.transactions, folder.steps, folder.end_json):
        assert place.parent.is_dir()
    assert folder.operations.is_dir()
    assert folder.mode == "protected"


def test_evidence_is_never_written_over(tmp_path: Path) -> None:
    folder = ran(tmp_path)
    with pytest.raises(EvidenceError, match="exists already"):
        RunFolder.create(folder.path.parent, "protected")
    with pytest.raises(EvidenceError, match=r"run\.json is written already"):
        folder.write_run({})
    folder.write_end({"complete": True})
    with pytest.raises(EvidenceError, match=r"end\.json is written already"):
        folder.write_end({"complete": False})
    end = folder.end()
    assert end is not None
    assert end["complete"] is True


def test_an_end_that_was_changed_is_no_end(tmp_path: Path) -> None:
    folder = ran(tmp_path)
    folder.write_end({"complete": False, "closed_ns": 7})
    text = folder.end_json.read_text()
    for other in (text.replace("false", "true"), text.replace("closed_ns", "closed_nt"), text[:-9], "{}"):
        folder.end_json.write_text(other)
        assert folder.end() is None
    folder.end_json.write_text(text)
    assert folder.end() is not None


def test_two_runs_of_one_second_get_two_folders_in_order(tmp_path: Path) -> None:
    first, second = (new_run(tmp_path, "soak", 7, at=NOON) for _ in range(2))
    assert first != second
    assert first.name < second.name


def test_run_json_reads_back_and_another_format_is_refused(tmp_path: Path) -> None:
    folder = ran(tmp_path)
    assert folder.run() == {"format": FORMAT, "scenario": "bp46/truncation", "mode": "protected"}
    assert folder.end() is None
    folder.run_json.write_text('{"format": 99}')
    with pytest.raises(EvidenceError, match="format 99"):
        folder.run()
    folder.run_json.write_text('{"format"')
    with pytest.raises(EvidenceError, match="damaged") as raised:
        folder.run()
    assert "bundle" in raised.value.remedy


def test_a_key_that_a_damaged_file_lacks_is_named_with_the_file(tmp_path: Path) -> None:
    run = pickle.loads(pickle.dumps(ran(tmp_path).run()))  # as Spark's workers get it
    with pytest.raises(EvidenceError, match=r"run\.json is damaged: it has no `seed`"):
        run["seed"]
    assert (run.get("seed"), "seed" in run) == (None, False)


def test_a_folder_without_run_json_is_no_mode(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"has no run\.json"):
        RunFolder.open(tmp_path)
    with pytest.raises(EvidenceError, match="is no folder"):
        RunFolder.open(tmp_path / "nowhere")
    assert RunFolder.open(ran(tmp_path).path).run()["mode"] == "protected"


def test_latest_is_the_run_that_was_pointed_to_last(tmp_path: Path) -> None:
    old, new = ran(tmp_path), ran(tmp_path, seed=8)
    for folder in (old, new):
        point_latest(tmp_path, folder.path.parent)
        assert find_run(tmp_path).modes == (folder,)
    assert not (tmp_path / "latest").readlink().is_absolute()


def test_latest_never_is_a_run_that_was_removed(tmp_path: Path) -> None:
    runs = [ran(tmp_path, at=NOON.replace(minute=minute)).path.parent for minute in range(3)]
    point_latest(tmp_path, runs[2])
    remove_run(tmp_path, runs[0])
    assert find_run(tmp_path).path == runs[2], "another run went"
    remove_run(tmp_path, runs[2])
    assert find_run(tmp_path).path == runs[1]
    remove_run(tmp_path, runs[1])
    assert not (tmp_path / "latest").is_symlink()


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("bp46/truncation", "bp46/truncation/20260103T120000Z-7"),
        ("bp46/truncation/20260102T120000Z-7", "bp46/truncation/20260102T120000Z-7"),
        ("bp46/truncation/20260102T120000Z-7/protected", "bp46/truncation/20260102T120000Z-7"),
    ],
)
def test_a_run_is_found_by_scenario_by_run_and_by_mode(tmp_path: Path, reference: str, found: str) -> None:
    ran(tmp_path)
    ran(tmp_path, at=NOON.replace(day=3))
    assert find_run(tmp_path, reference).path == tmp_path / found
    assert find_run(Path("elsewhere"), str(tmp_path / reference)).path == tmp_path / found


@pytest.mark.parametrize("reference", ["latest", "no/such"])
def test_what_is_not_there_is_named(tmp_path: Path, reference: str) -> None:
    with pytest.raises(UsageError, match=reference):
        find_run(tmp_path, reference)


def test_every_run_is_found_wherever_it_is_kept_and_once(tmp_path: Path) -> None:
    first, second = ran(tmp_path), ran(tmp_path / "campaigns/gate/night/runs", "fencing/figure")
    RunFolder.create(first.path.parent, "journal").write_run({})
    (second.raw / "run.json").write_text("{}")
    kept = [first.path.parent, second.path.parent]
    point_latest(tmp_path, kept[0])
    (tmp_path / ".judging-1").mkdir()
    (tmp_path / ".judging-1" / "run.json").write_text("{}")
    assert every_run(tmp_path) == kept
    assert every_run(tmp_path / "none") == []


def test_whoever_names_one_mode_gets_that_mode_alone(tmp_path: Path) -> None:
    one = ran(tmp_path)
    other = RunFolder.create(one.path.parent, "journal")
    other.write_run({})
    assert every_mode(one.path) == [one]
    assert every_mode(tmp_path) == sorted([one, other], key=lambda mode: mode.path)


def test_scratch_of_processes_that_are_gone_is_found_but_none_of_another_host(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    living = tmp_path / scratch_name(".spark-")
    gone = living.with_name(living.name.replace(str(os.getpid()), str(ended.pid)))
    elsewhere = tmp_path / f".spark-{ended.pid}@elsewhere@"
    for folder in (living, gone, elsewhere):
        folder.mkdir()
    assert left_scratch(tmp_path, ".spark-") == [gone]


def test_a_full_disk_leaves_the_former_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "verdict.json"
    write_json(path, {"verdict": "valid"})
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EvidenceError, match="No space left"):
        write_json(path, {"verdict": "anomaly"})
    assert json.loads(path.read_text()) == {"verdict": "valid"}
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, evidence.folder, evidence.recorders; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "pyarrow", "pyspark"} & set(done.stdout.split())
