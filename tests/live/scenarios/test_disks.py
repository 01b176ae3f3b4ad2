"""Power loss, full and read-only disks live: the scenarios that rest on them, each once in one mode.

Which disks, mounts and processes a killed keeper leaves (none) is shown by ``tests/unit/cluster`` on real
file systems; here the same for a whole run, killed while its bookie loses power.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.servers.disks import unavailable_reason
from tests.length import quick_and_long
from tests.live.running import Fencepost, Start, wait_until
from tests.live.scenarios.conftest import Stated

pytestmark = pytest.mark.skipif(
    unavailable_reason() is not None, reason=f"no dedicated disks: {unavailable_reason()}"
)

SCENARIO = Path(__file__).parents[3] / "scenarios/bp46/power-loss.yaml"
BOOT = "  - start: {target: b1}\n"
NO_BOOT = "  - wait_for: {condition: down, target: b2, timeout_s: 800}\n"
"""A step that outlasts the test, however late its kills are."""
QUICK = ("protected power-loss lost-marker", "nosync power-loss-nosync", "unprotected disk-read-only")
LONG = (
    "protected power-loss-together",
    "unprotected disk-full",
    "protected disk-full-stopped cookie-trap",
    "journal disk-full-flush disk-full-unseen power-loss-flushed",
)


@pytest.mark.parametrize("row", quick_and_long(QUICK + LONG, LONG))
def test_each_comes_out_as_stated(stated: Stated, row: str) -> None:
    stated(row)


@pytest.mark.long
def test_what_survives_a_kill_survives_a_loss_of_power(stated: Stated) -> None:
    stated("protected truncation lost-fence", "--set", "loss=power")


@pytest.mark.long
def test_nothing_that_was_acknowledged_or_forced_is_lost_with_the_power_of_all_bookies(
    stated: Stated,
) -> None:
    stated("journal power-cut", document="soak")


def test_what_a_force_confirmed_survives_a_loss_of_power(stated: Stated) -> None:
    stated("journal forced", "--rounds", "1", document="durability")


def test_harness_and_keeper_killed_while_a_bookie_loses_power_leave_nothing(
    fencepost: Start,
) -> None:
    scenario = SCENARIO.read_text()
    assert scenario.count(BOOT) == 1
    run = fencepost("run", scenario.replace(BOOT, NO_BOOT + BOOT), "--mode", "protected")
    run.wait_for("writer appends to main")
    images = [*loop_files(run.results)]
    assert len(images) == 6, images  # two disks for each of three bookies
    assert any(mounts(run.results))
    wait_until(lambda: "power_loss" in faults(run), "the power loss to begin")
    keeper = run.pid_of("keeper.py")
    os.kill(keeper, signal.SIGSTOP)  # it undoes nothing any more
    run.send(signal.SIGKILL)
    run.finish()
    os.kill(keeper, signal.SIGKILL)
    run.assert_nothing_left()
    wait_until(lambda: not any(loop_files(run.results)), "no loop device")
    wait_until(lambda: not any(mounts(run.results)), "no mount")


def faults(run: Fencepost) -> str:
    return (run.folder / "raw" / "faults" / "faults.jsonl").read_text()


def loop_files(folder: Path) -> Iterator[str]:
    """The files below a folder that are some loop device's."""
    for device in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            backing = device.read_text().strip()
        except OSError:  # it is gone meanwhile
            continue
        if str(folder) in backing:  # in a chroot the kernel names it from the root of the machine
            yield backing


def mounts(folder: Path) -> Iterator[str]:
    """What any process sees mounted below a folder, in whatever namespace."""
    for table in Path("/proc").glob("[0-9]*/mounts"):
        try:
            lines = table.read_text().splitlines()
        except OSError:  # the process is gone meanwhile
            continue
        yield from (point for line in lines if (point := line.split()[1]).startswith(str(folder)))
