"""Each fault on the fake cluster: the stories of every cluster, and what only a fake can show."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from cluster.interface import Exit, ProcessState, Refusal, Way
from cluster.links import CLEAR, Traffic
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS, Fault, register
from plans.grammar.names import purpose_of
from protocol.errors import ContradictedError, FaultError, LinkError, UsageError
from protocol.faults import EFFECTS, UNPLANNED, effects_of
from tests.nemesis_contract.fault_stories import (
    Lines,
    LinkStories,
    ProcessStories,
    changing,
    inject,
    phases,
    proof,
)


class TestProcesses(ProcessStories):
    pass


class TestLinks(LinkStories):
    pass


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="'kill' is registered twice"):
        register(FAULTS["kill"])


def test_every_fault_says_what_it_is_about() -> None:
    assert all(purpose_of(fault) for fault in FAULTS.values())


def test_every_fault_has_its_effects_and_there_are_no_others() -> None:
    assert set(FAULTS) == set(EFFECTS) - {UNPLANNED}


@pytest.mark.parametrize(("kind", "fault"), FAULTS.items())
def test_what_ends_processes_says_so_in_its_effects(kind: str, fault: type[Fault]) -> None:
    assert effects_of(kind).ends is (fault.takes_down is not Fault.takes_down)


def test_a_fault_without_effects_is_refused() -> None:
    class Leak:
        kind = "leak"

    with pytest.raises(ValueError, match=r"fault 'leak' has no line in protocol/faults\.py"):
        register(cast("type[Fault]", Leak))


def test_a_death_by_another_signal_is_no_kill(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    b1 = cluster.process("b1")
    killed = b1.kill
    b1.kill = lambda: Exit("b1", killed().boot, 1, None, 0)
    with pytest.raises(FaultError, match="otherwise than by SIGKILL: code 1"):
        inject(nemesis, "kill", target="b1")
    assert phases(lines) == ["planned", "injected", "failed", "healed"]
    assert b1.state is ProcessState.RUNNING


def test_what_a_disk_held_is_copied_when_its_bookie_is_dead(cluster: Any, nemesis: Nemesis) -> None:
    seen: list[ProcessState] = []
    b1 = cluster.process("b1")
    b1.capture_disk = lambda: seen.append(b1.state)
    inject(nemesis, "kill", target="b1")
    assert seen == [ProcessState.DOWN]


@pytest.mark.parametrize(
    ("target", "code", "number", "what"),
    [("b1", 3, None, "exit code 3"), ("b2", None, 11, "signal 11"), ("b3", None, 6, "signal 6")],
)
def test_a_bookie_that_crashes_while_it_is_stopped_does_otherwise_than_planned(
    cluster: Any,
    nemesis: Nemesis,
    lines: Lines,
    tmp_path: Path,
    target: str,
    code: int | None,
    number: int | None,
    what: str,
) -> None:
    bookie = cluster.process(target)
    bookie.log = tmp_path / "boot-1.log"
    bookie.log.write_text("INFO closing\nERROR cannot close the storage\n")
    bookie.stop = lambda timeout_s: bookie._exit(code, number)
    with pytest.raises(ContradictedError, match=f"crashed while it was stopped, with {what}; ") as raised:
        inject(nemesis, "stop", target=target)
    assert "cannot close the storage" in str(raised.value)
    assert phases(lines) == ["planned", "injected", "confirmed"]
    nemesis.heal()
    assert bookie.state is ProcessState.RUNNING


@pytest.mark.parametrize(("target", "excused"), [("b1", [1]), ("writer", [])])
def test_what_may_end_by_itself_or_is_not_under_test_may_end_in_any_way(
    cluster: Any, nemesis: Nemesis, target: str, excused: list[int]
) -> None:
    process = cluster.process(target)
    process.allowed = excused
    process.stop = lambda timeout_s: process._exit(3, None)
    inject(nemesis, "stop", target=target)


def test_a_stop_that_needed_sigkill_is_no_stop(cluster: Any, nemesis: Nemesis) -> None:
    b1 = cluster.process("b1")
    b1.stop = lambda timeout_s: b1.kill()
    with pytest.raises(FaultError, match="by SIGKILL"):
        inject(nemesis, "stop", target="b1")


def test_a_pause_that_did_not_stop_it_is_not_confirmed(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    cluster.process("b1").pause = lambda: None
    with pytest.raises(FaultError, match="b1 is running in boot 1, not paused"):
        inject(nemesis, "pause", target="b1")
    assert phases(lines) == ["planned", "injected", "failed", "healed"]


@pytest.mark.parametrize(
    ("name", "state", "boot", "message"),
    [
        ("kill", ProcessState.RUNNING, 1, "but it is running in boot 1"),
        ("kill", ProcessState.DOWN, 2, "but it is down in boot 2"),
        ("stop", ProcessState.RUNNING, 2, "but it is running in boot 2"),
        ("pause", ProcessState.PAUSED, 2, "b1 is paused in boot 2, not paused"),
    ],
)
def test_another_state_or_boot_at_the_confirmation_refutes_the_fault(
    cluster: Any, name: str, state: ProcessState, boot: int, message: str
) -> None:
    nemesis = changing(cluster, lambda: vars(cluster.process("b1")).update(state=state, boot=boot))
    with pytest.raises(FaultError, match=message):
        inject(nemesis, name, target="b1")


def test_a_death_during_a_pause_cannot_be_resumed(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "pause", target="b1")
    cluster.process("b1").kill()
    with pytest.raises(FaultError, match="died while it was paused"):
        nemesis.heal()


def test_an_unknown_process_is_refused(nemesis: Nemesis) -> None:
    with pytest.raises(UsageError, match="no b9"):
        inject(nemesis, "pause", target="b9")


def test_a_link_that_the_proxy_left_open_is_not_confirmed(
    cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    cluster.links.cut = lambda source, destination: None
    with pytest.raises(FaultError, match="cut writer-b2 did not take effect; the proxy says"):
        inject(nemesis, "cut", **{"from": "writer", "to": "b2"})
    assert phases(lines) == ["planned", "injected", "failed", "healed"]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("hold", {"from": "writer", "to": "b2"}),
        ("slow", {"from": "writer", "to": "b2", "latency_ms": 6}),
        ("slow", {"from": "writer", "to": "b2", "latency_ms": 5, "rate_bytes_per_s": 1000}),
        ("isolate", {"target": "b2", "by": "hold"}),
    ],
)
def test_a_link_that_the_proxy_changed_otherwise_is_not_confirmed(
    cluster: Any, nemesis: Nemesis, name: str, params: dict[str, Any]
) -> None:
    hold, slow = cluster.links.hold, cluster.links.slow
    cluster.links.hold = lambda source, destination, way: hold(source, destination, Way.REQUESTS)
    cluster.links.slow = lambda *pair, **_: slow(*pair, latency_ms=5)
    with pytest.raises(FaultError, match="did not take effect; the proxy says"):
        inject(nemesis, name, **params)


def test_a_link_that_stays_cut_is_not_healed(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "cut", **{"from": "writer", "to": "b2"})
    cluster.links.heal = lambda source, destination: None
    with pytest.raises(FaultError, match="writer-b2 is not healed of cut; the proxy says"):
        nemesis.heal()


def test_an_island_is_healed_on_every_link_that_can_be(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "isolate", target="b2")
    cluster.orders.fail["heal b1-b2"] = LinkError("no answer")
    with pytest.raises(FaultError, match="isolate b2 was not healed: no answer"):
        nemesis.heal()
    still = [pair for pair in cluster.links.pairs() if cluster.links.state(*pair).cut]
    assert still == [("b1", "b2")]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("hold", {"from": "b2", "to": "zk1"}),
        ("slow", {"from": "writer", "to": "b2", "latency_ms": 5}),
        ("isolate", {"target": "b2", "by": "hold"}),
    ],
)
def test_a_link_keeps_doing_what_it_does_while_an_end_is_paused(
    nemesis: Nemesis, name: str, params: dict[str, Any]
) -> None:
    inject(nemesis, "pause", target="b2")
    with pytest.raises(UsageError, match="b2 is paused and reads nothing"):
        inject(nemesis, name, **params)


def test_a_link_to_a_paused_server_may_be_cut(nemesis: Nemesis) -> None:
    inject(nemesis, "pause", target="b2")
    inject(nemesis, "cut", **{"from": "writer", "to": "b2"})
    inject(nemesis, "isolate", target="b1", by="cut")


def test_a_link_that_understands_messages_may_be_held_while_an_end_is_paused(nemesis: Nemesis) -> None:
    inject(nemesis, "pause", target="b2")
    inject(nemesis, "hold", **{"from": "writer", "to": "b2"})
    inject(nemesis, "drop", **{"from": "writer", "to": "b2"}, kinds=("add",))
    inject(nemesis, "isolate", target="b1", by="hold")


def test_slowness_is_healed_after_the_pause_and_not_before(nemesis: Nemesis) -> None:
    inject(nemesis, "slow", **{"from": "writer", "to": "b2"}, latency_ms=5)
    inject(nemesis, "pause", target="b2")
    with pytest.raises(FaultError, match="b2 is paused"):
        nemesis.heal(kind="slow")
    assert nemesis.heal() == ["pause b2", "slow writer-b2"]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("cut", {"from": "b1", "to": "b1"}),
        ("hold", {"from": "writer", "to": "b1", "way": "sideways"}),
        ("slow", {"from": "writer", "to": "b1"}),
        ("slow", {"from": "writer", "to": "b1", "rate_bytes_per_s": 1500}),
        ("isolate", {"target": "b1", "by": "prayer"}),
        ("kill", {"target": "b1", "signal": 9}),
    ],
)
def test_parameters_that_mean_nothing_are_refused(name: str, params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FAULTS[name](**params)


def test_the_fault_log_has_parameters_as_the_plan_writes_them(nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "slow", **{"from": "writer", "to": "b2", "latency_ms": 5})
    assert lines[0]["params"] == {"from": "writer", "to": "b2", "latency_ms": 5, "rate_bytes_per_s": 0}
    assert (lines[0]["kind"], lines[0]["target"]) == ("slow", "writer-b2")
    assert proof(lines, "injected")["links"] == ["writer-b2"]


@pytest.mark.parametrize(
    ("kind", "params", "met"),
    [
        ("cut", {"to": "b2"}, {"closed": 2}),
        ("slow", {"to": "b2", "latency_ms": 5}, {"passed_bytes": 60}),
        ("hold", {"to": "b2"}, {"acted": 0}),
        ("cut", {"to": "zk1"}, {}),
    ],
)
def test_what_a_fault_of_a_link_to_a_bookie_met_is_part_of_its_proof(
    cluster: Any, nemesis: Nemesis, lines: Lines, kind: str, params: dict[str, Any], met: dict[str, int]
) -> None:
    cluster.links.passed["writer", "b2"] = Traffic(2, 40)
    inject(nemesis, kind, **{"from": "writer", **params})
    cluster.links.passed["writer", "b2"] = Traffic(0, 100)
    nemesis.heal()
    result = proof(lines, "healed")
    assert {name: result[name] for name in result if name not in ("began_ns", "links")} == met


@pytest.mark.parametrize(("kind", "reads"), [("hold", "rule"), ("slow", "traffic")])
def test_a_link_is_healed_although_it_cannot_be_read_what_its_fault_met(
    cluster: Any, nemesis: Nemesis, lines: Lines, monkeypatch: pytest.MonkeyPatch, kind: str, reads: str
) -> None:
    inject(nemesis, kind, **{"from": "writer", "to": "b2"}, **({"latency_ms": 5} if kind == "slow" else {}))

    def refused(*_: object) -> None:
        raise LinkError("the proxy does not say")

    with monkeypatch.context() as unreadable:
        unreadable.setattr(cluster.links, reads, refused)
        with pytest.raises(FaultError, match="the proxy does not say"):
            nemesis.heal()
    assert cluster.links.state("writer", "b2") == CLEAR
    assert [line["phase"] for line in lines][-1] == "failed"


@pytest.fixture
def gone() -> int:
    """The pid of a process that ended just now."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def test_a_bookie_that_ends_before_its_files_are_limited_ends_on_its_own(
    cluster: Any, nemesis: Nemesis, gone: int
) -> None:
    cluster.process("b1").pid = gone
    with pytest.raises(FaultError, match="file_limit b1 did not take effect: b1 ended meanwhile"):
        inject(nemesis, "file_limit", target="b1")
    assert cluster.process("b1").allowed == []


def test_a_bookie_that_ends_while_its_limit_is_lifted_is_started_again(
    cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    b1 = cluster.process("b1")
    with subprocess.Popen(["sleep", "600"]) as bookie:
        b1.pid = bookie.pid
        inject(nemesis, "file_limit", target="b1")
        bookie.kill()
    with pytest.raises(FaultError, match="file_limit b1 was not healed: b1 ended meanwhile"):
        nemesis.heal()
    b1.ended = lambda boot, wait_s: b1._exit(1, None)  # its end is reported later than it came
    b1.refusal = lambda: Refusal(Exit("b1", 1, 1, None, 0), ("too many open files",))
    nemesis.heal()
    assert (b1.state, proof(lines, "healed")["boot"]) == (ProcessState.RUNNING, 2)
