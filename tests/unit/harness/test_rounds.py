"""Rounds on the stage: fresh ledgers under their own names, healing and quiet in between."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence.folder import RunFolder
from evidence.names import ledger_names
from evidence.recorders import Recorder
from harness import perform as performing
from harness.perform import StepsOverError
from harness.stage import Ledgers, Stage
from plans.names import Params
from plans.sequence import StepSpec
from protocol.errors import UsageError

CREATE, KILL = StepSpec(name="create", params=Params()), StepSpec(name="kill", params=Params())


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plays steps in rounds on a stage that only notes what happens to it."""

    def play(steps: tuple[StepSpec, ...], number: int) -> list[str]:
        told: list[str] = []
        stage = SimpleNamespace(
            plan=SimpleNamespace(plan=SimpleNamespace(steps=steps, rounds=number)),
            faults=SimpleNamespace(heal=lambda: told.append("heal") or ["kill b1"]),
            ledgers=SimpleNamespace(begin_round=lambda one: told.append(f"begin {one}")),
            narrator=SimpleNamespace(event=lambda text, style="": None),
            round=0,
        )
        monkeypatch.setattr(performing, "perform", lambda steps, on: told.append(f"perform {on.round}"))
        monkeypatch.setattr(performing, "FAULTS", {"kill": "a fault"})
        monkeypatch.setattr(performing, "await_quiet", lambda on: told.append("quiet") or "quiet")
        performing.carry_out(cast("Stage", stage))
        return told

    return play


def test_faults_are_healed_and_the_cluster_waited_for_between_rounds(played: Any) -> None:
    assert played((CREATE, KILL), 3) == [
        *("begin 1", "perform 1"),
        *("heal", "quiet", "begin 2", "perform 2"),
        *("heal", "quiet", "begin 3", "perform 3"),
    ]


def test_without_faults_nothing_is_waited_for(played: Any) -> None:
    assert played((CREATE,), 2) == ["begin 1", "perform 1", "heal", "begin 2", "perform 2"]
    assert played((CREATE, KILL), 1) == ["begin 1", "perform 1"]


def test_a_step_that_says_it_is_over_leaves_out_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over(steps: object, on: object) -> None:
        raise StepsOverError("waited 90 s for condition 'quiet'")

    stage = SimpleNamespace(
        plan=SimpleNamespace(plan=SimpleNamespace(steps=(KILL,), rounds=3)),
        ledgers=SimpleNamespace(begin_round=lambda one: None),
        narrator=SimpleNamespace(event=lambda text, style="": told.append(text)),
        ended_by=None,
        folder=RunFolder(tmp_path),
        cluster=SimpleNamespace(unplanned=list),
    )
    told: list[str] = []
    monkeypatch.setattr(performing, "perform", over)
    performing.carry_out(cast("Stage", stage))
    assert stage.left_out == "waited 90 s for condition 'quiet'"
    assert told == ["round 1 of 3", "the steps behind are left out: waited 90 s for condition 'quiet'"]


def test_each_round_has_its_own_ledgers_and_handles(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "protected")
    with Recorder(folder.steps) as steps:
        ledgers = Ledgers(steps, rounds=2)
        ledgers.begin_round(1)
        first = ledgers.new_handle("writer", "main")
        ledgers.name("main", 4)
        assert (ledgers.id("main"), ledgers.handle("writer", "main")) == (4, first)
        ledgers.begin_round(2)
        with pytest.raises(UsageError, match="not created yet"):
            ledgers.id("main")
        with pytest.raises(UsageError, match="no handle"):
            ledgers.handle("writer", "main")
        assert ledgers.new_handle("writer", "main") != first
        ledgers.name("main", 5)
    assert ledger_names(folder) == {4: "main.1", 5: "main.2"}


def test_one_round_leaves_names_as_they_are(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "protected")
    with Recorder(folder.steps) as steps:
        ledgers = Ledgers(steps)
        ledgers.begin_round(1)
        ledgers.name("main", 4)
    assert ledger_names(folder) == {4: "main"}
