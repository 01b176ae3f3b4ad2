"""Runs many experiments, several at a time, until all are done or the time limit is reached."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from harness.experiments.experiment import Experiment
from harness.experiments.outcomes import Came, Outcome

_MEMORY_BYTES = 2 * 2**30
"""What the servers and clients of one experiment take."""
CarryOut = Callable[[Experiment], Outcome]
Timed = tuple[Outcome, float]


@dataclass(frozen=True)
class Policy:
    """How experiments are run.

    ``total_s`` is the time for all of them in seconds (None: no limit), ``parallel`` how many run at a time,
    ``unknown_again`` how often an inconclusive experiment is repeated; ``clock`` returns seconds, ``begins``
    is called with each that begins.
    """

    total_s: float | None = None
    parallel: int = 1
    unknown_again: int = 0
    clock: Callable[[], float] = time.monotonic
    begins: Callable[[Experiment], None] = lambda _: None


def run_all(
    experiments: Iterable[Experiment],
    carry_out: CarryOut,
    policy: Policy,
    *,
    stop: Callable[[], None] = lambda: None,
) -> Generator[Outcome, None, None]:
    """Outcomes as experiments end; none is begun when the time left is less than one usually takes.

    ``carry_out`` is called in threads, at most ``policy.parallel`` at a time. Closing the iterator, or an
    error, calls ``stop``, which must make every call end soon, and then waits for these.
    """
    waiting = iter(experiments)
    began = policy.clock()
    taken: list[float] = []
    running: set[Future[Timed]] = set()

    def in_time() -> bool:
        usual = statistics.median(taken) if taken else 0.0
        return policy.total_s is None or policy.clock() - began + usual <= policy.total_s

    with ThreadPoolExecutor(policy.parallel, thread_name_prefix="experiment") as threads:
        try:
            while True:
                while len(running) < policy.parallel and in_time() and (one := next(waiting, None)):
                    policy.begins(one)
                    running.add(threads.submit(_timed, one, carry_out, policy))
                if not running:
                    return
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    outcome, took_s = future.result()
                    taken.append(took_s)
                    yield outcome
        finally:
            if running:
                stop()


def affordable(cores: int | None = None, memory_bytes: int | None = None) -> int:
    """How many experiments this machine can run at a time: one for each core and 2 GiB of free memory."""
    if memory_bytes is None:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        memory_bytes = int(fields["MemAvailable"].split()[0]) * 1024
    return max(1, min(cores or len(os.sched_getaffinity(0)), memory_bytes // _MEMORY_BYTES))


def _timed(experiment: Experiment, carry_out: CarryOut, policy: Policy) -> Timed:
    """One experiment, and how long it took with all its tries.

    An anomaly is never run again: repeating until it fits would prove nothing.
    """
    began = policy.clock()
    outcome = carry_out(experiment)
    for tries in range(2, 2 + policy.unknown_again):
        if outcome.came is not Came.UNKNOWN:
            break
        outcome = replace(carry_out(experiment), tries=tries)
    return outcome, policy.clock() - began
