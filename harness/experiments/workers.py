"""The processes that run experiments: some recorders, and one judge with the only Spark session.

A process that hangs or dies is replaced. What a recorder stored can be judged whatever becomes of the judge.
``fencepost run`` has recorders only, because it judges in its own process.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Generic, Literal, Self, TypeVar

from evidence.folder import modes_of, new_run
from harness.cleaning import held
from harness.experiments.experiment import Experiment, Outcome, Status, outcome_of
from harness.provenance import CHECKOUT
from harness.request import RunRequest
from plans.models import Plan
from protocol.errors import FencepostError, IncapableError

LOG = "worker.log"
_MODULE = "harness.experiments.worker"
_END_S = 90
Order = TypeVar("Order")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RecordOrder:
    """What to record in the whole run's folder ``run``: ``plan``, else that of the request.

    The request's plan must have the ``digest``, if one is given.
    """

    request: RunRequest
    run: Path
    plan: Plan | None = None
    digest: str = ""


@dataclass(frozen=True)
class Recording:
    """How a recording ended: the error that ended it early, if any.

    ``cpu_s`` and ``cpu_pressure`` are as in :class:`harness.experiments.experiment.Outcome`.
    """

    error: FencepostError | None = None
    cpu_s: float | None = None
    cpu_pressure: float | None = None


@dataclass(frozen=True)
class JudgeOrder:
    """The folder of a recorded run of an experiment, and the error that ended it early, if any.

    Without a folder the judge only becomes warm and idle.
    """

    experiment: Experiment
    run: Path | None
    error: FencepostError | None = None


class NoAnswerError(FencepostError):
    """A worker did not answer: ``status`` is the outcome of its experiment, the message is why."""

    status: Status = Status.ERROR


class HungError(NoAnswerError):
    """The process did not answer in time, and was killed."""

    status = Status.HUNG


class DiedError(NoAnswerError):
    """The process ended without an answer."""


class Worker(Generic[Order, Answer]):
    """A process that answers one order at a time, started with the first; ``work`` is what it does.

    What it prints is appended to ``log``, or goes to standard error for None; the runs are below ``results``.
    """

    def __init__(self, work: Literal["record", "judge"], log: Path | None, results: Path) -> None:
        self._work = work
        self._log = log
        self._results = results
        self._live: tuple[subprocess.Popen[bytes], Connection[Order, None], Connection[None, Answer]] | None
        self._live = None
        self._answered = False
        self._closed = False
        self._starting = threading.Lock()

    @property
    def warm(self) -> bool:
        """Whether its process lives and has answered before."""
        return self._answered and self._runs

    @property
    def _runs(self) -> bool:
        return self._live is not None and self._live[0].poll() is None

    def ask(self, order: Order, timeout_s: float | None) -> Answer:
        """The answer to an order, None for no time limit.

        Raises ``HungError`` or ``DiedError``, and the next order starts another process.
        """
        process, orders, answers = self._ready()
        in_time = True
        with suppress(OSError, EOFError):  # it has exited, or was asked to
            orders.send(order)
            in_time = answers.poll(timeout_s)
            if in_time:
                answer = answers.recv()
                self._answered = True
                return answer
        process.kill()
        code = process.wait()
        if not in_time:
            raise HungError(f"not finished after {timeout_s or 0:g} s; the worker and its servers were ended")
        where = f"; its last output is in {self._log.name}" if self._log else ""
        raise DiedError(f"the worker died (code {code}){where}")

    def end(self) -> None:
        """Ask it to shut down gracefully, permanently; returns at once."""
        with self._starting:
            self._closed = True
        if self._live is not None:
            self._live[1].close()

    def close(self) -> None:
        """Wait until it has ended; kill it when it does not."""
        self.end()
        if self._live is None:
            return
        process, _, answers = self._live
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        answers.close()

    def _ready(self) -> tuple[subprocess.Popen[bytes], Connection[Order, None], Connection[None, Answer]]:
        with self._starting:
            if self._closed:
                raise DiedError("the worker was asked to exit")
            if self._live and self._runs:
                return self._live
            self._answered = False
            taken, orders = Pipe(duplex=False)
            answers, given = Pipe(duplex=False)
            ends = (taken.fileno(), given.fileno())
            with taken, given, self._log.open("ab") if self._log else nullcontext(sys.stderr) as log:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", _MODULE, self._work, str(self._results), *map(str, ends)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
                    pass_fds=ends,
                    process_group=0,  # Ctrl-C reaches only this process, which ends it by closing its orders
                )
            self._live = process, orders, answers
            return self._live


class Recorders:
    """Processes that record runs (:class:`Worker`), ``parallel`` at a time; leaving it ends them."""

    def __init__(self, log: Path | None, results: Path, parallel: int) -> None:
        self._all: list[Worker[RecordOrder, Recording] | Worker[JudgeOrder, Outcome]] = []
        self._idle: queue.SimpleQueue[Worker[RecordOrder, Recording]] = queue.SimpleQueue()
        for _ in range(parallel):
            recorder = Worker[RecordOrder, Recording]("record", log, results)
            self._all.append(recorder)
            self._idle.put(recorder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let all processes shut down gracefully; kill the others."""
        self.stop()
        for process in self._all:
            process.close()

    def record(self, order: RecordOrder, timeout_s: float | None = None) -> Recording:
        """The answer of an idle process; that it gave none is the error of the recording."""
        recorder = self._idle.get()
        try:
            return recorder.ask(order, timeout_s)
        except NoAnswerError as error:
            return Recording(error)
        finally:
            self._idle.put(recorder)

    def stop(self) -> None:
        """Ask all processes to shut down gracefully; a run in progress ends early."""
        for process in self._all:
            process.end()


class WorkerPool(Recorders):
    """Runs experiments: processes that record, and one that judges; all log to ``worker.log`` in ``folder``.

    The steps of a run have ``run_s`` seconds, and so has judging. A run that has not ended after twice as
    long is killed.
    """

    def __init__(self, folder: Path, results: Path, *, run_s: float, parallel: int = 1) -> None:
        super().__init__(folder / LOG, results, parallel)
        self._results = results
        self._run_s = run_s
        self._judge = Worker[JudgeOrder, Outcome]("judge", folder / LOG, results)
        self._judging = threading.Lock()
        self._all.append(self._judge)

    def execute(self, experiment: Experiment) -> Outcome:
        """Record and judge one; what became of the processes themselves is an outcome too."""
        run = new_run(self._results, experiment.scenario, experiment.number)
        with held(run):
            return self._executed(experiment, run)

    def _executed(self, experiment: Experiment, run: Path) -> Outcome:
        began = time.monotonic()
        recorded = Recording()
        try:
            self._warm_up(experiment)
            request = replace(experiment.request(self._results), steps_s=self._run_s)
            recorded = self.record(RecordOrder(request, run, digest=experiment.digest), 2 * self._run_s)
            outcome = self._judged(JudgeOrder(experiment, run, recorded.error))
        except NoAnswerError as error:
            outcome = of_error(experiment, recorded.error or error)
        folder = str(run.relative_to(self._results)) if modes_of(run) else ""
        if not folder:  # nothing was recorded
            shutil.rmtree(run, ignore_errors=True)
        elif outcome.status in (Status.ERROR, Status.HUNG):
            outcome = replace(outcome, why=f"{outcome.why}; what was recorded: {run}")
        return replace(
            outcome,
            folder=folder,
            took_s=round(time.monotonic() - began, 1),
            cpu_s=recorded.cpu_s,
            cpu_pressure=recorded.cpu_pressure,
        )

    def _warm_up(self, experiment: Experiment) -> None:
        """Return when Spark is warm and idle, so that its start does not compete with servers under test."""
        if not self._judge.warm:
            with self._judging:  # who comes second waits for the first
                if not self._judge.warm:
                    self._judge.ask(JudgeOrder(experiment, None), self._run_s)

    def _judged(self, order: JudgeOrder) -> Outcome:
        """The judge's answer, of a second judge if the first died: what is stored can be judged again."""
        with self._judging:
            try:
                return self._judge.ask(order, self._run_s)
            except DiedError:
                return self._judge.ask(order, self._run_s)


def of_error(experiment: Experiment, error: FencepostError) -> Outcome:
    """What an error of recording or judging makes of a run."""
    status = Status.IMPOSSIBLE if isinstance(error, IncapableError) else Status.ERROR
    if isinstance(error, NoAnswerError):
        status = error.status
    return outcome_of(experiment, status, why=f"{error}", error=type(error).__name__)


def ended_early(experiment: Experiment, judged: Outcome, error: FencepostError) -> Outcome:
    """The outcome of a run that an error ended early and that was judged on what it left.

    An anomaly is proven all the same; not that of a control, whose defect is to cause one.
    """
    ended = of_error(experiment, error)
    if judged.status is Status.ANOMALY and not experiment.breaks:
        return replace(judged, why=f"{judged.why}; the run ended early: {error}", error=ended.error)
    return replace(judged, status=ended.status, why=ended.why, error=ended.error, missed=False)


def of_control(
    experiment: Experiment, outcome: Outcome, broken: Sequence[str], *, whole: bool = True
) -> Outcome:
    """The outcome of a control by a defect: as expected when the defect acted and broke its properties.

    ``broken`` leaves out anomalies that the plan states, because these show without the defect too. Evidence
    that is not ``whole`` meets no expectation.
    """
    if not experiment.breaks or outcome.status in (Status.ERROR, Status.HUNG, Status.IMPOSSIBLE):
        return outcome
    unbroken = [name for name in experiment.breaks if name not in broken]
    if outcome.acted and whole and not unbroken:
        return replace(outcome, status=Status.AS_EXPECTED, why="")
    defect = " ".join(experiment.defects)
    what = "never acted"
    if outcome.acted and not whole:
        what = "acted, and the evidence is not whole"
    elif outcome.acted:
        what = f"acted, and {' and '.join(unbroken)} has no anomaly beyond what the plan states"
    return replace(
        outcome,
        status=Status.UNKNOWN,
        why=f"the control failed: the seeded defect {defect} {what}",
        missed=bool(outcome.acted) and whole and (outcome.missed or outcome.status is not Status.UNKNOWN),
    )
