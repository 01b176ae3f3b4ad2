"""The spine: one prepared request from plan to verdict, for each of its modes in turn.

Folder, cluster, steps, observation, closed evidence (``harness.recording.record``); collection and
judgement (``harness.judging``); comparison and report here. What each of these does is in the
module that it calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from evidence.folder import FoundRun, RunFolder, modes_of, new_run, write_json
from harness.cleaning import drop_directories, in_use, is_in_use
from harness.judging import Judge, compare_with_plan
from harness.narrator import Narrator
from harness.next_step import next_step
from harness.preparing import Prepared, introduction
from harness.recording.record import record
from protocol.errors import EvidenceError
from reports.page.writing import write_page
from reports.results import ModeResult, RunResult
from reports.seeded import seeded_lines
from reports.text import mode_title, summary_markdown, verdict_lines


def run(
    prepared: Prepared, judge: Judge, narrator: Narrator, *, judged: list[ModeResult] | None = None
) -> RunResult:
    """Run one request: each mode has its own cluster, folder and verdict.

    ``judged`` takes each mode's result, so that those before an error are not lost.
    """
    plan = prepared.plan
    path = new_run(prepared.request.results, plan.name, prepared.seed)
    narrator.lines(introduction(prepared, path))
    modes = [] if judged is None else judged
    with ExitStack() as work:
        for mode in prepared.modes:
            folder = RunFolder.create(path, mode)
            work.enter_context(in_use(folder))
            narrator.line(mode_title(mode), style="bold")
            began = time.monotonic()
            _record(prepared, folder, judge, narrator)
            with _pointing_to_evidence(folder, narrator):
                result = judge_mode(folder, judge, narrator, keep=prepared.request.keep)
            modes.append(replace(result, took_s=time.monotonic() - began))
        return conclude(RunResult(plan.name, prepared.seed, path, modes), narrator)


def record_only(prepared: Prepared, path: Path, narrator: Narrator) -> None:
    """Record one request in the folder ``path``, of which another process judges every mode."""
    for mode in prepared.modes:
        folder = RunFolder.create(path, mode)
        with in_use(folder):
            _record(prepared, folder, None, narrator)


def judge_again(found: FoundRun, judge: Judge, narrator: Narrator, *, stays: bool = True) -> RunResult:
    """Judge a stored run from its folders alone, and conclude it unless a mode of it was left out.

    A run that does not stay, because it was unpacked from a bundle, is not concluded either.
    """

    def judged(folder: RunFolder) -> ModeResult:
        narrator.line(mode_title(folder.mode), style="bold")
        return _judged(folder, judge, narrator)

    return _of_stored(found, judged, narrator, stays=stays)


def judge_recorded(found: FoundRun, judge: Judge, narrator: Narrator) -> RunResult:
    """Judge and conclude what another process just recorded, as :func:`run` would have."""
    return _of_stored(found, lambda folder: judge_mode(folder, judge, narrator), narrator)


def judge_mode(folder: RunFolder, judge: Judge, narrator: Narrator, *, keep: bool = False) -> ModeResult:
    """Judge one mode that was just recorded.

    Its servers' directories are removed when it met its expectation, unless ``keep``.
    """
    with narrator.logging_to(folder.harness_log):
        result = _judged(folder, judge, narrator)
    if result.comparison.met and not keep:
        drop_directories(folder)
    return result


def _of_stored(
    found: FoundRun, judged: Callable[[RunFolder], ModeResult], narrator: Narrator, *, stays: bool = True
) -> RunResult:
    if not found.modes:
        raise EvidenceError(f"{found.path} has no mode with a run.json: it was not recorded, or was removed")
    modes = []
    with ExitStack() as work:
        for folder in found.modes:
            if is_in_use(folder):
                narrator.line(f"waiting for another fencepost process in {folder.path}", style="yellow")
            work.enter_context(in_use(folder))
            modes.append(judged(folder))
        facts = found.modes[0].run()
        result = RunResult(facts["scenario"], int(facts["seed"]), found.path, modes)
        whole = stays and found.modes == modes_of(found.path)
        return conclude(result, narrator) if whole else result


def _record(prepared: Prepared, folder: RunFolder, judge: Judge | None, narrator: Narrator) -> None:
    narrator.restart_clock()
    with narrator.logging_to(folder.harness_log), _pointing_to_evidence(folder, narrator):
        record(prepared, folder, judge, narrator)


@contextmanager
def _pointing_to_evidence(folder: RunFolder, narrator: Narrator) -> Iterator[None]:
    """Say where the evidence is when the run ends early."""
    try:
        yield
    except BaseException:
        point_to_evidence(folder, narrator)
        raise


def point_to_evidence(folder: RunFolder, narrator: Narrator) -> None:
    """Say where the evidence of a run that ended early is, if there is any."""
    if folder.run_json.exists():
        narrator.line(f"  what was recorded can be judged: fencepost check {folder.path}", style="yellow")


def _judged(folder: RunFolder, judge: Judge, narrator: Narrator) -> ModeResult:
    verdict = judge.verdict(folder)
    comparison = compare_with_plan(verdict, folder)
    narrator.lines((line, "yellow") for line in seeded_lines(folder))
    narrator.lines(verdict_lines(verdict, comparison, folder))
    return ModeResult(folder.mode, folder, verdict, comparison)


def conclude(result: RunResult, narrator: Narrator) -> RunResult:
    """Write the whole run's verdict and summary; say where they are, and what to do next if one is wrong."""
    tree = {
        mode.mode: {
            "verdict": mode.verdict.verdict.value,
            "headline": mode.verdict.headline,
            **asdict(mode.comparison),
        }
        for mode in result.modes
    }
    met = all(mode.comparison.met for mode in result.modes)
    write_json(
        result.path / "verdict.json",
        {"scenario": result.scenario, "seed": result.seed, "met": met, "modes": tree},
    )
    (result.path / "summary.md").write_text(summary_markdown(result), encoding="utf-8")
    report = write_page(FoundRun(result.path, tuple(mode.folder for mode in result.modes)))
    narrator.line(f"results: {result.path}")
    narrator.line(f"report:  {report}")
    narrator.line(f"repeat:  {result.repeat}")
    if step := next_step(result):
        narrator.line(f"next:    {step}")
    return result
