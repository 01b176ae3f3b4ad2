"""Faults of processes on a real cluster: the stories of every cluster, and BookKeeper's side of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.interface import ProcessState
from nemesis.nemesis import Nemesis
from tests.live.clusters import healing, running
from tests.nemesis_contract.fault_stories import Lines, ProcessStories, inject, phases, proof, start

QUORUMS = {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    # There is no fourth bookie to replace an unreachable or late bookie.
    conf = {"delayEnsembleChange": "true", "addEntryTimeoutSec": "60"}
    with running(tmp_path_factory.mktemp("faults"), clients=("writer",), client_conf=conf) as opened:
        yield opened


@pytest.fixture
def nemesis(cluster: Any, lines: Lines) -> Iterator[Nemesis]:
    """Faults that are all healed after each test, so that the next finds a whole cluster."""
    with healing(Nemesis(cluster, lambda line: lines.append(dict(line)))) as faults:
        yield faults
    assert cluster.unplanned() == []


class TestProcesses(ProcessStories):
    pass


def test_a_paused_bookie_accepts_and_does_not_answer(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "pause", target="b1")
    assert cluster.answer("b1", 1, 0, timeout_s=0.5) is None
    nemesis.heal()
    assert cluster.answer("b1", 1 << 40, 0) is not None


def test_a_bookie_opens_no_file_until_it_is_healed(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    limits = Path(f"/proc/{cluster.process('b1').pid}/limits")
    before = limits.read_text()
    inject(nemesis, "file_limit", target="b1")
    assert proof(lines, "confirmed")["open_files"] > 0
    assert limits.read_text() != before
    nemesis.heal()
    assert limits.read_text() == before
    assert cluster.answer("b1", 1 << 40, 0) is not None


def test_a_new_boot_has_a_limit_of_open_files_of_its_own(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "file_limit", target="b1")
    inject(nemesis, "kill", target="b1")
    start(nemesis, target="b1")
    assert cluster.answer("b1", 1 << 40, 0) is not None
    nemesis.heal()
    assert cluster.process("b1").state is ProcessState.RUNNING


def test_zookeeper_and_a_bookie_are_healed_in_the_order_of_need(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "kill", target="zk1")
    inject(nemesis, "kill", target="b1")
    assert nemesis.heal() == ["kill zk1", "kill b1"]
    assert cluster.answer("b1", 1 << 40, 0) is not None


def test_a_killed_client_comes_back_with_its_next_boot(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    writer = cluster.clients["writer"]
    boot = writer.boot
    inject(nemesis, "kill", target="writer")
    start(nemesis, target="writer")
    assert (writer.state, writer.boot) == (ProcessState.RUNNING, boot + 1)
    assert writer.call("create", timeout_s=60, handle="after", **QUORUMS)["ok"]
    assert phases(lines)[-1] == "healed"


def test_adds_go_on_while_one_bookie_is_out_of_reach(cluster: Any, nemesis: Nemesis) -> None:
    writer = cluster.clients["writer"]
    assert writer.call("create", timeout_s=60, handle="cut", **QUORUMS)["ok"]
    inject(nemesis, "cut", **{"from": "writer", "to": "b2"})
    added = writer.call("append", timeout_s=60, handle="cut", entries=20, entry_bytes=128, outstanding=5)
    assert added["acked"] == 20
    nemesis.heal()


def test_an_isolated_bookie_still_answers_the_observers_side(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "isolate", target="b3", by="hold")
    assert cluster.answer("b3", 1 << 40, 0) is not None
    nemesis.heal()
