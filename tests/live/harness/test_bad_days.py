"""What a run leaves and says when it is interrupted, killed, or loses a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import Fencepost

Start = Callable[..., Fencepost]
ONE_MODE = ("run", "bp46/truncation", "--mode", "unprotected", "--seed", "1")
UNKNOWN, ANOMALY = 3, 4
MARGIN_BYTES = 32 << 20


def judged_later(fencepost: Start, run: Fencepost) -> dict[str, object]:
    """The verdict that the recorded evidence still gives; never ``valid``."""
    code, text = fencepost("check", str(run.folder)).finish()
    assert code in (UNKNOWN, ANOMALY), text
    verdict: dict[str, object] = json.loads((run.folder / "verdict.json").read_text())
    assert verdict["verdict"] in ("unknown", "anomaly")
    return verdict


def test_ctrl_c_ends_everything_and_the_record_can_be_judged(fencepost: Start) -> None:
    run = fencepost(*ONE_MODE)
    run.wait_for("kill b1")
    run.send(signal.SIGINT)
    code, text = run.finish()
    assert code == 130, text
    assert "fencepost check" in text
    run.assert_nothing_left()
    judged_later(fencepost, run)


def test_sigkill_of_the_harness_leaves_no_process_and_loses_no_evidence(fencepost: Start) -> None:
    run = fencepost(*ONE_MODE)
    run.wait_for("writer appends to main: 50 acknowledged")
    run.send(signal.SIGKILL)
    run.finish()
    run.assert_nothing_left()
    verdict = judged_later(fencepost, run)
    assert "50 acknowledged" in str(verdict["headline"])


def test_sigkill_of_the_keeper_is_one_clear_error(fencepost: Start) -> None:
    run = fencepost(*ONE_MODE)
    run.wait_for("creates main")
    os.kill(run.pid_of("keeper.py"), signal.SIGKILL)
    code, text = run.finish()
    assert code == 1, text
    assert "keeper" in text
    run.assert_nothing_left()
    judged_later(fencepost, run)


@pytest.mark.parametrize("victim", ["b3", "writer", "observer"])
def test_a_process_that_dies_by_itself_is_reported_first(fencepost: Start, victim: str) -> None:
    run = fencepost(*ONE_MODE)
    run.wait_for("creates main")
    os.kill(run.pid_of(f"/servers/{victim}/hosts"), signal.SIGKILL)
    code, text = run.finish()
    assert code == 1, text
    assert f"{victim} (boot 1)" in text
    assert "signal 9" in text
    run.assert_nothing_left()
    judged_later(fencepost, run)


def test_a_spark_failure_loses_no_evidence(fencepost: Start) -> None:
    run = fencepost(*ONE_MODE)
    run.wait_for("stopping everything")
    os.kill(run.pid_of("org.apache.spark"), signal.SIGKILL)
    code, text = run.finish()
    assert code == 1, text
    assert "Spark" in text or "judging" in text or "collecting" in text
    run.assert_nothing_left()
    code, text = fencepost("check", str(run.folder)).finish()
    assert code == 0, text


def file_system(place: Path, size_mb: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(place)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a file system of a size in MB for results."""
    place = tmp_path / "disk"

    def make(size_mb: int) -> Path:
        file_system(place, size_mb)
        return place

    yield make
    if place.exists():
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_too_small_for_a_run_is_refused_before_anything_starts(
    fencepost: Start, disk: Callable[[int], Path]
) -> None:
    run = fencepost(*ONE_MODE, results=disk(40))
    code, text = run.finish()
    assert code == 2, text
    assert re.search(r"has 4\d MB of free space", text)
    assert not list(run.results.rglob("run.json"))


def test_a_disk_that_fills_up_is_one_clear_error_and_loses_no_evidence(
    fencepost: Start, disk: Callable[[int], Path]
) -> None:
    run = fencepost(*ONE_MODE, results=disk(700))
    filler = run.results / "filler"
    with filler.open("wb", buffering=0) as file:
        run.wait_for("all of them are ready")
        while shutil.disk_usage(run.results).free > MARGIN_BYTES:  # this much takes longer than the steps
            file.write(bytes(1 << 20))
        run.wait_for("creates main")
        while run.process.poll() is None:  # what the run gives back is taken as well
            with contextlib.suppress(OSError):
                file.write(bytes(1 << 16))
                continue
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.process.wait(0.01)
    code, text = run.finish()
    assert code == 1, text
    assert "is full" in text
    run.assert_nothing_left()
    filler.unlink()
    judged_later(fencepost, run)
