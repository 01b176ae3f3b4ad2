"""One bookie and a writer: each process can be ended, paused and started again, and its end is reported.

The tests share a cluster, which each leaves with all of its processes running.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.interface import ProcessState
from cluster.servers.cluster import Cluster
from cluster.waiting import wait_until
from protocol.errors import ClientError, NotReadyError, ServerError, UnplannedDeathError, UsageError
from tests.live.clusters import running, write


@pytest.fixture(scope="module")
def running_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    spec = {"bookies": 1, "clients": ("writer",), "linked": False, "observed": False}
    with running(tmp_path_factory.mktemp("one"), "unprotected", **spec) as opened:
        yield opened


@pytest.fixture
def cluster(running_cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, for a test in which no process ends on its own."""
    before = running_cluster.unplanned()
    yield running_cluster
    assert running_cluster.unplanned() == before


def test_what_is_no_process_or_no_bookie_is_refused_by_its_name(cluster: Cluster) -> None:
    with pytest.raises(UsageError, match="no process 'b11'") as raised:
        cluster.process("b11")
    assert raised.value.remedy == "Did you mean 'b1'?"
    with pytest.raises(UsageError, match="zk1 is no bookie"):
        cluster.bookie("zk1")


def test_servers_start_from_the_class_data_archive(cluster: Cluster) -> None:
    for role, pid in (("bookie", cluster.bookies["b1"].pid), ("zookeeper", cluster.zookeeper.pid)):
        assert f"-{role}.jsa" in Path(f"/proc/{pid}/maps").read_text()


def test_an_ordered_stop_keeps_everything(cluster: Cluster) -> None:
    ledger = write(cluster, 50, handle="kept")
    bookie = cluster.bookies["b1"]
    boot = bookie.boot
    ended = bookie.stop()
    assert (ended.server, ended.boot, ended.code, ended.signal) == ("b1", boot, 143, None)
    with pytest.raises(ServerError, match="b1 is down and cannot be ended"):
        bookie.kill()
    bookie.start()
    bookie.wait_ready(60)
    assert cluster.answer("b1", ledger, 49) == 0


def test_a_paused_bookie_is_silent_and_goes_on_where_it_stood(cluster: Cluster) -> None:
    ledger = write(cluster, 5, handle="paused")
    bookie = cluster.bookies["b1"]
    bookie.pause()
    states = {
        stat.read_text().rpartition(")")[2].split()[0]
        for stat in Path(f"/proc/{bookie.pid}/task").glob("*/stat")
    }
    assert states == {"T"}
    assert bookie.state is ProcessState.PAUSED
    assert cluster.answer("b1", ledger, 4, timeout_s=0.3) is None
    bookie.resume()
    assert cluster.answer("b1", ledger, 4) == 0
    bookie.pause()
    assert bookie.stop().code == 143
    bookie.start()
    bookie.wait_ready(60)


def test_zookeeper_can_die_and_come_back_with_what_it_knew(cluster: Cluster) -> None:
    write(cluster, 5, handle="known")
    before = cluster.metadata.ledgers()
    cluster.zookeeper.kill()
    with pytest.raises(ServerError, match="could not list the ledgers"):
        cluster.metadata.ledgers()
    cluster.zookeeper.start()
    cluster.zookeeper.wait_ready(60)
    wait_until(
        lambda: (ledgers(cluster) == before, f"{ledgers(cluster)}"),
        60,
        f"the ledgers {before} to be there again",
    )
    cluster.bookies["b1"].wait_ready(60)


def ledgers(cluster: Cluster) -> list[int]:
    try:
        return cluster.metadata.ledgers()
    except ServerError:
        return []


def test_a_client_can_be_killed_paused_and_started_again(cluster: Cluster) -> None:
    write(cluster, 5, handle="lost")
    writer = cluster.clients["writer"]
    boot = writer.boot
    writer.pause()
    late = writer.submit("hello")
    with pytest.raises(NotReadyError, match=r"writer \(paused\) did not reply to 'hello' in 0.3 s"):
        writer.call("hello", timeout_s=0.3)
    writer.resume()
    assert late.result(60)["ok"]
    waiting = writer.submit("await_acked", handle="lost", entries=6, timeout_s=60)
    writer.kill()
    with pytest.raises(ClientError, match=rf"writer \(boot {boot}\) ended with signal 9"):
        waiting.result(60)
    with pytest.raises(ClientError, match=rf"writer \(boot {boot}\) ended with signal 9"):
        writer.call("hello", timeout_s=60)
    writer.start()
    writer.wait_ready(60)
    assert writer.call("hello", timeout_s=60)["boot"] == boot + 1
    assert writer.stop().code == 0
    writer.start()
    writer.wait_ready(60)


def test_a_death_that_nobody_ordered_is_listed(running_cluster: Cluster) -> None:
    bookie, before = running_cluster.bookies["b1"], running_cluster.unplanned()
    boot = bookie.boot
    os.kill(bookie.pid, signal.SIGKILL)
    wait_until(lambda: (running_cluster.unplanned() != before, "unknown"), 60, "the death to be known")
    (death,) = running_cluster.unplanned()[len(before) :]
    assert (death.server, death.boot, death.signal) == ("b1", boot, signal.SIGKILL)
    with pytest.raises(UnplannedDeathError, match=rf"b1 \(boot {boot}\) was killed by a SIGKILL"):
        bookie.pause()
    bookie.start()
    bookie.wait_ready(60)
