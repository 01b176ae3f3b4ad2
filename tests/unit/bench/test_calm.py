"""The live runs without faults: what is left of a soak, and what counts as broken after all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.calm import SOAKS, injected, without_faults
from evidence.folder import RunFolder
from harness.vocabulary import words
from plans.load import find, load
from plans.resolve import resolve
from protocol.modes import MODES


@pytest.mark.parametrize("soak", SOAKS)
@pytest.mark.parametrize("mode", MODES)
def test_of_a_soak_only_its_loads_are_left(soak: str, mode: str) -> None:
    plan = without_faults(load(find(soak), words()), 2.5)
    resolved = resolve(plan, 1, mode)
    assert [step.name for step in resolved.plan.steps] == ["load", "wait_for", "end_load"]
    assert plan.name.startswith("calm/")


def test_a_fault_or_a_process_that_ended_is_told(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "journal")
    assert injected(folder) == []
    lines = [
        {"fault": 1, "kind": "kill", "target": "b1", "phase": "planned", "at_ns": 1},
        {"fault": 1, "kind": "kill", "target": "b1", "phase": "injected", "at_ns": 2},
        {"fault": 2, "kind": "cut", "target": "w1-b2", "phase": "planned", "at_ns": 3},
        {"fault": 3, "kind": "unplanned", "target": "b3", "phase": "confirmed", "at_ns": 4},
    ]
    folder.faults.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert injected(folder) == ["kill b1", "unplanned b3"]
