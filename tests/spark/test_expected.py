"""What a plan expects, held against stored runs whose evidence was doctored before it was closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from harness.judging import broken_unstated, compare_with_plan
from harness.narrator import Narrator
from harness.next_step import next_step
from harness.run import conclude
from plans.expected.comparison import Comparison
from reports.results import ModeResult, RunResult
from reports.trials import stored_trial, trial
from tests.inline import judged
from tests.spark.rawfolder import Story, make

MAIN, CONTROL = 4, 9
PLAN = {
    "name": "made/up",
    "about": "A ledger keeps its entries; the control loses them.",
    "modes": ["protected"],
    "source": {"document": "none"},
    "clients": ["writer"],
    "control": {"nothing": "the second ledger"},
    "steps": [
        {"create": {"client": "writer", "ledger": f"l{ledger}"}, "note": "as named in the record"}
        for ledger in (MAIN, CONTROL)
    ],
    "expect": {"protected": [{"breaks": {"property": "durability", "kind": "lost", "ledger": "l9"}}]},
}
LOST = Story({MAIN: 20, CONTROL: 5}, lost={CONTROL: (0, 4)})


def compared(
    path: Path, story: Story, required: Sequence[str] = ("durability",), plan: Mapping[str, Any] = PLAN
) -> Comparison:
    folder = make(path, story, required=required, plan=plan)
    verdict = judged(folder)
    assert verdict.verdict is Verdict.ANOMALY
    return compare_with_plan(verdict, folder)


def _result(folder: RunFolder, verdict: RunVerdict) -> ModeResult:
    return ModeResult(folder.mode, folder, verdict, compare_with_plan(verdict, folder), took_s=1.5)


def test_an_anomaly_that_the_plan_states_is_not_what_a_seeded_defect_broke(tmp_path: Path) -> None:
    both = Story(LOST.ledgers, lost={CONTROL: (0, 4), MAIN: (0, 9)})
    for number, (story, broken) in enumerate(((LOST, ()), (both, ("durability",)))):
        folder = make(tmp_path / str(number), story, required=("durability",), plan=PLAN)
        verdict = judged(folder)
        assert verdict.judgements["durability"].verdict is Verdict.ANOMALY
        assert broken_unstated(verdict, folder) == broken
        result = RunResult("made/up", 1, folder.path.parent, [_result(folder, verdict)])
        assert (f"{folder.path.parent} l{MAIN}:0 --mode protected; then" in next_step(result)) == bool(broken)


def test_a_stored_run_counts_in_a_series_as_the_run_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The page needs more of a run than there is here.
    monkeypatch.setattr("harness.run.write_page", lambda run: run.path)
    story = Story(LOST.ledgers, lost=LOST.lost, refused=(MAIN,))
    for number, one in enumerate((LOST, story)):
        folder = make(tmp_path / str(number), one, required=("durability",), plan=PLAN)
        verdict = judged(folder)
        result = _result(folder, verdict)
        run = folder.path.parent
        conclude(RunResult(folder.run()["scenario"], 1, run, [result]), Narrator(quiet=True))
        assert stored_trial(run, folder.mode, 1.5) == trial(folder.run()["scenario"], result)


def test_the_expected_loss_is_as_expected(tmp_path: Path) -> None:
    assert compared(tmp_path, LOST).met


@pytest.mark.parametrize(("of", "met"), [({"count": 200}, True), ({"entries": [0, 300]}, False)])
def test_losses_beyond_those_that_a_verdict_lists_are_compared_as_well(
    tmp_path: Path, of: Mapping[str, Any], met: bool
) -> None:
    """Every second entry is lost: 200 findings, of which the verdict has the first 100."""
    story = Story({MAIN: 20, CONTROL: 400}, lost={CONTROL: range(0, 400, 2)})
    stated = {"property": "durability", "ledger": "l9", **of}
    comparison = compared(tmp_path, story, plan=PLAN | {"expect": {"protected": [{"breaks": stated}]}})
    assert (comparison.met, comparison.unexpected) == (met, not met)


@pytest.mark.parametrize("required", ["durability", "closing"])
def test_a_ledger_that_could_not_be_read_meets_nothing_beside_the_expected_loss(
    tmp_path: Path, required: str
) -> None:
    story = Story(LOST.ledgers, lost=LOST.lost, refused=(MAIN,))
    comparison = compared(tmp_path, story, required=sorted({"durability", required}))
    assert not comparison.met
    assert f"{required} is unknown on l{MAIN}, which meets no expectation" in comparison.reasons
    # No bookie lost anything, so a recovery that never ends is an anomaly in itself.
    assert f"an anomaly that was not expected: availability (stuck) on l{MAIN}" in comparison.reasons


def test_a_loss_on_one_ledger_of_a_load_leaves_no_other_of_its_ledgers_unknown(tmp_path: Path) -> None:
    """A load's ledgers have no names in the plan, so what it states names none."""

    def unnamed(folder: RunFolder) -> None:
        lines = folder.steps.read_text().splitlines(keepends=True)
        folder.steps.write_text("".join(line for line in lines if '"named"' not in line))

    story = Story(LOST.ledgers, lost=LOST.lost, refused=(MAIN,))
    stated = [
        {"breaks": {"property": "durability", "kind": "lost"}},
        {"breaks": {"property": "availability", "kind": "stuck"}},
    ]
    plan = PLAN | {"expect": {"protected": stated[:1]}}
    folder = make(tmp_path / "1", story, plan=plan, doctored=unnamed)
    reasons = compare_with_plan(judged(folder), folder).reasons
    assert f"durability is unknown on ledger {MAIN}, which meets no expectation" in reasons
    assert "an anomaly that was not expected: availability (stuck)" in reasons
    # The load's ledger that is stuck is itself the reason why its entries are unknown.
    folder = make(tmp_path / "2", story, plan=plan | {"expect": {"protected": stated}}, doctored=unnamed)
    assert compare_with_plan(judged(folder), folder).met


def test_what_is_unknown_of_the_ledger_that_breaks_is_no_matter(tmp_path: Path) -> None:
    story = Story({MAIN: 20, CONTROL: 5}, closed_below={CONTROL: -1})
    stated = [
        {"breaks": {"property": name, "kind": kind, "ledger": "l9"}}
        for name, kind in (("durability", "lost"), ("closing", "closed_below"))
    ]
    assert compared(tmp_path, story, plan=PLAN | {"expect": {"protected": stated}}).met
