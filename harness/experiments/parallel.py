"""The runs of one ``fencepost run --parallel N``: worker processes record their modes, this process judges.

A mode is recorded as soon as a worker is idle, and judged as soon as it is recorded.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from evidence.folder import RunFolder, new_run, point_latest
from harness.cleaning import at_work
from harness.experiments.running import Policy, run_all
from harness.experiments.workers import Recorders
from harness.judging import Judge
from harness.narrator import Narrator
from harness.preparing import Prepared, introduction
from harness.run import conclude, judge_mode, tell_where
from protocol.errors import FencepostError
from protocol.exit_codes import ExitCode
from reports.results import ModeResult, RunResult
from reports.text import mode_title


@dataclass
class _Run:
    """One of the runs (``number`` counts from 1), and the results of its modes until now."""

    number: int
    prepared: Prepared
    path: Path
    modes: dict[str, ModeResult] = field(default_factory=dict)

    def result(self) -> RunResult | None:
        """The whole result, its modes in the plan's order; None while one of them is still to come."""
        one = self.prepared
        if len(self.modes) < len(one.modes):
            return None
        return RunResult(one.plan.name, one.seed, self.path, [self.modes[mode] for mode in one.modes])


@dataclass(frozen=True)
class _Job:
    """One mode of one run, for one worker."""

    run: _Run
    mode: str

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.run.path / self.mode)


def run_parallel(
    prepared: Sequence[Prepared], judge: Judge, narrator: Narrator, *, parallel: int
) -> Generator[tuple[int, RunResult], None, None]:
    """Each result with its run's number (from 1), in the order in which the runs end.

    The first error (``FencepostError``) ends the others, which are in progress. Closing the iterator does so
    too.
    """
    recorders = Recorders(None, prepared[0].request.results, parallel)
    begun: list[_Job] = []

    def jobs() -> Iterator[_Job]:
        for job in _jobs(prepared, narrator):
            begun.append(job)
            yield job

    def record(job: _Job) -> _Job:
        _record(job, recorders)
        return job

    with ExitStack() as work:
        work.callback(_tell_left, begun, narrator)
        work.enter_context(recorders)
        judge.wait_warm()
        ended = run_all(jobs(), record, Policy(parallel=parallel), stop=recorders.stop)
        for job in work.enter_context(closing(ended)):
            _judge(job, judge, narrator)
            begun.remove(job)
            if (result := job.run.result()) is not None:
                yield job.run.number, conclude(result, narrator)


def _jobs(prepared: Sequence[Prepared], narrator: Narrator) -> Iterator[_Job]:
    """Every mode of every run; a run's folder is made when its first mode begins."""
    for number, one in enumerate(prepared, start=1):
        if len(prepared) > 1:
            narrator.line(f"run {number} of {len(prepared)}", style="bold")
        run = _Run(number, one, new_run(one.request.results, one.plan.name, one.seed))
        point_latest(one.request.results, run.path)
        narrator.lines(introduction(one, run.path))
        for mode in one.modes:
            narrator.line(f"  begins {mode}")
            yield _Job(run, mode)


def _record(job: _Job, recorders: Recorders) -> None:
    """Return when a worker has recorded the mode; raises what ended the run early."""
    prepared = job.run.prepared
    request = replace(prepared.request, modes=(job.mode,), seed=prepared.seed)
    if error := recorders.record(request, run=job.run.path).get("error"):
        raised = FencepostError(error["why"], remedy=error["remedy"])
        raised.exit_code = ExitCode(error["exit_code"])
        raise raised


def _judge(job: _Job, judge: Judge, narrator: Narrator) -> None:
    prepared = job.run.prepared
    narrator.line(f"{prepared.plan.name}, seed {prepared.seed}, {mode_title(job.mode)}", style="bold")
    with at_work(job.folder):
        job.run.modes[job.mode] = judge_mode(job.folder, judge, narrator, keep=prepared.request.keep)


def _tell_left(begun: Sequence[_Job], narrator: Narrator) -> None:
    """Say where the evidence of the modes is that an error left without a verdict."""
    for job in begun:
        tell_where(job.folder, narrator)
