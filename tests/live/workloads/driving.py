"""Loads that run on real clusters while a test breaks things, and what they open and say meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any

from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from tests.live.clusters import healing
from workloads.registry import WORKLOADS, LoadContext

PATIENCE_S = 180


class Load:
    """A running load: its ledgers by name as they are opened, its messages, its totals at the end."""

    def __init__(self, faults: Nemesis) -> None:
        self.ledgers: dict[str, int] = {}
        self.lines: list[str] = []
        self.totals: dict[str, int] = {}
        self._faults = faults
        self._changed = threading.Condition()

    def opened(self, name: str, ledger: int) -> None:
        with self._changed:
            self.ledgers[name] = ledger
            self._changed.notify_all()

    def say(self, line: str) -> None:
        with self._changed:
            self.lines.append(line)
            self._changed.notify_all()

    def of(self, *writers: str) -> list[int]:
        """The ledgers of some writers, oldest first."""
        with self._changed:
            return sorted(self.ledgers[name] for name in self.ledgers if name.split(".")[0] in writers)

    def newest_writer(self) -> str:
        with self._changed:
            return max(self.ledgers, key=self.ledgers.__getitem__).split(".")[0]

    def until(self, holds: Callable[[], Any], what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE_S), f"{what}; {self.ledgers}; {self.lines}"

    def wait_for_more(self, *writers: str, more: int = 1) -> None:
        """Wait for ``more`` more ledgers of these writers."""
        wanted = len(self.of(*writers)) + more
        self.until(lambda: len(self.of(*writers)) >= wanted, f"{more} more ledgers of {writers}")

    def breaks(self, kind: str, **params: Any) -> None:
        self._faults.inject(FAULTS[kind](**params))

    def heals(self) -> None:
        self._faults.heal()


@contextmanager
def driven(workload: str, cluster: Any, **params: Any) -> Iterator[Load]:
    """The load while it works; its totals are there when the block has ended."""
    chosen, stop = WORKLOADS[workload], threading.Event()
    with ThreadPoolExecutor(1) as pool, healing(Nemesis(cluster, lambda _line: None)) as faults:
        load = Load(faults)
        load_of = chosen(workload=workload, name="load1", **params)
        context = LoadContext(load_of, cluster, Random(1), stop, load.say, load.opened)
        running = pool.submit(context.work)
        try:
            yield load
        finally:
            load.heals()
            stop.set()
            load.totals = running.result(PATIENCE_S)
