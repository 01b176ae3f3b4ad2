"""Power loss: one instant for all, proven on every disk, healed by the boots of all."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from pydantic import ValidationError

from cluster.interface import ProcessState, Way
from cluster.servers.disks import Probe
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from protocol.errors import FaultError, LinkError, ServerError, UsageError
from tests.nemesis_contract.fault_stories import WHOLE, Lines, changing, inject, phases, proof, start
from tests.unit.nemesis.fake_disks import give_disks
from tests.unit.nemesis.fake_rules import FakeWire

BOTH = ("b1", "b2")
GONE = {"synced": True, "unsynced": False}


@pytest.fixture(autouse=True)
def took(cluster: Any, tmp_path: Path) -> list[str]:
    """The orders that the disks of b1 and b2 are given."""
    return give_disks(cluster, tmp_path, "data")


def test_all_are_paused_before_one_disk_is_shut_down_and_mounted_after_all_are_dead(
    cluster: Any, nemesis: Nemesis, lines: Lines, took: list[str]
) -> None:
    inject(nemesis, "power_loss", targets=BOTH)
    assert took == [
        *("write b1/data", "write b2/data", "lose_power b1/data", "lose_power b2/data"),
        *("mount b1/data", "mount b2/data"),
    ]
    disk = cluster.process("b2").disks()["data"]
    assert disk.seen == ["write: paused", "lose_power: paused", "mount: down"]
    orders = [
        order for order in cluster.orders.given if order.split()[0] in ("pause", "kill", "cut", "uncut")
    ]
    assert orders[:2] == ["pause b1", "pause b2"]
    assert orders.index("cut writer-b1") < orders.index("kill b1") < orders.index("uncut writer-b1")
    assert phases(lines) == WHOLE[:3]
    assert proof(lines, "confirmed")["probes"] == {name: {"data": GONE} for name in BOTH}


def test_it_is_healed_when_the_last_of_them_is_started(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "power_loss", targets=BOTH)
    start(nemesis, target="b2")
    assert (cluster.process("b2").boot, phases(lines)) == (2, WHOLE[:3])
    start(nemesis, target="b1")
    assert (cluster.process("b1").boot, phases(lines), nemesis.in_force()) == (2, WHOLE, [])


def test_it_is_healed_when_the_last_of_those_that_start_side_by_side_is_ready(
    cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    inject(nemesis, "power_loss", targets=BOTH)
    begun, b1_is_ready = threading.Barrier(2, timeout=60), threading.Event()
    b1, b2 = (cluster.process(name) for name in BOTH)
    start_b1, start_b2, wait_b2 = b1.start, b2.start, b2.wait_ready
    b1.start = lambda **how: (begun.wait(), start_b1(**how))
    b2.start = lambda **how: (begun.wait(), start_b2(**how))
    b2.wait_ready = lambda timeout_s: (b1_is_ready.wait(60), wait_b2(timeout_s))
    with ThreadPoolExecutor(2) as pool:
        first, last = (pool.submit(start, nemesis, target=name) for name in BOTH)
        first.result(60)
        assert phases(lines) == WHOLE[:3]
        b1_is_ready.set()
        last.result(60)
    assert (phases(lines), nemesis.in_force()) == (WHOLE, [])
    assert proof(lines, "healed") == {"began_ns": ANY, "boot": 2, "ready": True}


def test_healing_starts_all_of_them(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "power_loss", targets=BOTH)
    assert nemesis.heal() == ["power_loss b1,b2"]
    assert {cluster.process(name).state for name in BOTH} == {ProcessState.RUNNING}


def test_no_link_of_the_observer_is_touched_and_the_others_are_as_they_were(
    cluster: Any, nemesis: Nemesis
) -> None:
    inject(nemesis, "cut", **{"from": "writer", "to": "b1"})
    inject(nemesis, "hold", **{"from": "recoverer", "to": "b1"}, way="answers")
    inject(nemesis, "slow", **{"from": "b1", "to": "b2"}, latency_ms=5)
    inject(nemesis, "slow", **{"from": "b2", "to": "b1"}, rate_bytes_per_s=1000)
    before = {pair: cluster.links.state(*pair) for pair in cluster.links.pairs()}
    inject(nemesis, "power_loss", targets=["b1"])
    assert {pair: cluster.links.state(*pair) for pair in cluster.links.pairs()} == before
    assert cluster.links.state("recoverer", "b1").held == (Way.ANSWERS,)
    assert not [order for order in cluster.orders.given if "observer" in order]


def test_a_hold_of_a_link_keeps_its_count(cluster: Any, nemesis: Nemesis, wire: FakeWire) -> None:
    inject(nemesis, "hold", **{"from": "writer", "to": "b1"}, **{"as": "late"})
    for entry in range(5):
        wire.read(entry)
    inject(nemesis, "power_loss", targets=["b1"])
    assert nemesis.acted("late") == 5
    assert nemesis.heal(name="late") == ["hold writer-b1 (acted 5 times)"]


def test_links_are_as_they_were_but_for_those_that_the_proxy_does_not_restore(
    cluster: Any, nemesis: Nemesis
) -> None:
    cluster.orders.fail["uncut writer-b1"] = LinkError("no answer")
    with pytest.raises(FaultError, match="no answer"):
        inject(nemesis, "power_loss", targets=["b1"])
    cut = [pair for pair in cluster.links.pairs() if cluster.links.state(*pair).cut]
    assert cut == [("writer", "b1")]


def test_what_a_disk_held_is_copied_when_it_is_mounted_again(
    cluster: Any, nemesis: Nemesis, took: list[str]
) -> None:
    b1 = cluster.process("b1")
    b1.capture_disk = lambda: took.append("copy b1")
    inject(nemesis, "power_loss", targets=["b1"])
    assert took[-2:] == ["mount b1/data", "copy b1"]


def test_one_disk_alone_may_lose_power(cluster: Any, nemesis: Nemesis, tmp_path: Path) -> None:
    took = give_disks(cluster, tmp_path, "ledgers", "journal")
    inject(nemesis, "power_loss", targets=["b1"], disk="journal")
    assert took == ["write b1/journal", "lose_power b1/journal", "mount b1/journal"]
    assert cluster.process("b1").state is ProcessState.DOWN


def test_the_level_of_a_process_leaves_the_file_systems_alone(
    cluster: Any, nemesis: Nemesis, lines: Lines, took: list[str]
) -> None:
    inject(nemesis, "power_loss", targets=["b1"], level="process")
    assert took == ["write b1/data"]
    assert proof(lines, "confirmed")["probes"] == {"b1": {"data": {"synced": True, "unsynced": True}}}
    assert cluster.process("b1").state is ProcessState.DOWN


def test_a_file_that_should_be_gone_and_is_there_refutes_it(
    cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    cluster.process("b2").disks()["data"].loses = False
    with pytest.raises(FaultError, match=r"b2 did not lose power on disk data.*the unsynced one there"):
        inject(nemesis, "power_loss", targets=BOTH)
    assert phases(lines) == ["planned", "injected", "failed", "healed"]
    assert cluster.process("b2").state is ProcessState.RUNNING


@pytest.mark.parametrize(
    ("level", "found"),
    [("power", Probe(synced=False, unsynced=False)), ("process", Probe(synced=True, unsynced=False))],
)
def test_a_loss_of_another_level_refutes_it(cluster: Any, nemesis: Nemesis, level: str, found: Probe) -> None:
    disk = cluster.process("b2").disks()["data"]
    disk.probe = disk.mount_again = lambda: found
    with pytest.raises(FaultError, match=f"b2 did not lose {level} on disk data"):
        inject(nemesis, "power_loss", targets=BOTH, level=level)


@pytest.mark.parametrize(("state", "boot"), [(ProcessState.RUNNING, 1), (ProcessState.DOWN, 2)])
def test_a_bookie_that_was_started_meanwhile_refutes_it(cluster: Any, state: ProcessState, boot: int) -> None:
    nemesis = changing(cluster, lambda: vars(cluster.process("b2")).update(state=state, boot=boot))
    with pytest.raises(FaultError, match=f"boot 1, but it is {state} in boot {boot}"):
        inject(nemesis, "power_loss", targets=BOTH)


def test_after_an_injection_that_broke_off_nobody_runs_upon_a_disk_without_power(
    cluster: Any, nemesis: Nemesis, took: list[str]
) -> None:

    def broken() -> None:
        raise ServerError("no such device")

    cluster.process("b2").disks()["data"].lose_power = broken
    with pytest.raises(FaultError, match="no such device"):
        inject(nemesis, "power_loss", targets=BOTH)
    assert took[-1] == "mount b1/data"
    assert [cluster.process(name).boot for name in BOTH] == [2, 1]
    assert {cluster.process(name).state for name in BOTH} == {ProcessState.RUNNING}
    assert not any(cluster.links.state(*pair).cut for pair in cluster.links.pairs())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"targets": ["b3"]}, "b3 has no dedicated disk"),
        ({"targets": ["b1"], "disk": "journal"}, "b1 has no disk 'journal'; it has data"),
    ],
)
def test_it_is_refused_without_the_disk(nemesis: Nemesis, params: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        inject(nemesis, "power_loss", **params)


def test_it_is_refused_while_one_of_them_is_down(nemesis: Nemesis) -> None:
    inject(nemesis, "kill", target="b2")
    with pytest.raises(UsageError, match="b2 is down already"):
        inject(nemesis, "power_loss", targets=BOTH)


def test_a_bookie_is_named_once() -> None:
    with pytest.raises(ValidationError, match="named twice"):
        FAULTS["power_loss"](targets=["b1", "b1"])
