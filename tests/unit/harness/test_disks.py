"""Plans with dedicated disks: refused where the machine does not support them, and cleaned up afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.list import command as list_command
from evidence.folder import RunFolder
from harness.cleaning import leftovers
from harness.preparing import require_disks
from plans.resolve import resolve
from protocol.errors import IncapableError, PlanError
from tests.unit.plans.small import plan_of


@pytest.fixture
def no_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.mark.usefixtures("no_disks")
def test_a_plan_with_disks_is_refused_with_the_reason_and_the_next_step(tmp_path: Path) -> None:
    require_disks(plan_of(tmp_path, cluster="{bookies: 3}"))
    with pytest.raises(IncapableError, match="mounting needs root, this is user 1000") as refused:
        require_disks(plan_of(tmp_path, cluster="{disks: {}}"))
    assert "run as root" in refused.value.remedy


@pytest.mark.usefixtures("no_disks")
def test_the_list_of_faults_says_what_this_machine_lacks() -> None:
    lines = CliRunner().invoke(list_command, ["faults"]).output.splitlines()
    lacking = [line.split()[0] for line in lines if "not on this machine: mounting needs root" in line]
    assert lacking == ["fill", "power_loss", "read_only", "slow_disk"]


@pytest.mark.parametrize(
    ("cluster", "step", "message"),
    [
        ("{bookies: 3}", "power_loss: {targets: [b1]}", "no dedicated disks; write `disks: {}` under"),
        ("{disks: {}}", "fill: {target: b1, disk: journal}", "unknown disk `journal`; allowed: all, data"),
        (
            "{disks: {journal: own}}",
            "read_only: {target: b1, disk: data}",
            "unknown disk `data`; allowed: all, journal, ledgers",
        ),
    ],
)
def test_a_fault_of_a_disk_that_nobody_has_is_a_mistake_of_the_plan(
    tmp_path: Path, cluster: str, step: str, message: str
) -> None:
    with pytest.raises(PlanError) as wrong:
        plan_of(tmp_path, step, cluster=cluster)
    assert message in str(wrong.value)


CHAOS = """chaos:
      {for_s: 60, every_s: [1, 3], restart_after_s: [2, 8], at_most_down: 2, faults: [
      {power_loss: {targets: [any-bookie]}}, {power_loss: {targets: [b1, b2]}}, {kill: {target: any-bookie}}
      ]}"""


@pytest.mark.parametrize("seed", range(20))
def test_in_chaos_nobody_loses_power_who_is_down_and_never_too_many_at_once(
    tmp_path: Path, seed: int
) -> None:
    plan = resolve(plan_of(tmp_path, CHAOS, cluster="{disks: {}}"), seed, "protected").plan
    (faults, _) = plan.steps[1].branches
    down: set[str] = set()
    for step in faults:
        if step.name in ("power_loss", "kill"):
            hit = set(step.params.targets if step.name == "power_loss" else [step.params.target])
            assert not hit & down
            down |= hit
        elif step.name == "heal":
            assert step.params.kind == "power_loss"
            down -= {step.params.target} if step.params.target else {"b1", "b2"}
        else:
            down.remove(step.params.target)
        assert len(down) <= 2
    assert not down


def test_images_that_a_killed_run_left_are_found_with_what_they_take(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", "protected")
    run.write_run({})
    image = run.server("b1") / "disks" / "data.img"
    image.parent.mkdir(parents=True)
    with image.open("wb") as file:
        file.truncate(256 << 20)
        file.write(b"begun")
    (run.server("b1") / "data").mkdir()
    RunFolder.create(run.scratch, "protected").write_run({})  # a copy that was being judged
    ((scratch, _), (data, nothing), (images, taken)) = leftovers(tmp_path, tables=False, runs=False)
    assert (scratch, data.name, nothing, images) == (run.scratch, "data", 0, image.parent)
    assert 0 < taken < 1 << 20
