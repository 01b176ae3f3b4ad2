"""Exchanging ZooKeeper's content on a real server: who comes back, what is there, and what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cluster.local.backend import open_cluster
from cluster.processes.settings import RunSpec
from cluster.releases.versions import DEFAULT_VERSION
from cluster.servers.offline import transactions
from cluster.waiting import wait_until
from evidence.collect.clock import WallClock
from evidence.collect.ledgers import DELETED, collect_ledgers
from evidence.folder import RunFolder
from evidence.recorders import read_lines
from evidence.schemas import OPERATIONS
from nemesis.nemesis import Nemesis
from protocol.metadata import LedgerState
from protocol.modes import MODES
from tests.live.clusters import healing
from tests.nemesis_contract.fault_stories import Lines, inject, proof, start

ONE = {"ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
CLOCK = WallClock.of({"wall_ns": 0, "monotonic_ns": 0}, None)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder.create(tmp_path, "journal")
    folder.write_run({"versions": {}, "bookkeeper": DEFAULT_VERSION})
    return folder


@pytest.fixture
def cluster(folder: RunFolder) -> Iterator[Any]:
    with open_cluster(RunSpec(folder, MODES["journal"], bookies=1, clients=("writer",))) as running:
        yield running
        assert running.unplanned() == []


def exchange(nemesis: Nemesis, name: str, **params: str) -> None:
    """The fault between an end and a beginning of the store."""
    inject(nemesis, "kill", target="zk1")
    inject(nemesis, name, **params)
    start(nemesis, target="zk1")


def registered(cluster: Any) -> None:
    wait_until(lambda: (cluster.metadata.registered() == {"b1"}, "b1 is away"), 60, "b1 to be registered")


def created(cluster: Any, handle: str) -> int:
    """A ledger of the writer; the first tries may come before it has its session again."""
    writer = cluster.clients["writer"]

    def tried() -> tuple[bool, str]:
        nonlocal reply
        reply = writer.call("create", timeout_s=60, handle=handle, **ONE)
        return bool(reply["ok"]), str(reply)

    reply: dict[str, Any] = {}
    wait_until(tried, 60, "a ledger to be created")
    return int(reply["ledger"])


def rows_of(folder: RunFolder, ledger: int) -> list[dict[str, Any]]:
    transactions(folder)
    lines = read_lines(folder.transactions)
    found = collect_ledgers(lines.records, CLOCK, pa.table(OPERATIONS.empty_table()), lines.damage)
    assert found.damage == ()
    return [row for row in found.table.to_pylist() if row["ledger"] == ledger]


def test_a_store_goes_back_in_time_and_its_clients_come_along(cluster: Any, folder: RunFolder) -> None:
    lines: Lines = []
    with healing(Nemesis(cluster, lambda line: lines.append(dict(line)))) as nemesis:
        old = created(cluster, "old")
        cluster.zookeeper.snapshot("early")
        assert cluster.clients["writer"].call("close", timeout_s=60, handle="old")["ok"]
        young = created(cluster, "young")
        exchange(nemesis, "restore_metadata", to="early")
        assert cluster.metadata.ledgers() == [old]
        metadata, version = cluster.metadata.ledger(old)
        assert (metadata.state, version) == (LedgerState.OPEN, 0)
        registered(cluster)
        again = created(cluster, "again")
        assert proof(lines, "confirmed", 2)["undone_transactions"] > 0
        exchange(nemesis, "wipe_metadata", leave="cluster")
        assert cluster.metadata.ledgers() == []
        registered(cluster)
        newest = created(cluster, "newest")
        assert newest in cluster.metadata.ledgers()
    rows = rows_of(folder, old)
    assert [(row["state"], row["version"], row["put_back"]) for row in rows[:3]] == [
        (LedgerState.OPEN, 0, False),
        (LedgerState.CLOSED, 1, False),
        (LedgerState.OPEN, 0, True),
    ]
    assert (rows[3]["state"], rows[3]["put_back"]) == (DELETED, True)
    # Ledger ids go back with the store: the next ledger takes the id of a ledger that is gone.
    assert again == young
    assert [row["put_back"] for row in rows_of(folder, young)][:4] == [False, True, False, True]


def test_evidence_of_all_lives_is_found_when_the_harness_was_killed_at_the_worst_moment(
    cluster: Any, folder: RunFolder
) -> None:
    """Between the two renames there is no data folder: the log belongs to a former boot."""
    with healing(Nemesis(cluster, lambda _: None)) as nemesis:
        old = created(cluster, "old")
        inject(nemesis, "kill", target="zk1")
        inject(nemesis, "wipe_metadata", leave="nothing")
        data = cluster.zookeeper.folder / "data"
        data.rename(data.with_name("next"))
        assert [(row["state"], row["put_back"]) for row in rows_of(folder, old)] == [
            (LedgerState.OPEN, False),
            (DELETED, True),
        ]
        data.with_name("next").rename(data)
        start(nemesis, target="zk1")
        assert cluster.metadata.ledgers() == []
