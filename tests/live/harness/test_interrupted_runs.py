"""What a run leaves and reports when it is interrupted, killed, or loses one of its processes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.length import quick_and_long
from tests.live.running import Fencepost, Start, no_spark

ONE_MODE = ("run", "bp46/truncation", "--mode", "unprotected", "--seed", "1")
UNKNOWN, ANOMALY = 3, 4
ENDS_WITHIN_S = 120
LASTING = """\
name: test/lasting
source: {document: BP-46, section: Test Plan}
about: A bookie is killed and comes back, and then the run goes on until a test has done its worst.
clients: [writer]
modes: [unprotected]
control: {mode: unprotected}
steps:
  - create: {client: writer, ledger: main}
  - append: {client: writer, ledger: main, entries: 50}
  - kill: {target: b1}
  - start: {target: b1}
"""
NEVER = "  - wait_for: {condition: down, target: b2, timeout_s: 800}\n"
BRANCHES = """\
  - together:
    - - wait_for: {condition: elapsed, for_s: 800}
    - - wait_for: {condition: down, target: b2, timeout_s: 800}
"""
SMALL_STEPS = "  - wait_for: {condition: elapsed, for_s: 0.5}\n" * 1600
EXPECTED = "expect: {unprotected: [{breaks: {property: durability, kind: lost}}]}\n"


@pytest.fixture
def lasting(fencepost: Start) -> Start:
    """Start a run that lasts until the test has seen the state that it waits for."""
    return lambda *, then=NEVER, **more: fencepost("run", LASTING + then + EXPECTED, **more)


def judged_later(fencepost: Start, run: Fencepost) -> dict[str, object]:
    """The verdict that the recorded evidence still gives; never ``valid``."""
    with no_spark():
        code, text = fencepost("check", str(run.folder)).finish()
    assert code in (UNKNOWN, ANOMALY), text
    verdict: dict[str, object] = json.loads((run.folder / "verdict.json").read_text())
    assert verdict["verdict"] in ("unknown", "anomaly")
    return verdict


def test_ctrl_c_ends_everything_and_the_record_can_be_judged(fencepost: Start, lasting: Start) -> None:
    run = lasting()
    run.wait_for("kill b1")
    run.send(signal.SIGINT)
    run.ends(130, "fencepost check")
    judged_later(fencepost, run)


@pytest.mark.parametrize(
    ("moment", "then"),
    [("starting ZooKeeper", ""), ("start b1: boot 2 is ready", BRANCHES), ("stopping everything", "")],
)
def test_sigterm_is_one_line_and_an_exit_code_of_its_own_whatever_goes_on(
    lasting: Start, moment: str, then: str
) -> None:
    run = lasting(then=then)
    run.wait_for(moment)
    run.send(signal.SIGTERM)
    out, err = run.process.communicate(timeout=ENDS_WITHIN_S)
    assert run.process.returncode == 143, out + err
    assert err == "\nfencepost: interrupted by SIGTERM\n"
    assert "fencepost check" in out
    run.assert_nothing_left()


def test_sigkill_of_the_harness_leaves_no_process_and_loses_no_evidence(
    fencepost: Start, lasting: Start
) -> None:
    run = lasting()
    run.wait_for("writer appends to main: 50 acknowledged")
    run.send(signal.SIGKILL)
    run.ends(-signal.SIGKILL)
    verdict = judged_later(fencepost, run)
    assert "50 acknowledged" in str(verdict["headline"])


@pytest.mark.usefixtures("without_spark")
def test_sigkill_of_the_keeper_is_one_clear_error(fencepost: Start, lasting: Start) -> None:
    run = lasting()
    run.wait_for("creates main")
    os.kill(run.pid_of("keeper.py"), signal.SIGKILL)
    run.ends(1, "keeper")
    judged_later(fencepost, run)


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("victim", quick_and_long(["b3", "writer", "observer"], ["writer", "observer"]))
def test_a_process_that_dies_by_itself_is_reported_first(
    fencepost: Start, lasting: Start, victim: str
) -> None:
    run = lasting()
    run.wait_for("creates main")
    os.kill(run.pid_of(f"/servers/{victim}/hosts"), signal.SIGKILL)
    run.ends(1, f"{victim} (boot 1) was killed by a SIGKILL that the harness did not send")
    judged_later(fencepost, run)


def test_a_spark_failure_loses_no_evidence(fencepost: Start) -> None:
    run = fencepost(*ONE_MODE)
    run.wait_for("creates main")
    spark = run.pid_of("org.apache.spark")
    os.kill(spark, signal.SIGSTOP)  # so that it has not judged before it is killed
    run.wait_for("stopping everything")
    os.kill(spark, signal.SIGKILL)
    text = run.ends(1)
    assert "Spark" in text or "judging" in text or "collecting" in text
    run.assert_nothing_left()
    fencepost("check", str(run.folder)).ends(0)


def may_mount() -> bool:
    """Whether this process has CAP_SYS_ADMIN, which the root of a container without privileges lacks."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return bool(int(status["CapEff"], 16) >> 21 & 1)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a file system of a size in MB for results.

    Its owner is a child that unmounts it when its standard input ends, also because the tests were killed.
    """
    owners: list[subprocess.Popen[str]] = []

    def make(size_mb: int) -> Path:
        if not may_mount():
            pytest.skip("mounting a small file system needs root with CAP_SYS_ADMIN")
        (place := tmp_path / "disk").mkdir()
        mount = f"mount -t tmpfs -o size={size_mb}m tmpfs {place} && echo mounted && cat; umount -l {place}"
        owner = subprocess.Popen(
            ["sh", "-c", mount], stdin=PIPE, stdout=PIPE, text=True, start_new_session=True
        )
        owners.append(owner)
        assert owner.stdout is not None and owner.stdout.readline() == "mounted\n"
        return place

    yield make
    for owner in owners:
        owner.communicate()
        assert owner.returncode == 0


def test_a_disk_too_small_for_a_run_is_refused_before_anything_starts(
    fencepost: Start, disk: Callable[[int], Path]
) -> None:
    run = fencepost(*ONE_MODE, results=disk(40))
    text = run.ends(2)
    assert re.search(r"disk: \d+ MiB free under .*; a run needs 512 MiB", text)
    assert not list(run.results.rglob("run.json"))


def test_a_disk_that_fills_up_is_one_clear_error_and_loses_no_evidence(
    fencepost: Start, lasting: Start, disk: Callable[[int], Path]
) -> None:
    run = lasting(then=SMALL_STEPS, results=disk(700))
    filler = run.results / "filler"
    run.wait_for("writer appends to main: 50 acknowledged")
    with filler.open("wb", buffering=0) as file:
        while run.process.poll() is None:  # what the run gives back is taken as well
            with contextlib.suppress(OSError):
                file.write(bytes(1 << 16))
                continue
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.process.wait(0.01)
    run.ends(1, "is full")
    filler.unlink()
    judged_later(fencepost, run)
