"""The processes that run experiments: some recorders, and one judge with the only Spark session.

A process that hangs or dies is replaced. What a recorder stored can be judged whatever becomes of the judge.
``fencepost run`` has recorders only, because it judges in its own process.
"""

from __future__ import annotations

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import TypeAdapter

from harness.experiments.experiment import Experiment
from harness.experiments.outcomes import Outcome, Status, outcome_of
from harness.provenance import CHECKOUT
from harness.request import RunRequest
from plans.models import Plan, plan_tree
from protocol.errors import FencepostError

LOG = "worker.log"
_MODULE = "harness.experiments.worker"
_END_S = 90
_CHUNK = 65536
Answer = dict[str, Any]


class NoAnswerError(FencepostError):
    """A worker did not answer: ``came`` is the outcome of its experiment, the message is why."""

    came: Status = Status.ERROR


class HungError(NoAnswerError):
    """The process did not answer in time, and was killed."""

    came = Status.HUNG


class DiedError(NoAnswerError):
    """The process ended without an answer."""


class Worker:
    """A process that answers one request at a time, started with the first; ``work`` is what it does.

    What it prints besides its answers is appended to ``log``, or goes to standard error for None; the runs
    are below ``results``.
    """

    def __init__(self, work: Literal["record", "judge"], log: Path | None, results: Path) -> None:
        self._work = work
        self._log = log
        self._results = results
        self._process: subprocess.Popen[bytes] | None = None
        self._answered = False
        self._closed = False
        self._starting = threading.Lock()

    @property
    def warm(self) -> bool:
        """Whether its process lives and has answered before."""
        return self._answered and self._runs

    @property
    def _runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ask(self, request: Mapping[str, Any], timeout_s: float | None) -> Answer:
        """The answer to a request, None for no time limit.

        Raises ``HungError`` or ``DiedError``, and the next request finds another process.
        """
        process = self._ready()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101  # pipes
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = _line(process.stdout, None if timeout_s is None else time.monotonic() + timeout_s)
        except (BrokenPipeError, ValueError):  # it has exited, or was asked to
            line = b""
        if line:
            self._answered = True
            answer: Answer = json.loads(line)
            return answer
        process.kill()
        code = process.wait()
        process.stdout.close()
        if line is None:
            raise HungError(f"no end after {timeout_s or 0:g} s; the worker and its servers were ended")
        where = f"; its last words are in {self._log.name}" if self._log else ""
        raise DiedError(f"the worker died (code {code}){where}")

    def end(self) -> None:
        """Ask it to shut down gracefully, permanently; returns at once."""
        with self._starting:
            self._closed = True
        if self._process is not None and self._process.stdin is not None:
            with suppress(BrokenPipeError):  # it died with a request half written
                self._process.stdin.close()

    def close(self) -> None:
        """Wait until it has ended; kill it when it does not."""
        self.end()
        if self._process is None:
            return
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _ready(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._closed:
                raise DiedError("the worker was asked to exit")
            if self._process is None or not self._runs:
                self._answered = False
                with self._log.open("ab") if self._log else nullcontext() as log:
                    self._process = subprocess.Popen(
                        [sys.executable, "-P", "-m", _MODULE, self._work, str(self._results)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=log,
                        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
                    )
            return self._process


class Recorders:
    """Processes that record runs, ``parallel`` at a time; a context manager that ends them.

    What they print is appended to ``log``, or goes to standard error for None; the runs are below
    ``results``.
    """

    def __init__(self, log: Path | None, results: Path, parallel: int) -> None:
        self._all = [Worker("record", log, results) for _ in range(parallel)]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for recorder in self._all:
            self._idle.put(recorder)

    def __enter__(self) -> Recorders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record(
        self,
        request: RunRequest,
        *,
        plan: Plan | None = None,
        run: Path | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """The answer of an idle process: the run's folder, and the error that ended the run, if any.

        ``plan`` is what runs, that of the request's scenario unless given; ``run`` is the folder that the
        request's modes are recorded in, a new one unless given.
        """
        recorder = self._idle.get()
        try:
            tree = TypeAdapter(RunRequest).dump_python(request, mode="json")
            planned = plan and plan_tree(plan)
            return recorder.ask({"request": tree, "plan": planned, "run": run and str(run)}, timeout_s)
        finally:
            self._idle.put(recorder)

    def stop(self) -> None:
        """Ask all processes to shut down gracefully; a run in progress ends early."""
        for recorder in self._all:
            recorder.end()

    def close(self) -> None:
        """Let all processes shut down gracefully; kill the others."""
        self.stop()
        for recorder in self._all:
            recorder.close()


class WorkerPool:
    """Runs experiments, ``parallel`` at a time; a context manager that ends its processes.

    What these print stands in ``worker.log`` in ``folder``; the runs are below ``results``. Recording has
    ``run_s`` seconds, and so has judging.
    """

    def __init__(self, folder: Path, results: Path, *, run_s: float, parallel: int = 1) -> None:
        self._results = results
        self._run_s = run_s
        self._judge = Worker("judge", folder / LOG, results)
        self._judging = threading.Lock()
        self._recorders = Recorders(folder / LOG, results, parallel)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def carry_out(self, experiment: Experiment) -> Outcome:
        """Record and judge one; what became of the processes themselves is an outcome too."""
        began = time.monotonic()
        told: Answer = {}
        try:
            self._warm_up()
            told = self._recorders.record(experiment.request(self._results), timeout_s=self._run_s)
            if error := told.pop("error", None):
                told |= {key: error[key] for key in ("came", "why", "error")}
            else:
                told = self._judged(told)
        except NoAnswerError as error:
            told = {**told, "came": error.came, "why": f"{error}"}
        broken = told.pop("broken", ())
        told = {**told, "came": Status(told["came"]), "took_s": round(time.monotonic() - began, 1)}
        return of_control(experiment, outcome_of(experiment, **told), broken)

    def stop(self) -> None:
        """Ask all processes to shut down gracefully; every experiment in progress ends as an error."""
        self._recorders.stop()
        self._judge.end()

    def close(self) -> None:
        """Let all processes shut down gracefully; kill the others."""
        self.stop()
        self._recorders.close()
        self._judge.close()

    def _warm_up(self) -> None:
        """Return when Spark is warm and idle, so that its start does not compete with servers under test."""
        if not self._judge.warm:
            with self._judging:  # who comes second waits for the first
                if not self._judge.warm:
                    self._judge.ask({}, self._run_s)

    def _judged(self, recorded: Answer) -> Answer:
        """The judge's answer, of a second judge if the first died: what is stored can be judged again."""
        with self._judging:
            try:
                return self._judge.ask(recorded, self._run_s)
            except DiedError:
                return self._judge.ask(recorded, self._run_s)


def of_control(experiment: Experiment, outcome: Outcome, broken: Sequence[str]) -> Outcome:
    """The outcome of a control by a defect: as expected when the defect acted and broke its property."""
    if not experiment.breaks or outcome.came in (Status.ERROR, Status.HUNG, Status.IMPOSSIBLE):
        return outcome
    if outcome.acted and experiment.breaks in broken:
        return replace(outcome, came=Status.AS_EXPECTED, why="")
    defect = " ".join(experiment.defects)
    what = f"acted, and {experiment.breaks} is no anomaly" if outcome.acted else "never acted"
    return replace(outcome, came=Status.UNKNOWN, why=f"the control failed: the seeded defect {defect} {what}")


def _line(source: IO[bytes], deadline: float | None) -> bytes | None:
    """The next line of a pipe on which one line at a time is under way; empty at its end, None too late."""
    found = b""
    while not found.endswith(b"\n"):
        left_s = None if deadline is None else max(0, deadline - time.monotonic())
        ready, _, _ = select.select([source], [], [], left_s)
        if not ready:
            return None
        part = os.read(source.fileno(), _CHUNK)
        if not part:
            return b""
        found += part
    return found
