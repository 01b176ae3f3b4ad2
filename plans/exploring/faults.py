"""The faults that a generated schedule is made of: how each begins and ends, and what it holds meanwhile.

Faults of a lane run one after the other, lanes run in parallel.
No two hold the same thing at one time, and faults of different lanes never do so in one burst,
because lanes may fall behind their times. Times are seconds from the burst's start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import cycle
from random import Random
from typing import NamedTuple

from plans.exploring.seeds import between, pick
from plans.reading.document import Tree
from protocol.addresses import ZOOKEEPER

SERVERS, CLIENTS, METADATA, LINKS, MESSAGES = "servers", "clients", "metadata", "links", "messages"
LANES = (SERVERS, CLIENTS, METADATA, LINKS, MESSAGES)
_LATENCIES_MS = (20, 100, 400, 1500)
_PROBABILITIES = (0.02, 0.1, 0.5)
_UNEVEN_MS = (0, 20, 100, 400)
_UNTIL_AGAIN_S = (0.2, 1, 2, 3)
_ANSWERS_MS = (300, 500, 1000)
_MESSAGES = ("add", "fencing_lac_read", "recovery_read", "recovery_add", "read", "lac_read")


@dataclass(frozen=True, slots=True)
class TargetPool:
    """Possible targets: bookies, clients to kill (``killable``), clients by their links, autorecovery."""

    bookies: tuple[str, ...]
    killable: tuple[str, ...]
    clients: tuple[str, ...]
    repairing: tuple[str, ...] = ()

    def only(self, client: str) -> TargetPool:
        """The same with this client alone; ``killable`` stays as it is if this client may not be killed."""
        killable = (client,) if client in self.killable else self.killable
        return replace(self, killable=killable, clients=(client,))


class Use(Enum):
    """What a fault needs of the processes that a hold names."""

    PROCESS = auto()
    LINK = auto()
    """The link between both."""
    ALL_LINKS = auto()
    """Every link of it."""
    PAUSED = auto()
    """It reads nothing."""
    READING = auto()
    """It goes on reading, because the speed of its links is changed."""
    RULE = auto()
    """The rule of this fault for messages from one to the other."""


class Hold(NamedTuple):
    """Something that a fault holds while it lasts."""

    use: Use
    names: tuple[str, ...]

    def meets(self, other: Hold) -> bool:
        """Whether two faults cannot have both at a time."""
        uses = {self.use, other.use}
        if uses in ({Use.PAUSED, Use.READING}, {Use.ALL_LINKS, Use.LINK}):
            return bool({*self.names} & {*other.names})
        # Of any two processes, all links of one include a link of the other.
        return uses == {Use.ALL_LINKS} or (self == other and self.use is not Use.READING)


def _held(use: Use, *names: str) -> frozenset[Hold]:
    """A hold for each name."""
    return frozenset(Hold(use, (name,)) for name in names)


@dataclass(frozen=True, slots=True)
class DrawnFault:
    """One fault: the parameters of its step, the steps that end it, and what it holds."""

    fault: str
    lane: str
    params: Tree
    ends: tuple[Tree, ...]
    holds: frozenset[Hold]
    targets: tuple[str, ...] = ()
    """Bookies whose processes it ends or stops."""
    at_s: float = 0.0
    end_s: float = 0.0
    after_repair: bool = False
    """Whether it begins only when the cluster is quiet."""

    def meets(self, other: DrawnFault) -> bool:
        """Whether the two hold the same thing."""
        return any(one.meets(another) for one in self.holds for another in other.holds)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault, as profiles name it; ``needs`` is the fault that the machine must offer."""

    name: str
    needs: str
    draw: Callable[[Random, TargetPool], DrawnFault | None]
    silences: bool = False
    """Whether others wait for answers while it lasts, so that it may outlast their time-outs.

    No fault of ZooKeeper: without a session autorecovery ends, as it should, and with it the plan.
    """


def _healed(fault: str, target: str) -> tuple[Tree]:
    return ({"heal": {"kind": fault, "target": target}},)


def _process(name: str, fault: str, lane: str, whom: Callable[[TargetPool], Sequence[str]]) -> Kind:
    ends, more = {"pause": ("resume", {})}.get(fault, ("start", {"checked": False}))

    def draw(random: Random, pool: TargetPool) -> DrawnFault | None:
        if not whom(pool):
            return None
        target = pick(random, whom(pool))
        end = {ends: {"target": target, **more}}
        paused = (target,) if fault == "pause" else ()
        holds = _held(Use.PROCESS, target) | _held(Use.PAUSED, *paused)
        targets = (target,) if lane == SERVERS else ()
        return DrawnFault(fault, lane, {"target": target}, (end,), holds, targets)

    return Kind(name, fault, draw, silences=fault == "pause" and lane != METADATA)


def _crash_twice(random: Random, pool: TargetPool) -> DrawnFault:
    """A kill, and another one while the bookie boots or repairs itself."""
    target, after_s = pick(random, pool.bookies), pick(random, _UNTIL_AGAIN_S)
    ends: tuple[Tree, ...] = (
        {"start": {"target": target, "wait": False}},
        {"wait_for": {"condition": "elapsed", "for_s": after_s}},
        {"kill": {"target": target}},
        {"start": {"target": target, "checked": False}},
    )
    return DrawnFault("kill", SERVERS, {"target": target}, ends, _held(Use.PROCESS, target), (target,))


def uneven(random: Random, pool: TargetPool, *, end_s: float) -> list[DrawnFault]:
    """One client whose links are slow, each in another way, from the burst's beginning to ``end_s``."""
    client = pick(random, pool.clients)
    shuffled = sorted(pool.bookies, key=lambda _: random.random())
    return [
        replace(_one_link("slow", client, bookie, {"latency_ms": latency_ms}), end_s=end_s)
        for bookie, latency_ms in zip(shuffled, cycle(_UNEVEN_MS), strict=False)
        if latency_ms
    ]


def _island(name: str, lane: str, whom: Callable[[TargetPool], Sequence[str]]) -> Kind:
    def draw(random: Random, pool: TargetPool) -> DrawnFault | None:
        target, way = pick(random, whom(pool)), pick(random, ("cut", "hold"))
        targets = (target,) if lane == SERVERS else ()
        reading = (target, ZOOKEEPER) if way == "hold" else ()
        # What starts on an island finds no ZooKeeper, and may give up before the island is gone.
        holds = _held(Use.ALL_LINKS, target) | _held(Use.PROCESS, target) | _held(Use.READING, *reading)
        params = {"target": target, "by": way}
        return DrawnFault("isolate", lane, params, _healed("isolate", target), holds, targets)

    return Kind(name, "isolate", draw, silences=True)


def _expire(random: Random, pool: TargetPool) -> DrawnFault:
    target = pick(random, pool.bookies)
    holds = _held(Use.PROCESS, target) | _held(Use.ALL_LINKS, target)
    return DrawnFault("expire", SERVERS, {"target": target}, _healed("expire", target), holds, (target,))


def _power_loss(random: Random, pool: TargetPool) -> DrawnFault:
    first = pick(random, pool.bookies)
    second = pick(random, pool.bookies)
    targets = tuple(dict.fromkeys((first, second)))
    ends = tuple({"start": {"target": target, "checked": False}} for target in targets)
    holds = _held(Use.PROCESS, *targets) | _held(Use.ALL_LINKS, *targets)
    return DrawnFault("power_loss", SERVERS, {"targets": list(targets)}, ends, holds, targets)


def _link(fault: str, more: Callable[[Random], Tree]) -> Kind:
    def draw(random: Random, pool: TargetPool) -> DrawnFault:
        source, bookie = _ends_of_link(random, pool)
        return _one_link(fault, source, bookie, more(random))

    return Kind(fault, fault, draw, silences=fault == "hold")


def _one_link(fault: str, source: str, bookie: str, more: Tree) -> DrawnFault:
    link, reading = f"{source}-{bookie}", (source, bookie) if fault == "slow" else ()
    holds = frozenset({Hold(Use.LINK, (source, bookie))}) | _held(Use.READING, *reading)
    return DrawnFault(fault, LINKS, {"from": source, "to": bookie, **more}, _healed(fault, link), holds)


def _ends_of_link(random: Random, pool: TargetPool) -> tuple[str, str]:
    """Mostly a client's link, because recovery depends on what a client does not receive."""
    bookie = pick(random, pool.bookies)
    others = tuple(one for one in pool.bookies if one != bookie)
    from_bookie = random.random() < 0.2  # one in five
    return (pick(random, others) if from_bookie and others else pick(random, pool.clients)), bookie


def _lost_answer(random: Random, pool: TargetPool) -> DrawnFault:
    """The connection of a process to ZooKeeper breaks when an answer is on its way.

    What it asked for is done, and it does not learn that: who takes the answer for a refusal, or asks again,
    finds its own lock, registration or node.
    """
    source = pick(random, (*pool.repairing, pick(random, pool.bookies)))
    ends_of_link, link = {"from": source, "to": ZOOKEEPER}, f"{source}-{ZOOKEEPER}"
    ends: tuple[Tree, ...] = (
        {"cut": ends_of_link},
        {"wait_for": {"condition": "elapsed", "for_s": pick(random, _UNTIL_AGAIN_S[1:])}},
        {"heal": {"kind": "cut", "target": link}},
        {"heal": {"kind": "slow", "target": link}},
    )
    holds = _held(Use.PROCESS, ZOOKEEPER) | _held(Use.READING, source, ZOOKEEPER)
    holds |= {Hold(Use.LINK, (source, ZOOKEEPER))}
    params = {**ends_of_link, "latency_ms": pick(random, _ANSWERS_MS)}
    return DrawnFault("slow", METADATA, params, ends, holds)


def _messages(name: str, fault: str, more: Callable[[Random], Tree]) -> Kind:
    def draw(random: Random, pool: TargetPool) -> DrawnFault:
        source, bookie = pick(random, pool.clients), pick(random, pool.bookies)
        way = pick(random, ("requests", "answers"))
        params = {"from": source, "to": bookie, "way": way, "may_idle": True, **more(random)}
        holds = frozenset({Hold(Use.RULE, (fault, source, bookie))})
        return DrawnFault(fault, MESSAGES, params, _healed(fault, f"{source}-{bookie}"), holds)

    return Kind(name, fault, draw)


def _some(random: Random) -> Tree:
    return {"probability": pick(random, _PROBABILITIES)}


def _late(random: Random) -> Tree:
    return {**_some(random), "delay_ms": pick(random, _LATENCIES_MS)}


def _one_kind_late(random: Random) -> Tree:
    return {"kinds": [pick(random, _MESSAGES)], "delay_ms": pick(random, _LATENCIES_MS)}


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        _process("kill_bookie", "kill", SERVERS, lambda pool: pool.bookies),
        _process("stop_bookie", "stop", SERVERS, lambda pool: pool.bookies),
        _process("pause_bookie", "pause", SERVERS, lambda pool: pool.bookies),
        Kind("power_loss", "power_loss", _power_loss),
        _island("isolate_bookie", SERVERS, lambda pool: pool.bookies),
        Kind("expire_bookie", "expire", _expire),
        _process("kill_client", "kill", CLIENTS, lambda pool: pool.killable),
        _process("pause_client", "pause", CLIENTS, lambda pool: pool.killable),
        _process("kill_zookeeper", "kill", METADATA, lambda _: (ZOOKEEPER,)),
        _process("pause_zookeeper", "pause", METADATA, lambda _: (ZOOKEEPER,)),
        _link("cut", lambda _: {}),
        _link("hold", lambda random: {"way": pick(random, ("both", "requests", "answers"))}),
        _link("slow", lambda random: {"latency_ms": pick(random, _LATENCIES_MS)}),
        _island("isolate_client", LINKS, lambda pool: pool.clients),
        _messages("drop_messages", "drop", _some),
        _messages("delay_messages", "delay", _late),
        _messages("duplicate_messages", "duplicate", _some),
        Kind("crash_bookie_twice", "kill", _crash_twice),
        _messages("delay_one_kind", "delay", _one_kind_late),
        _process("kill_autorecovery", "kill", CLIENTS, lambda pool: pool.repairing),
        Kind("lose_zookeeper_answers", "slow", _lost_answer),
    )
}
"""Kinds by the name that a profile gives a weight; the list only grows at its end."""


def weighted(random: Random, weights: Sequence[tuple[str, float]]) -> str:
    """One of the names, as likely as its share of the weights."""
    point = between(random, 0.0, sum(weight for _, weight in weights))
    for name, weight in weights:
        point -= weight
        if point < 0:
            return name
    return next(name for name, weight in reversed(weights) if weight)
