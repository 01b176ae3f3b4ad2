"""The churn load on clients that keep ledgers in memory, and bookies that forget ledgers on request."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.unit.workloads.fake_clients import BREAK, fake_cluster
from tests.unit.workloads.running import ended, load_of
from workloads.churn import ChurnLoad

GONE, THERE = 402, 403
NO_METADATA = {"ok": False, "error": "NoSuchLedgerExistsOnMetadataServer", "code": -25}
TIMEOUT = {"ok": False, "error": "Timeout", "code": -23}


def cluster_of(*names: str) -> Any:
    """Clients, and two bookies that know every ledger but those in ``forgotten``."""
    cluster = fake_cluster(*names)
    cluster.bookies = {"b1": None, "b2": None}
    cluster.forgotten = {"b1": set(), "b2": set()}
    cluster.looked = []

    def answer(bookie: str, ledger: int, _entry: int) -> int:
        cluster.looked.append(ledger)
        return GONE if ledger in cluster.forgotten[bookie] else THERE

    cluster.answer = answer
    return cluster


running = partial(
    load_of, ChurnLoad, writers=["writer"], deleter="owner", entries_per_ledger=10, close_fraction=1
)


def deletes(cluster: Any) -> list[int]:
    return [asked["ledger"] for asked in cluster.clients["owner"].did("delete")]


def test_the_oldest_settled_ledgers_are_deleted_and_the_newest_kept() -> None:
    cluster = cluster_of("writer", "owner")
    with running(cluster, keep=2) as load:
        load.until(lambda: len(deletes(cluster)) >= 3)
        assert deletes(cluster)[:3] == [1, 2, 3]
        totals = load.end()
    settled = {ledger for ledger, state in cluster.ledgers.state.items() if state == "closed"}
    assert len(settled - set(deletes(cluster))) >= 2
    assert totals["deleted"] == len(deletes(cluster))
    assert (totals["collected"], totals["uncollected"]) == (0, totals["deleted"])


def test_a_ledger_left_open_is_not_deleted_before_it_is_recovered() -> None:
    cluster = cluster_of("writer", "owner", "closer")
    cluster.clients["closer"].script["open"] = TIMEOUT
    with running(cluster, keep=0, close_fraction=0, closer="closer") as load:
        load.until(lambda: len(cluster.clients["closer"].did("open")) > 2)
        assert deletes(cluster) == []
        cluster.clients["closer"].script.clear()
        load.until(lambda: deletes(cluster))
        assert load.end()["recovered"]


def test_a_deleted_ledger_is_collected_when_every_bookie_has_forgotten_it() -> None:
    cluster = cluster_of("writer", "owner")
    with running(cluster, keep=0) as load:
        cluster.forgotten["b1"].add(1)
        load.until(lambda: len(deletes(cluster)) > 5)
        assert set(cluster.looked) == {1}
        cluster.forgotten["b2"].add(1)
        load.until(lambda: 2 in cluster.looked)
        totals = load.end()
    assert totals["collected"] == 1
    assert totals["uncollected"] == totals["deleted"] - 1


def test_a_bookie_that_gives_no_answer_has_not_forgotten() -> None:
    cluster = cluster_of("writer", "owner")
    cluster.answer = lambda bookie, _ledger, _entry: GONE if bookie == "b1" else None
    with running(cluster, keep=0) as load:
        load.until(lambda: len(deletes(cluster)) > 2)
        assert load.end()["collected"] == 0


@pytest.mark.parametrize("refusal", [TIMEOUT, NO_METADATA])
def test_a_delete_of_unknown_outcome_is_tried_again_until_the_ledger_is_gone(refusal: dict[str, Any]) -> None:
    cluster = cluster_of("writer", "owner")
    cluster.clients["owner"].script["delete"] = [refusal]
    totals, load = ended(running(cluster, keep=0), lambda: len(deletes(cluster)) > 2)
    again = refusal is TIMEOUT
    assert deletes(cluster)[:2] == ([1, 1] if again else [1, 2])
    assert totals["deleted"] == len(deletes(cluster)) - again
    assert ("owner: ledger 1 is not deleted: Timeout (-23)" in load.lines) == again


def test_a_deleter_that_dies_goes_on_after_its_next_start() -> None:
    cluster = cluster_of("writer", "owner")
    owner = cluster.clients["owner"]
    owner.script["delete"] = [BREAK]
    with running(cluster, keep=0) as load:
        load.until(lambda: owner.did("delete"))
        owner.restart()
        load.until(lambda: len(deletes(cluster)) > 2)
    assert deletes(cluster)[:2] == [1, 1]
