"""A cluster of objects: processes with boots and links with states, and nothing behind them.

``cluster.fail["heal writer-b1"] = error`` makes that order fail until it is removed.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cluster.interface import Exit, LinkState, ProcessState, Refusal, Way
from cluster.links import Traffic
from cluster.messages import HOLDING, Rule, RuleState
from protocol.errors import FencepostError, NotReadyError, UnplannedDeathError, UsageError
from tests.unit.nemesis.fake_rules import FakeRules

SOUND = LinkState(cut=False, held=(), latency_ms=0, rate_bytes_per_s=0)


class Orders:
    """Every order that the fakes were given, and the orders that will fail."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.fail: dict[str, FencepostError] = {}

    def take(self, order: str) -> None:
        self.given.append(order)
        if order in self.fail:
            raise self.fail[order]


class FakeProcess:
    def __init__(self, name: str, orders: Orders) -> None:
        self.name = name
        self.boot = 1
        self.state = ProcessState.RUNNING
        self.ready = True
        self.settings: tuple[Any, Any] = (None, None)
        self.refusing = False
        self.refuses_by: tuple[int | None, int | None] = (2, None)  # exit code and signal
        self.allowed: list[int] = []
        self.exits: dict[int, Exit] = {}
        self.later_boots = False
        self.may_refuse_s = 0.0
        self.limited: list[tuple[int, float]] = []
        self.log = Path("/nowhere") / f"{name}.log"
        self._orders = orders

    def start(self, *, conf: Mapping[str, str] | None = None, version: str | None = None) -> None:
        self._orders.take(f"start {self.name}")
        assert self.state is ProcessState.DOWN
        self.boot, self.state, self.ready, self.settings = (
            self.boot + 1,
            ProcessState.RUNNING,
            False,
            (conf, version),
        )

    def ended(self, boot: int, wait_s: float) -> Exit | None:
        return self.exits.get(boot)

    def excused(self, ended: Exit) -> bool:
        return ended.boot in self.allowed and ended.signal != signal.SIGKILL

    def allow_refusal(self, for_s: float = math.inf) -> None:
        self.may_refuse_s = for_s
        self.allowed.append(self.boot + 1)

    def allow_end(self, fault: int, *, later_boots: bool = False) -> None:
        self.allowed.append(self.boot)
        self.later_boots = later_boots

    def limit_end(self, fault: int, for_s: float) -> None:
        self.limited.append((fault, for_s))

    def refusal(self) -> Refusal | None:
        ended = Exit(self.name, self.boot, *self.refuses_by, 0)
        return Refusal(ended, ("no cookie",)) if self.refusing else None

    def session_ended(self) -> bool:
        return False

    def capture_disk(self) -> None:
        pass

    def disks(self) -> Mapping[str, Any]:
        return {}

    def wait_ready(self, timeout_s: float) -> None:
        self._orders.take(f"wait_ready {self.name}")
        if self.refusing:
            self.state = ProcessState.DOWN
            raise UnplannedDeathError(f"{self.name} ended on its own")
        if self.state is not ProcessState.RUNNING:
            raise NotReadyError(f"{self.name} is {self.state}")
        self.ready = True

    def kill(self) -> Exit:
        self._orders.take(f"kill {self.name}")
        return self._exit(None, signal.SIGKILL)

    def stop(self, timeout_s: float = 30) -> Exit:
        self._orders.take(f"stop {self.name}")
        return self._exit(143, None)

    def _exit(self, code: int | None, number: int | None) -> Exit:
        self.state, self.ready = ProcessState.DOWN, False
        self.exits[self.boot] = Exit(self.name, self.boot, code, number, time.monotonic_ns())
        return self.exits[self.boot]

    def pause(self) -> None:
        self._orders.take(f"pause {self.name}")
        self.state, self.ready = ProcessState.PAUSED, False

    def resume(self) -> None:
        self._orders.take(f"resume {self.name}")
        self.state = ProcessState.RUNNING


class FakeLinks:
    def __init__(self, pairs: Sequence[tuple[str, str]], orders: Orders) -> None:
        self._states = dict.fromkeys(pairs, SOUND)
        self._orders = orders
        self.rules = {pair: FakeRules() for pair in pairs}
        self.passed: dict[tuple[str, str], Traffic] = {}

    def pairs(self) -> Sequence[tuple[str, str]]:
        return tuple(self._states)

    def state(self, source: str, destination: str) -> LinkState:
        return self._states[source, destination]

    def _change(self, order: str, source: str, destination: str, state: LinkState) -> None:
        self._orders.take(f"{order} {source}-{destination}")
        self._states[source, destination] = state

    def cut(self, source: str, destination: str) -> None:
        self._change("cut", source, destination, replace(self.state(source, destination), cut=True))

    def uncut(self, source: str, destination: str) -> None:
        self._change("uncut", source, destination, replace(self.state(source, destination), cut=False))

    def hold(self, source: str, destination: str, way: Way) -> None:
        held = (Way.REQUESTS, Way.ANSWERS) if way is Way.BOTH else (way,)
        self._change("hold", source, destination, replace(self.state(source, destination), held=held))
        for one in held:
            self.rules[source, destination].put(HOLDING[one])

    def slow(self, source: str, destination: str, *, latency_ms: int = 0, rate_bytes_per_s: int = 0) -> None:
        state = replace(
            self.state(source, destination), latency_ms=latency_ms, rate_bytes_per_s=rate_bytes_per_s
        )
        self._change("slow", source, destination, state)

    def heal(self, source: str, destination: str) -> None:
        held = self.state(source, destination).held
        self._change("heal", source, destination, SOUND)
        for one in held:
            self.rules[source, destination].remove(HOLDING[one].id)

    def filters(self, source: str, destination: str) -> bool:
        return destination != "zk1"

    def traffic(self, source: str, destination: str) -> Traffic | None:
        return self.passed.get((source, destination), Traffic(0, 0)) if destination != "zk1" else None

    def put_rule(self, source: str, destination: str, rule: Rule) -> RuleState:
        self._orders.take(f"put {rule.id} {source}-{destination}")
        return self.rules[source, destination].put(rule)

    def rule(self, source: str, destination: str, name: str) -> RuleState:
        return self.rules[source, destination].state(name)

    def remove_rule(self, source: str, destination: str, name: str) -> RuleState:
        self._orders.take(f"remove {name} {source}-{destination}")
        return self.rules[source, destination].remove(name)


class FakeCluster:
    """Three bookies, ZooKeeper, two clients, the observer."""

    def __init__(self) -> None:
        self.orders = Orders()
        names = ("b1", "b2", "b3", "zk1", "writer", "recoverer", "observer")
        self._processes: dict[str, Any] = {name: FakeProcess(name, self.orders) for name in names}
        sources = ("b1", "b2", "b3", "writer", "recoverer", "observer")
        pairs = [(s, d) for s in sources for d in ("b1", "b2", "b3", "zk1") if s != d]
        self.links = FakeLinks(pairs, self.orders)
        self.networks: Any = None

    def process(self, name: str) -> Any:
        if name not in self._processes:
            raise UsageError(f"no {name}; nearest {get_close_matches(name, self._processes, 1, 0)}")
        return self._processes[name]

    bookie = process

    @property
    def zookeeper(self) -> Any:
        return self.process("zk1")
