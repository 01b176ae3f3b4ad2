"""A load that runs in a thread on fake clients, and waiting for what it does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import Any

from workloads.registry import LoadContext, Workload


class Running:
    """A load that runs in a thread, and what it has said and opened."""

    def __init__(self, workload: type[Workload], cluster: Any, seed: int, params: dict[str, Any]) -> None:
        self.stop = threading.Event()
        self.lines: list[str] = []
        self.named: dict[str, int] = {}
        self._pool = ThreadPoolExecutor(1)
        load = workload(workload=workload.kind, name="load1", **params)
        context = LoadContext(
            load, cluster, Random(seed), self.stop, self.lines.append, self.named.__setitem__
        )
        self._future = self._pool.submit(context.work)

    def end(self) -> dict[str, int]:
        self.stop.set()
        return self.totals()

    def totals(self) -> dict[str, int]:
        """Wait for its end; raises what it raised."""
        return self._future.result(30)

    def until(self, true: Callable[[], Any]) -> None:
        pause = threading.Event()
        for _ in range(3000):
            if true():
                return
            pause.wait(0.01)
        raise AssertionError(f"it never happened; lines: {self.lines}")


@contextmanager
def load_of(workload: type[Workload], cluster: Any, *, seed: int = 1, **params: Any) -> Iterator[Running]:
    load = Running(workload, cluster, seed, params)
    try:
        yield load
    finally:
        load.stop.set()
        load._pool.shutdown()


def ended(load_: AbstractContextManager[Running], when: Callable[[], Any]) -> tuple[dict[str, int], Running]:
    """The totals of a load that is ended as soon as this is true, and the load."""
    with load_ as load:
        load.until(when)
        load.end()
    return load.totals(), load
