"""The live runs without faults: what is left of a soak, and what counts as broken after all."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.calm import SOAKS, Calm, exit_code, injected, summary, without_faults
from evidence.findings import Verdict
from evidence.folder import RunFolder
from harness.vocabulary import words
from plans.expected.expectations import Holds
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
    assert plan.expect[mode] == (Holds(),), "a loss would be excused"


def ended(*kinds: str, unstated: tuple[str, ...] = (), verdict: Verdict | None = None) -> Calm:
    findings = tuple(SimpleNamespace(kind=kind, text="w1.1") for kind in kinds)
    judgements = {"metadata": SimpleNamespace(findings=findings, seen={})}
    merged = verdict or (Verdict.ANOMALY if kinds else Verdict.VALID)
    judged = SimpleNamespace(judgements=judgements, verdict=merged)
    return Calm("calm/kill9", "journal", 1, judged, unstated=unstated)  # type: ignore[arg-type]


def test_a_known_defect_is_named_and_flags_no_run() -> None:
    known, other = ended("wrong_length"), ended("wrong_length", unstated=("metadata",))
    assert known.found == ["a known defect: metadata/wrong_length: w1.1"]
    assert other.found == ["flagged: metadata/wrong_length: w1.1"]
    runs = "live runs without faults were flagged"
    assert summary([known, ended()]) == f"0 of 2 {runs}, 1 met a known defect; 1 valid, 0 unknown"
    assert summary([other]) == f"1 of 1 {runs}, 0 met a known defect; 0 valid, 0 unknown"


def test_an_unknown_run_is_no_pass() -> None:
    unknown, known = ended(verdict=Verdict.UNKNOWN), ended("wrong_length")
    assert summary([unknown, ended()]).endswith("; 1 valid, 1 unknown")
    assert exit_code([unknown, ended(), known]) == 3
    assert exit_code([ended(), known]) == 0
    assert exit_code([unknown, ended("wrong_length", unstated=("metadata",))]) == 4


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
