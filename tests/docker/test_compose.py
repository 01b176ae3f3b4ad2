"""The cluster of docker-compose.yml, started by hand, serves ordinary clients and survives what it should."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docker.composed import Composed, composed

pytestmark = pytest.mark.timeout(1500)
QUORUMS = {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2}
BOOKIES = ["b1", "b2", "b3"]


@pytest.fixture(scope="module")
def cluster(engine: None) -> Iterator[Composed]:
    with composed("hand") as one:
        one.up()
        yield one


def health(cluster: Composed) -> dict[str, str]:
    return {service: state for service, (_, state) in cluster.states().items()}


def test_up_alone_gives_a_healthy_cluster(cluster: Composed) -> None:
    assert health(cluster) == {
        **dict.fromkeys(["zookeeper", *BOOKIES, "proxy"], "healthy"),
        "initialise": "exited",
    }


def test_its_bookies_are_protected_and_do_not_journal_data(cluster: Composed) -> None:
    conf = cluster("exec", "-T", "b2", "cat", "/tmp/bookie.conf").splitlines()
    assert {"journalWriteData=false", "dataIntegrityChecking=true"} <= set(conf)


def test_bookkeepers_own_shell_reads_what_a_client_wrote(cluster: Composed) -> None:
    with cluster.client() as ask:
        ledger = ask("create", handle="h", **QUORUMS)["ledger"]
        ask("append", handle="h", entries=20)
        ask("close", handle="h")
    output = cluster.shell("readledger", "-ledgerid", str(ledger))
    assert len(re.findall(r"entryId=", output)) == 20, output


def test_a_killed_bookie_costs_no_entry_and_comes_back(cluster: Composed) -> None:
    with cluster.client() as ask:
        ledger = ask("create", handle="h", ensemble=3, write_quorum=2, ack_quorum=2)["ledger"]
        assert ask("append", handle="h", entries=100, entry_bytes=1024)["acked"] == 100
        assert ask("close", handle="h")["last_entry"] == 99
        cluster("kill", "b1")
        assert health(cluster)["b1"] == "exited"
        assert ask("open", handle="r", ledger=ledger)["last_entry"] == 99
        assert ask("read", handle="r", first=0, last=99)["entries"] == 100
    cluster.up()
    assert health(cluster)["b1"] == "healthy"
    assert "UNCLEAN_SHUTDOWN" in cluster("logs", "b1")


def test_a_second_up_changes_nothing(cluster: Composed) -> None:
    before = cluster.states()
    cluster.up()
    assert cluster.states() == before
    assert "there is a cluster" in cluster("logs", "initialise")


def test_a_link_of_a_client_can_be_cut(cluster: Composed) -> None:
    all_of_three = {**QUORUMS, "ack_quorum": 3}
    with cluster.client() as ask:
        ask("create", handle="h", **all_of_three)
        assert ask("append", handle="h", entries=5)["acked"] == 5
        cluster.link("client-b2", enabled=False)
        assert ask("append", handle="h", entries=5).get("acked", 0) == 0
        cluster.link("client-b2", enabled=True)
        ask("create", handle="again", **all_of_three)
        assert ask("append", handle="again", entries=5)["acked"] == 5


def test_it_grows_to_five(cluster: Composed) -> None:
    cluster.up("--profile", "five", "--profile", "autorecovery")
    assert all(health(cluster)[name] == "healthy" for name in [*BOOKIES, "b4", "b5"])
    assert health(cluster)["autorecovery"] == "running"
    with cluster.client() as ask:
        ask("create", handle="wide", ensemble=5, write_quorum=3, ack_quorum=2)
        assert ask("append", handle="wide", entries=50)["acked"] == 50
