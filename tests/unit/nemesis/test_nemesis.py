"""The faults in force: one to a thing, healed in turn, and every phase in the log."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from cluster.interface import ProcessState
from nemesis.nemesis import Nemesis
from protocol.errors import EvidenceError, FaultError, LinkError, NotReadyError, UsageError
from tests.nemesis_contract.fault_stories import Lines, inject, phases, proof, start

WRITER_B2 = {"from": "writer", "to": "b2"}


def test_phases_are_recorded_in_order_with_their_times(cluster: Any) -> None:
    lines: Lines = []
    nemesis = Nemesis(cluster, lambda line: lines.append(dict(line)), clock=count(100).__next__)
    inject(nemesis, "cut", **WRITER_B2)
    nemesis.heal()
    assert [(line["phase"], line["at_ns"]) for line in lines] == [
        ("planned", 100),
        ("injected", 101),
        ("confirmed", 102),
        ("healed", 104),
    ]
    assert lines[3]["proof"] == {"began_ns": 103, "links": ["writer-b2"], "closed": 0}
    json.dumps(lines)


def test_a_link_has_one_fault_at_a_time(nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "cut", **WRITER_B2)
    with pytest.raises(UsageError, match="writer-b2 is under cut writer-b2 already"):
        inject(nemesis, "hold", **WRITER_B2)
    with pytest.raises(UsageError, match="isolate b2 cannot be injected: writer-b2 is under cut"):
        inject(nemesis, "isolate", target="b2")
    with pytest.raises(UsageError, match="writer-b2 is under cut"):
        inject(nemesis, "slow", **WRITER_B2, latency_ms=1)
    assert len({line["fault"] for line in lines}) == 1
    inject(nemesis, "cut", **{"from": "writer", "to": "b3"})


def test_a_cut_ends_the_slowness_of_its_own_link(nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "slow", **WRITER_B2, latency_ms=100)
    inject(nemesis, "slow", **{"from": "writer", "to": "b3", "latency_ms": 100})
    inject(nemesis, "cut", **WRITER_B2)
    assert [str(entry) for entry in nemesis.in_force()] == ["slow writer-b3", "cut writer-b2"]
    assert phases(lines, 1)[-1] == "healed"


def test_a_healed_thing_may_be_hit_again(nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "kill", target="b1")
    with pytest.raises(UsageError, match="b1 is under kill b1 already"):
        inject(nemesis, "pause", target="b1")
    nemesis.heal()
    inject(nemesis, "pause", target="b1")
    assert phases(lines, 2) == ["planned", "injected", "confirmed"]


def test_a_kill_ends_the_pause_of_no_other_process(nemesis: Nemesis) -> None:
    inject(nemesis, "pause", target="b1")
    inject(nemesis, "kill", target="b2")
    assert [str(entry) for entry in nemesis.in_force()] == ["pause b1", "kill b2"]


def test_links_heal_before_zookeeper_and_bookies_newest_first(nemesis: Nemesis) -> None:
    inject(nemesis, "kill", target="writer")
    inject(nemesis, "cut", **WRITER_B2)
    inject(nemesis, "kill", target="b1")
    inject(nemesis, "kill", target="zk1")
    inject(nemesis, "kill", target="b3")
    healed = ["cut writer-b2", "kill zk1", "kill b3", "kill b1", "kill writer"]
    assert nemesis.heal() == healed
    assert nemesis.in_force() == []


def test_healing_chooses_by_kind_and_target(nemesis: Nemesis) -> None:
    inject(nemesis, "cut", **WRITER_B2)
    inject(nemesis, "cut", **{"from": "writer", "to": "b3"})
    inject(nemesis, "kill", target="b1")
    assert nemesis.heal(target="writer-b3") == ["cut writer-b3"]
    assert nemesis.heal(kind="cut", target="b1") == []
    assert nemesis.heal(kind="cut") == ["cut writer-b2"]
    assert [str(entry) for entry in nemesis.in_force()] == ["kill b1"]


def test_healing_goes_on_after_an_error_and_names_all(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "kill", target="b1")
    inject(nemesis, "cut", **WRITER_B2)
    inject(nemesis, "pause", target="b3")
    cluster.orders.fail["heal writer-b2"] = LinkError("no answer")
    cluster.orders.fail["wait_ready b1"] = NotReadyError("stopped at listening")
    with pytest.raises(FaultError) as caught:
        nemesis.heal()
    assert "cut writer-b2 was not healed: no answer" in str(caught.value)
    assert "kill b1 was not healed: stopped at listening" in str(caught.value)
    assert phases(lines, 3)[-1] == "healed"
    assert proof(lines, "failed", 1)["healing"] == "stopped at listening"

    cluster.orders.fail.clear()
    assert nemesis.heal() == ["cut writer-b2", "kill b1"]
    assert phases(lines, 1)[-2:] == ["failed", "healed"]


def test_a_fault_that_breaks_off_is_healed_and_the_cause_is_told(
    cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    cluster.orders.fail["cut b1-b2"] = LinkError("refused")
    with pytest.raises(FaultError, match="isolate b2 did not take effect: refused"):
        inject(nemesis, "isolate", target="b2")
    assert phases(lines) == ["planned", "failed", "healed"]
    assert not any(cluster.links.state(*pair).cut for pair in cluster.links.pairs())
    assert nemesis.in_force() == []


def test_a_fault_that_neither_takes_effect_nor_heals_stays_in_force(cluster: Any, nemesis: Nemesis) -> None:
    cluster.orders.fail["cut writer-b2"] = LinkError("refused")
    cluster.orders.fail["heal writer-b2"] = LinkError("no answer")
    with pytest.raises(FaultError) as caught:
        inject(nemesis, "cut", **WRITER_B2)
    assert any("no answer" in note for note in caught.value.__notes__)
    cluster.orders.fail.clear()
    assert nemesis.heal() == ["cut writer-b2"]


def test_start_gives_the_next_boot_other_settings(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "stop", target="b1")
    start(nemesis, target="b1", conf={"journalWriteData": False}, version="4.17.3")
    assert cluster.process("b1").settings == ({"journalWriteData": "false"}, "4.17.3")
    assert phases(lines)[-1] == "healed"


def test_start_works_on_what_nobody_ordered_to_end(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    cluster.process("b1").kill()
    assert start(nemesis, target="b1") is None
    assert cluster.process("b1").state is ProcessState.RUNNING
    assert lines == []


def test_a_start_that_does_not_get_ready_is_told_and_stays_in_force(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "kill", target="b1")
    cluster.orders.fail["wait_ready b1"] = NotReadyError("stopped at listening", remedy="look at its log")
    with pytest.raises(FaultError, match="stopped at listening") as raised:
        start(nemesis, target="b1")
    assert raised.value.remedy == "look at its log"
    cluster.orders.fail.clear()
    assert nemesis.heal() == ["kill b1"]
    assert cluster.process("b1").boot == 2


def test_a_fault_that_cannot_be_recorded_is_not_forgotten(cluster: Any) -> None:
    full = [False]

    def record(line: Any) -> None:
        if full[0]:
            raise EvidenceError("no space")
        full[0] = line["phase"] == "injected"

    nemesis = Nemesis(cluster, record)
    with pytest.raises(EvidenceError):
        inject(nemesis, "cut", **WRITER_B2)
    assert [str(entry) for entry in nemesis.in_force()] == ["cut writer-b2"]


def test_parallel_steps_get_their_own_numbers_and_each_thing_is_hit_once(
    cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    pairs = [pair for pair in cluster.links.pairs() if pair[0] != "observer"]
    refused: list[UsageError] = []
    gate = threading.Barrier(4)

    def work(_: int) -> None:
        gate.wait()
        for source, destination in pairs:
            try:
                inject(nemesis, "cut", **{"from": source, "to": destination})
            except UsageError as error:
                refused.append(error)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(refused) == 3 * len(pairs)
    confirmed = [line["fault"] for line in lines if line["phase"] == "confirmed"]
    assert sorted(confirmed) == list(range(1, len(pairs) + 1))


def test_a_fault_that_is_being_injected_is_not_healed_meanwhile(cluster: Any, nemesis: Nemesis) -> None:
    began, go_on = threading.Event(), threading.Event()
    b1 = cluster.process("b1")
    killed = b1.kill

    def slowly() -> Any:
        began.set()
        assert go_on.wait(5)
        return killed()

    b1.kill = slowly
    thread = threading.Thread(target=inject, args=(nemesis, "kill"), kwargs={"target": "b1"})
    thread.start()
    assert began.wait(5)
    assert nemesis.heal() == []
    go_on.set()
    thread.join()
    assert nemesis.heal() == ["kill b1"]
