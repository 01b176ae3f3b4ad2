"""What `fencepost clean` may take of a stored run, and when."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
from pathlib import Path
from typing import IO

import pytest
from click.testing import CliRunner

from cli.clean import command
from evidence.folder import RunFolder, new_run, point_latest, scratch_name
from harness.cleaning import UNPACKED, held, in_use, is_in_use, leftovers


def ended_early(results: Path) -> RunFolder:
    run = RunFolder.create(results / "run", "protected")
    run.write_run({})
    for server in ("b1/data", "zk1/data", "zk1/lives/1", "zk1/snapshots"):
        (run.servers / server).mkdir(parents=True)
    run.tables.mkdir()
    return run


def goes(results: Path, *, tables: bool = False, runs: bool = False) -> set[str]:
    found = leftovers(results, tables=tables, runs=runs)
    return {str(path.relative_to(results / "run")).removeprefix("protected/") for path, _ in found}


def test_zookeepers_log_stays_while_it_is_the_only_record_of_the_metadata(tmp_path: Path) -> None:
    run = ended_early(tmp_path)
    gone = {"servers/b1/data", "servers/zk1/snapshots"}
    assert goes(tmp_path) == gone
    run.transactions.touch()
    assert goes(tmp_path) == gone | {"servers/zk1/data", "servers/zk1/lives"}


def test_nothing_goes_while_somebody_is_at_work_in_any_mode(tmp_path: Path) -> None:
    run, other = ended_early(tmp_path), RunFolder.create(tmp_path / "run", "journal")
    other.write_run({})
    for busy in (run, other):
        with in_use(busy):
            assert goes(tmp_path, tables=True) == goes(tmp_path, runs=True) == set()
    assert "tables" in goes(tmp_path, tables=True)
    assert goes(tmp_path, runs=True) == {"."}


def test_nothing_goes_of_a_run_until_the_last_holder_closes_it(tmp_path: Path) -> None:
    run = ended_early(tmp_path).path.parent
    with held(run):
        with held(run):
            assert goes(tmp_path, tables=True) == goes(tmp_path, runs=True) == set()
        assert goes(tmp_path, runs=True) == set()
    assert goes(tmp_path, runs=True) == {"."}


def test_a_lock_on_a_file_is_asked_for_by_a_descriptor_that_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise NFS answers EBADF, because it makes flock a lock of bytes."""

    def nfs(file: int | IO[str], operation: int) -> None:
        number = file if isinstance(file, int) else file.fileno()
        may_write = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        if operation & fcntl.LOCK_EX and stat.S_ISREG(os.fstat(number).st_mode) and not may_write:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(file, operation)

    run, flock = ended_early(tmp_path), fcntl.flock
    monkeypatch.setattr(fcntl, "flock", nfs)
    with in_use(run):
        assert is_in_use(run)
        assert goes(tmp_path, runs=True) == set()
    assert not is_in_use(run)
    assert goes(tmp_path, runs=True) == {"."}


@pytest.mark.parametrize("runs", [True, False])
def test_what_a_killed_reader_of_a_bundle_unpacked_goes(tmp_path: Path, runs: bool) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    living = tmp_path / f"{scratch_name(UNPACKED)}x"
    dead = living.with_name(living.name.replace(str(os.getpid()), str(ended.pid)))
    for folder in (dead, living):
        RunFolder.create(folder / "run", "protected").write_run({})
    clean = ["--results", str(tmp_path), *(["--runs"] if runs else [])]
    done = CliRunner().invoke(command, clean, standalone_mode=False)
    assert done.exception is None
    assert list(tmp_path.iterdir()) == [living]


def test_a_whole_run_goes_with_its_page_and_its_verdict(tmp_path: Path) -> None:
    for seed in (1, 2):
        run = new_run(tmp_path, "bp46/replay", seed)
        RunFolder.create(run, "protected").write_run({})
        (run / "report.html").touch()
        point_latest(tmp_path, run)
    done = CliRunner().invoke(command, ["--results", str(tmp_path), "--runs"], standalone_mode=False)
    assert done.exception is None
    assert list((tmp_path / "bp46" / "replay").iterdir()) == []
    assert not (tmp_path / "latest").is_symlink()
