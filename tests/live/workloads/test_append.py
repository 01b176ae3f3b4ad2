"""The append load on a real cluster, while bookies and clients die under it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

import workloads.rolling  # noqa: F401  # registers its load
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from protocol.metadata import LedgerState
from tests.live.clusters import healing, running
from workloads.registry import WORKLOADS, LoadContext

APPEND = WORKLOADS["append"]
PARAMS = {
    "workload": "append",
    "as": "load1",
    "writers": ["w1", "w2"],
    "readers": ["reader"],
    "closer": "closer",
    "entries_per_ledger": 200,
    "entry_bytes": 128,
    "rate_per_s": 400,
}
PATIENCE_S = 180


class Counted(dict[str, int]):
    """Ledgers by name, as they are opened, with a way to wait for more."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def opened(self, name: str, ledger: int) -> None:
        with self._changed:
            self[name] = ledger
            self._changed.notify_all()

    def newest(self, writer: str) -> int:
        with self._changed:
            return max(ledger for name, ledger in self.items() if name.startswith(f"{writer}."))

    def wait_for_more(self, writer: str, more: int) -> None:
        def of_writer() -> int:
            return sum(name.startswith(f"{writer}.") for name in self)

        with self._changed:
            wanted = of_writer() + more
            assert self._changed.wait_for(lambda: of_writer() >= wanted, PATIENCE_S), dict(self)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    clients = ("w1", "w2", "reader", "closer")
    with running(tmp_path_factory.mktemp("append"), bookies=4, clients=clients) as opened:
        yield opened


def fence(cluster: Any, ledger: int) -> None:
    """Take a ledger away from its writer."""
    taken = cluster.clients["closer"].call("open", timeout_s=60, handle="thief", ledger=ledger, recovery=True)
    assert taken["ok"], taken


def test_the_load_goes_on_through_deaths_and_ends_with_its_totals(cluster: Any) -> None:
    stop, lines, ledgers = threading.Event(), [], Counted()
    with ThreadPoolExecutor(1) as pool, healing(Nemesis(cluster, lambda _line: None)) as faults:
        context = LoadContext(APPEND(**PARAMS), cluster, Random(1), stop, lines.append, ledgers.opened)
        load = pool.submit(context.work)
        try:
            ledgers.wait_for_more("w1", 2)
            faults.inject(FAULTS["kill"](target="b1"))
            ledgers.wait_for_more("w1", 2)
            faults.heal()
            for victim in ("w1", "closer", "reader"):
                faults.inject(FAULTS["kill"](target=victim))
            ledgers.wait_for_more("w2", 1)
            faults.heal()
            ledgers.wait_for_more("w1", 2)
            faults.inject(FAULTS["pause"](target="w2"))
            ledgers.wait_for_more("w1", 1)
            faults.heal()
            ledgers.wait_for_more("w2", 1)
            while not any("rolls over" in line for line in lines if line.startswith("w2:")):
                fence(cluster, ledgers.newest("w2"))  # which w2 may have left meanwhile
                ledgers.wait_for_more("w2", 1)
        finally:
            stop.set()
            totals = load.result(PATIENCE_S)
    assert totals["ledgers"] == len(ledgers) == len(set(ledgers.values()))
    assert totals["acked"] > 200 * 6
    assert totals["read"] > 0
    assert totals["recovered"] > 0
    assert totals["rolled"] > 0, lines
    states = [cluster.metadata.ledger(ledger)[0].state for ledger in ledgers.values()]
    assert states.count(LedgerState.CLOSED) >= totals["closed"] + totals["recovered"] > 0
    assert cluster.unplanned() == []
