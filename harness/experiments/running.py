"""Runs many experiments, several at a time, until all are done or the time limit is reached."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Protocol, TypeVar

from cluster.doctor import available_memory_bytes
from harness.experiments.experiment import Earlier, Experiment, Outcome, Status

_MEMORY_BYTES = 2 * 2**30
"""What the servers and clients of one experiment take."""
Execute = Callable[[Experiment], Outcome]
Result = TypeVar("Result")


class Runnable(Protocol):
    """What can be run: an experiment, or one mode of a run."""

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside it."""


Job = TypeVar("Job", bound=Runnable)


def run_all(
    jobs: Iterable[Job],
    execute: Callable[[Job], Result],
    *,
    parallel: int = 1,
    total_s: float | None = None,
    stop: Callable[[], None] = lambda: None,
    begins: Callable[[Job], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Result, None, None]:
    """Results as jobs end; none is begun when less of ``total_s`` is left than one usually takes.

    A job is taken from ``jobs`` when there is room for it, and ``begins`` is called with it when it begins:
    at once, unless it or the one in progress is to run alone. ``execute`` is called in threads, at most
    ``parallel`` at a time. Closing the iterator, or an error, calls ``stop``, which must make every
    call end soon, and then waits for these.
    """
    waiting, held, alone = iter(jobs), None, False
    began = clock()
    taken: list[float] = []
    running: set[Future[tuple[Result, float]]] = set()

    def timed(job: Job) -> tuple[Result, float]:
        began = clock()
        return execute(job), clock() - began

    def in_time() -> bool:
        usual = statistics.median(taken) if taken else 0.0
        return total_s is None or clock() - began + usual <= total_s

    with ThreadPoolExecutor(parallel, thread_name_prefix="experiment") as threads:
        try:
            while True:
                while len(running) < parallel and in_time() and (one := held or next(waiting, None)):
                    held = one if running and (alone or one.alone) else None
                    if held:
                        break
                    alone = one.alone
                    begins(one)
                    running.add(threads.submit(timed, one))
                if not running:
                    return
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    result, took_s = future.result()
                    taken.append(took_s)
                    yield result
        finally:
            if running:
                stop()


def affordable(cores: int | None = None, memory_bytes: int | None = None) -> int:
    """How many experiments this machine can run at a time: one for each core and 2 GiB of free memory."""
    if memory_bytes is None:
        memory_bytes = available_memory_bytes()
    return max(1, min(cores or len(os.sched_getaffinity(0)), memory_bytes // _MEMORY_BYTES))


def unknown_again(execute: Execute, times: int) -> Execute:
    """``execute``, which repeats an inconclusive experiment up to ``times`` times.

    An anomaly is never run again, nor a run that misses one: repeating until it fits would prove nothing.
    """

    def executed(experiment: Experiment) -> Outcome:
        outcome = execute(experiment)
        for tries in range(2, 2 + times):
            if outcome.status is not Status.UNKNOWN or outcome.missed:
                break
            earlier = (*outcome.earlier, Earlier(outcome.folder, outcome.why))
            outcome = replace(execute(experiment), tries=tries, earlier=earlier)
        return outcome

    return executed
