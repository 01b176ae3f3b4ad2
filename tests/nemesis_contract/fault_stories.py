"""What faults of processes and links must do on any cluster, the fake one and a real one.

A test class that derives from these provides the fixtures ``cluster`` (with bookies b1..b3 and a
client ``writer``), ``nemesis`` (its faults) and ``lines`` (the present fault log).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cluster.interface import ProcessState, Way
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from plans.grammar.steps import Start
from protocol.errors import UsageError

Lines = list[dict[str, Any]]


def inject(nemesis: Nemesis, name: str, **params: Any) -> Any:
    return nemesis.inject(FAULTS[name](**params))


def start(nemesis: Nemesis, **params: Any) -> Any:
    return nemesis.start(Start(**params))


def changing(cluster: Any, change: Callable[[], object]) -> Nemesis:
    """Faults on a cluster that changes after an injection, before that is confirmed."""
    return Nemesis(cluster, lambda line: change() if line["phase"] == "injected" else None)


def phases(lines: Sequence[dict[str, Any]], fault: int = 1) -> list[str]:
    return [line["phase"] for line in lines if line["fault"] == fault]


def proof(lines: Sequence[dict[str, Any]], phase: str, fault: int = 1) -> Any:
    return next(line["proof"] for line in lines if (line["fault"], line["phase"]) == (fault, phase))


WHOLE = ["planned", "injected", "confirmed", "healed"]


class ProcessStories:
    def test_a_killed_bookie_ends_by_signal_9_and_is_healed_by_its_next_boot(
        self, cluster: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        boot = cluster.process("b1").boot
        inject(nemesis, "kill", target="b1")
        assert cluster.process("b1").state is ProcessState.DOWN
        assert proof(lines, "injected")["signal"] == 9
        assert proof(lines, "injected")["boot"] == boot
        assert nemesis.heal(kind="kill", target="b1") == ["kill b1"]
        assert (cluster.process("b1").state, cluster.process("b1").boot) == (ProcessState.RUNNING, boot + 1)
        assert phases(lines) == WHOLE
        assert proof(lines, "healed")["boot"] == boot + 1

    def test_a_stopped_bookie_ends_in_its_own_order_and_a_start_step_heals_it(
        self, cluster: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        boot = cluster.process("b2").boot
        inject(nemesis, "stop", target="b2")
        assert cluster.process("b2").state is ProcessState.DOWN
        assert proof(lines, "injected")["signal"] != 9
        assert start(nemesis, target="b2") is None
        assert (cluster.process("b2").state, cluster.process("b2").boot) == (ProcessState.RUNNING, boot + 1)
        assert phases(lines) == WHOLE
        assert nemesis.in_force() == []

    def test_a_paused_bookie_stays_in_its_boot_until_it_is_resumed(
        self, cluster: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        boot = cluster.process("b3").boot
        inject(nemesis, "pause", target="b3")
        assert cluster.process("b3").state is ProcessState.PAUSED
        assert nemesis.heal(kind="pause", target="b3") == ["pause b3"]
        assert (cluster.process("b3").state, cluster.process("b3").boot) == (ProcessState.RUNNING, boot)
        assert phases(lines) == WHOLE

    def test_killing_a_paused_bookie_ends_the_pause(
        self, cluster: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        inject(nemesis, "pause", target="b1")
        inject(nemesis, "kill", target="b1")
        assert [str(entry) for entry in nemesis.in_force()] == ["kill b1"]
        assert phases(lines, 1) == WHOLE
        assert proof(lines, "healed", 1) == {"ended_by": 2}
        nemesis.heal()
        assert cluster.process("b1").state is ProcessState.RUNNING

    def test_a_running_process_cannot_be_started(self, cluster: Any, nemesis: Nemesis) -> None:
        boot = cluster.process("b1").boot
        with pytest.raises(UsageError, match="b1 cannot be started, it is running"):
            start(nemesis, target="b1")
        assert cluster.process("b1").boot == boot

    def test_the_observer_is_never_hit(self, nemesis: Nemesis, lines: Lines) -> None:
        with pytest.raises(UsageError, match="observer"):
            inject(nemesis, "kill", target="observer")
        assert lines == []


class LinkStories:
    def test_each_order_on_one_link_is_confirmed_and_healed(
        self, cluster: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        for name, params in {"cut": {}, "hold": {"way": "requests"}, "slow": {"latency_ms": 20}}.items():
            inject(nemesis, name, **{"from": "writer", "to": "b2"}, **params)
            nemesis.heal(kind=name, target="writer-b2")
        assert [phases(lines, fault) for fault in (1, 2, 3)] == [WHOLE] * 3
        assert proof(lines, "confirmed", 1)["writer-b2"]["cut"]
        assert proof(lines, "confirmed", 2)["writer-b2"]["held"] == (Way.REQUESTS,)
        assert proof(lines, "confirmed", 3)["writer-b2"]["latency_ms"] == 20
        state = cluster.links.state("writer", "b2")
        assert not state.cut and not state.held and not state.latency_ms

    @pytest.mark.parametrize("by", ["cut", "hold"])
    def test_an_island_has_no_link_but_the_observers(
        self, cluster: Any, nemesis: Nemesis, lines: Lines, by: str
    ) -> None:
        inject(nemesis, "isolate", target="b2", by=by)
        for pair in cluster.links.pairs():
            state = cluster.links.state(*pair)
            gone = state.cut if by == "cut" else len(state.held) == 2
            assert gone == ("b2" in pair and pair[0] != "observer"), pair
        nemesis.heal()
        assert not any(cluster.links.state(*pair).cut for pair in cluster.links.pairs())
        assert not any(cluster.links.state(*pair).held for pair in cluster.links.pairs())
        assert phases(lines) == WHOLE

    def test_links_of_the_observer_are_refused(self, nemesis: Nemesis, lines: Lines) -> None:
        with pytest.raises(UsageError, match="observer"):
            inject(nemesis, "cut", **{"from": "observer", "to": "b1"})
        assert lines == []
