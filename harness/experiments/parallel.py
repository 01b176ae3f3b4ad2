"""Prepared runs, some at a time: worker processes record their modes, this process judges.

A mode is recorded as soon as a worker is idle, and judged as soon as it is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from evidence.folder import RunFolder, new_run
from harness.cleaning import held, in_use
from harness.experiments.running import run_all
from harness.experiments.workers import Recorders, RecordOrder
from harness.judging import Judge
from harness.narrator import Narrator
from harness.preparing import Prepared, introduction
from harness.run import conclude, judge_mode, point_to_evidence, run
from protocol.errors import FencepostError, Interrupted
from reports.results import ModeResult, RunResult
from reports.text import mode_title

Results = Generator[tuple[int, RunResult], None, None]


@dataclass(frozen=True)
class ModeRun:
    """One mode of a run, for one worker; ``number`` counts the runs from 1, ``path`` is the run's folder.

    The folder is ``kept`` from cleaning until the mode is judged.
    """

    number: int
    prepared: Prepared
    mode: str
    path: Path
    kept: ExitStack

    @property
    def folder(self) -> RunFolder:
        """The mode's folder."""
        return RunFolder(self.path / self.mode)

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside it."""
        return self.prepared.plan.alone


class Recorded(NamedTuple):
    """A mode whose recording took ``took_s`` seconds, ended early by ``error`` unless that is None."""

    run: ModeRun
    error: FencepostError | None
    took_s: float


def recorded(
    prepared: Iterable[Prepared],
    recorders: Recorders,
    *,
    parallel: int,
    total_s: float | None = None,
    begins: Callable[[ModeRun], None] = lambda _: None,
) -> Generator[Recorded, None, None]:
    """Each mode as its recording ends, as :func:`run_all`, to be judged before the next one is taken.

    Closing the iterator ends what is in progress.
    """

    def record(one: ModeRun) -> Recorded:
        began_s, ready = time.monotonic(), one.prepared
        request = replace(ready.request, modes=(one.mode,), seed=ready.seed)
        error = recorders.record(RecordOrder(request, one.path, ready.plan)).error
        return Recorded(one, error, time.monotonic() - began_s)

    modes = _modes(prepared)
    ended = run_all(modes, record, parallel=parallel, total_s=total_s, stop=recorders.stop, begins=begins)
    with closing(ended):
        for one in ended:
            yield one
            one.run.kept.close()


def _modes(prepared: Iterable[Prepared]) -> Iterator[ModeRun]:
    for number, one in enumerate(prepared, start=1):
        path = new_run(one.request.results, one.plan.name, one.seed)
        yield from [ModeRun(number, one, mode, path, held(path)) for mode in one.modes]


def run_each(prepared: Sequence[Prepared], judge: Judge, narrator: Narrator, *, parallel: int) -> Results:
    """Each result with its run's number (from 1), in the order in which the runs end.

    With ``parallel`` 1 this process records as well. The first error (``FencepostError``) ends the others,
    which are in progress. Closing the iterator does so too. Before an error or Ctrl-C is raised, each run
    that has not ended comes with the modes that were judged, if there are any.
    """
    parallel = min(parallel, sum(len(one.modes) for one in prepared))
    judged: dict[int, list[ModeResult]] = {}
    try:
        if parallel > 1:
            yield from _side_by_side(prepared, judge, narrator, parallel, judged)
            return
        for number, one in enumerate(prepared, start=1):
            _announce(number, len(prepared), narrator)
            result = run(one, judge, narrator, judged=judged.setdefault(number, []))
            del judged[number]
            yield number, result
    except (FencepostError, Interrupted):
        for number, modes in judged.items():
            if modes:
                yield number, _result(prepared[number - 1], modes[0].folder.path.parent, modes)
        raise


def _result(one: Prepared, path: Path, modes: Iterable[ModeResult]) -> RunResult:
    in_order = sorted(modes, key=lambda result: one.modes.index(result.mode))
    return RunResult(one.plan.name, one.seed, path, in_order)


def _side_by_side(
    prepared: Sequence[Prepared],
    judge: Judge,
    narrator: Narrator,
    parallel: int,
    judged: dict[int, list[ModeResult]],
) -> Results:
    """As :func:`run_each`; ``judged`` has the results of the modes of each run that has not ended."""
    recorders = Recorders(None, prepared[0].request.results, parallel)
    begun: list[ModeRun] = []
    announced: set[int] = set()

    def begins(one: ModeRun) -> None:
        begun.append(one)
        if one.number not in announced:
            announced.add(one.number)
            _announce(one.number, len(prepared), narrator)
            narrator.lines(introduction(one.prepared, one.path))
        narrator.line(f"  begins {one.mode}")

    def tell_left() -> None:
        """Print where the evidence of modes is that have no verdict because of an error."""
        for one in begun:
            point_to_evidence(one.folder, narrator)

    with ExitStack() as work:
        work.callback(tell_left)
        work.enter_context(recorders)
        judge.wait_warm()
        ended = recorded(prepared, recorders, parallel=parallel, begins=begins)
        for one, error, _ in work.enter_context(closing(ended)):
            if error:
                raise error
            ready = one.prepared
            narrator.line(f"{ready.plan.name}, seed {ready.seed}, {mode_title(one.mode)}", style="bold")
            with in_use(one.folder):
                result = judge_mode(one.folder, judge, narrator, keep=ready.request.keep)
            begun.remove(one)
            judged.setdefault(one.number, []).append(result)
            if len(judged[one.number]) == len(ready.modes):
                whole = _result(ready, one.path, judged.pop(one.number))
                yield one.number, conclude(whole, narrator)


def _announce(number: int, of: int, narrator: Narrator) -> None:
    if of > 1:
        narrator.line(f"run {number} of {of}", style="bold")
