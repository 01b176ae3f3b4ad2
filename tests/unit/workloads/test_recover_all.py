"""The load that recovers every ledger once, on clients that keep ledgers in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from protocol.errors import ServerError
from protocol.metadata import LedgerState
from tests.unit.workloads.fake_clients import fake_cluster
from tests.unit.workloads.running import load_of
from workloads.recover_all import RecoverAll


class Store:
    """A metadata store that knows these ledgers, and does not answer some requests."""

    def __init__(self, states: dict[int, str], *, silent: int = 0) -> None:
        self._states, self._silent = states, silent

    def ledgers(self) -> list[int]:
        return sorted(self._states)

    def ledger(self, ledger: int) -> tuple[Any, int]:
        self._silent -= 1
        if self._silent >= 0:
            raise ServerError("ZooKeeper could not read the metadata: ConnectionLoss")
        return SimpleNamespace(state=LedgerState[self._states[ledger].upper()]), 0


def recovered(silent: int) -> tuple[dict[str, int], set[int]]:
    """The totals of a load upon two open ledgers and a closed one, and the ledgers that it recovered."""
    cluster = fake_cluster("r1")
    for state in ("open", "closed", "open"):
        cluster.ledgers.state[cluster.ledgers.create()] = state
    cluster.metadata = Store(dict(cluster.ledgers.state), silent=silent)
    with load_of(RecoverAll, cluster, recoverers=("r1",), at_once=1) as load:
        totals = load.totals()
    return totals, {ledger for ledger, state in cluster.ledgers.state.items() if state == "recovered"}


def test_every_ledger_that_is_not_closed_is_recovered_once() -> None:
    assert recovered(silent=0) == ({"recovered": 2, "refused": 0, "closed_already": 1}, {1, 3})


def test_a_ledger_is_tried_again_when_the_metadata_store_did_not_answer() -> None:
    assert recovered(silent=2) == ({"recovered": 2, "refused": 0, "closed_already": 1}, {1, 3})
