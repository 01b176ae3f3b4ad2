"""A process that runs parts of experiments for a parent: it records runs, or judges recorded ones.

``python -m harness.experiments.worker record|judge RESULTS ORDERS ANSWERS`` takes orders from one descriptor
and answers each on the other (:mod:`harness.experiments.workers`). The parent kills it when it hangs; when
the parent itself is gone, the orders end and the worker shuts down gracefully.
"""

from __future__ import annotations

import _thread
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import NoReturn

from evidence.folder import FoundRun, modes_of
from evidence.seeding import seeded
from harness.experiments.experiment import DECISION, Outcome, Status, outcome_of
from harness.experiments.series import exit_code
from harness.experiments.workers import (
    Answer,
    JudgeOrder,
    Order,
    Recording,
    RecordOrder,
    ended_early,
    of_control,
    of_error,
)
from harness.judging import Judge, broken_unstated, judging, whole_but_for_skipped_steps
from harness.narrator import Narrator
from harness.preparing import prepare, prepare_plan
from harness.provenance import cpu_s
from harness.run import judge_again, judge_recorded, record_only
from protocol.errors import FencepostError, of_machine
from protocol.exit_codes import ExitCode

_GRACE_S = 60


def main(work: str, results: Path, orders: int, answers: int) -> None:
    """Serve orders until they end."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is in background jobs
        signal.signal(signal.SIGINT, _interrupt)
    for descriptor in (orders, answers):
        os.set_inheritable(descriptor, False)
    results.mkdir(parents=True, exist_ok=True)
    if work == "record":
        _serve(orders, answers, _record)
    else:
        with judging(results) as judge:
            _serve(orders, answers, partial(_judge, judge=judge))


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """Begin to shut down; a second interrupt (Ctrl-C, and the parent that ends) must not cut that short."""
    _ignore_signals()
    raise KeyboardInterrupt


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _serve(orders: int, answers: int, answer: Callable[[Order], Answer]) -> None:
    source: Connection[None, Order] = Connection(orders, writable=False)
    sink: Connection[Answer, None] = Connection(answers, readable=False)
    waiting: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source, waiting), daemon=True).start()
    while (order := waiting.get()) is not None:
        sink.send(answer(order))
    _ignore_signals()  # what is left is to shut down


def _listen(source: Connection[None, Order], waiting: queue.SimpleQueue[Order | None]) -> None:
    with suppress(EOFError, OSError):
        while True:
            waiting.put(source.recv())
    waiting.put(None)
    _thread.interrupt_main(signal.SIGTERM)  # A run in progress is shut down gracefully.
    time.sleep(_GRACE_S)
    os._exit(1)


def _record(order: RecordOrder) -> Recording:
    """Record the run; an error that ended it early is part of the answer."""
    began_s = cpu_s()
    error = None
    try:
        request = order.request
        plan = order.plan
        ready = prepare(request, digest=order.digest) if plan is None else prepare_plan(request, plan)
        record_only(ready, order.run, Narrator(quiet=True))
    except FencepostError as raised:
        error = raised
    except OSError as raised:
        error = of_machine(raised)
    return Recording(error, round(cpu_s() - began_s, 1), _pressure(order.run))


def _pressure(run: Path) -> float | None:
    """The greatest of the run's modes, None where it is not known."""
    ends = (one.end() or {} for one in modes_of(run))
    shares = (end.get("load", {}).get("cpu_pressure") for end in ends)
    return max((share for share in shares if share is not None), default=None)


def _judge(order: JudgeOrder, judge: Judge) -> Outcome:
    """The outcome of a recorded run; without a folder none, once the judge is warm and idle."""
    experiment, run, error = order.experiment, order.run, order.error
    try:
        if run is None:
            judge.wait_warm()
            return outcome_of(experiment, Status.UNKNOWN)
        judged = judge_again if error else judge_recorded  # only the second removes servers' directories
        result = judged(FoundRun(run, modes_of(run)), judge, Narrator(quiet=True))
    except FencepostError as unjudged:
        return of_error(experiment, error or unjudged)
    code, why = exit_code(result.modes)
    status = {ExitCode.AS_EXPECTED: Status.AS_EXPECTED, ExitCode.ANOMALY: Status.ANOMALY}.get(
        code, Status.UNKNOWN
    )
    mode = result.modes[0]
    broken = broken_unstated(mode.verdict, mode.folder)
    outcome = outcome_of(
        experiment,
        status,
        why="" if status is Status.AS_EXPECTED else why,
        headline=mode.verdict.headline,
        repeat=result.repeat,
        acted=sum(sum(one.acts.values()) for one in seeded(mode.folder)),
        showed=(*broken, *((DECISION,) if mode.comparison.contradicted else ())),
        missed=mode.comparison.missed,
        absent=() if experiment.breaks else mode.comparison.absent,
    )
    if error:
        outcome = ended_early(experiment, outcome, error)
    whole = whole_but_for_skipped_steps(mode.verdict, mode.folder)
    return of_control(experiment, outcome, broken, whole=whole)


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    except KeyboardInterrupt:  # the parent ends it, or Ctrl-C does
        sys.exit(128 + signal.SIGINT)
