"""The fault schedule of a generated plan: faults that overlap, within the limit, burst by burst.

A burst is a block of lanes that run at the same time; after it everything is healed and the cluster
quiet. Times are planned: a lane that falls behind keeps its order, so that the limit on lost copies,
which concerns one lane only, holds however long a restart takes.

The limit is how many copies of an entry may be lost at a time. An add is acknowledged when AQ bookies
hold it, so replication promises that an entry outlives the loss of AQ - 1 copies, in every mode. What
loses a copy depends on the mode: with journaled and synced data only the loss of a disk (no drawn fault
does that), with journaled but unsynced data (``nosync``) a power loss, without journaled data every
unclean death, because unflushed data is lost. The limit counts bookies, so no entry ever loses more copies
than that.

A lost copy counts until it is given back. Only ``protected`` bookies do that (BP-46: data integrity
checking copies entries back from others), and have done so when the cluster is quiet again. In the
other modes nothing looks for lost entries, so a bookie that died counts until the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

from plans.exploring.faults import KINDS, LANES, SERVERS, DrawnFault, TargetPool, uneven, weighted
from plans.exploring.profile import ScheduleChoices
from plans.exploring.seeds import between, pick
from plans.reading.document import Tree
from protocol.addresses import is_bookie
from protocol.faults import EFFECTS
from protocol.modes import MODES, least_loss

QUIET_S = 90
_AIM_S = 0.2
"""Longest time between a client's act and the begin of a fault that is aimed at it."""
_TRIES = 4
"""Number of times that another target is drawn for a fault whose first target does not allow it."""
LOSING: dict[str, frozenset[str]] = {
    name: frozenset(kind for kind, effects in EFFECTS.items() if effects.loses >= least_loss(mode.bookie))
    for name, mode in MODES.items()
}
"""Mode -> the faults after which a bookie has lost copies of entries that it had acknowledged."""

REPAIRING = frozenset({"protected"})
"""Modes in which a bookie gets back what it lost before the cluster is quiet."""


def lost_at_most(steps: Iterable[tuple[str, Mapping[str, Any]]], mode: str) -> int:
    """The most bookies that have lost copies at a time, by steps (name, parameters) in their order."""
    least, most = least_loss(MODES[mode].bookie), 0
    lost: set[str] = set()
    for name, params in steps:
        if name in EFFECTS and EFFECTS[name].loses_with(params) >= least:
            lost |= set(filter(is_bookie, params.get("targets", [params.get("target", "")])))
            most = max(most, len(lost))
        elif mode in REPAIRING and params.get("condition") == "quiet":
            lost.clear()
    return most


class Limit:
    """How many bookies may have lost copies at a time: AQ - 1, and ``beyond`` more."""

    def __init__(self, mode: str, ack_quorum: int, *, beyond: int = 0) -> None:
        self.most = ack_quorum - 1 + beyond
        self.repairs = mode in REPAIRING
        self._losing = LOSING[mode]
        self._lost: set[str] = set()

    def loses(self, fault: str) -> bool:
        """Whether a bookie loses copies by this fault."""
        return fault in self._losing

    def allows(self, fault: str, targets: Iterable[str]) -> bool:
        """Whether the fault may hit these bookies now."""
        return not self.loses(fault) or len(self._lost | set(targets)) <= self.most

    def allows_after_repair(self, fault: str, targets: Iterable[str]) -> bool:
        """Whether the fault may hit these bookies once every bookie has repaired itself."""
        return not self.loses(fault) or (self.repairs and len(set(targets)) <= self.most)

    def hit(self, fault: str, targets: Iterable[str]) -> None:
        """Count the targets as lost if the fault loses copies."""
        if self.loses(fault):
            self._lost |= set(targets)

    def quiet(self) -> None:
        """All bookies are running and have repaired what they can."""
        if self.repairs:
            self._lost.clear()


def draw_burst(
    random: Random,
    choices: ScheduleChoices,
    weights: Mapping[str, float],
    pool: TargetPool,
    limit: Limit,
    *,
    burst_s: float,
    acts: Sequence[tuple[float, str]] = (),
) -> list[DrawnFault]:
    """Faults in the order of their times, none begins after ``burst_s``; counts what they lose.

    ``acts`` are times, and the clients that act then. An act is short: a fault that begins at any time, and
    hits any client, seldom meets one.
    """
    planned = uneven(random, pool, end_s=burst_s) if random.random() < choices.uneven_fraction else []
    at_s = 0.0
    while True:
        at_s = round(at_s + between(random, *choices.every_s), 1)
        aimed = random.random() < choices.aimed_fraction
        act_s, client = min((act for act in acts if act[0] >= at_s), default=(at_s, ""))
        if aimed and client:
            at_s = round(max(at_s, act_s + between(random, -_AIM_S, _AIM_S)), 2)
        if at_s >= burst_s:
            return planned
        end_s = round(min(at_s + between(random, *choices.lasts_s), burst_s), 1)
        kind = KINDS[weighted(random, list(weights.items()))]
        if kind.silences and choices.long_fraction and random.random() < choices.long_fraction:
            end_s = round(at_s + between(random, *choices.long_s), 1)
        hit = pool.only(client) if aimed and client else pool
        candidates = [kind.draw(random, hit) for _ in range(_TRIES)]
        timed = (replace(drawn, at_s=at_s, end_s=end_s) for drawn in candidates if drawn is not None)
        placed = (_placed(drawn, planned, choices, limit) for drawn in timed)
        planned += list(islice(filter(None, placed), 1))


def _placed(
    drawn: DrawnFault, planned: Sequence[DrawnFault], choices: ScheduleChoices, limit: Limit
) -> DrawnFault | None:
    """The fault as scheduled; None where it meets another one or exceeds the limit."""
    active = [other for other in planned if other.end_s > drawn.at_s]
    if any(drawn.meets(other) for other in planned if other.lane != drawn.lane or other in active):
        return None
    down = sum(len(other.targets) for other in active) + len(drawn.targets)
    if drawn.targets and down > choices.at_most_down:
        return None
    repaired = not limit.allows(drawn.fault, drawn.targets)
    if drawn.lane == SERVERS and repaired:
        hindered = any(other.lane == SERVERS for other in active)
        if hindered or not limit.allows_after_repair(drawn.fault, drawn.targets):
            return None
        limit.quiet()
    if drawn.lane == SERVERS:
        limit.hit(drawn.fault, drawn.targets)
    return replace(drawn, after_repair=repaired)


def lanes(planned: Sequence[DrawnFault]) -> list[list[Tree]]:
    """The steps of each lane that has some, each lane in the order of its times."""
    steps = [_lane([drawn for drawn in planned if drawn.lane == lane]) for lane in LANES]
    return [lane for lane in steps if lane]


def _lane(planned: Sequence[DrawnFault]) -> list[Tree]:
    moments: list[tuple[float, int, list[Tree]]] = []
    for order, drawn in enumerate(planned):
        begins = {drawn.fault: drawn.params, "at_s": drawn.at_s}
        moments.append((drawn.at_s, order, [*([quiet()] if drawn.after_repair else []), begins]))
        first, *rest = drawn.ends
        moments.append((drawn.end_s, order, [{**first, "at_s": drawn.end_s}, *rest]))
    moments.sort(key=lambda one: one[:2])
    return [step for _, _, steps in moments for step in steps]


def quiet() -> Tree:
    """The wait until every bookie runs and is repaired; if that fails, no more faults."""
    return {"wait_for": {"condition": "quiet", "timeout_s": QUIET_S, "otherwise": "finish"}}


def elapsed(for_s: float) -> Tree:
    """The wait until that time has passed."""
    return {"wait_for": {"condition": "elapsed", "for_s": for_s}}


def is_away(random: Random, choices: ScheduleChoices, bookies: Sequence[str]) -> list[Tree]:
    """A bookie that is gone for as long as several audits and a repair take, and returns.

    It is shut down gracefully: that loses nothing, and its registration is gone at once.
    """
    bookie, away_s = pick(random, bookies), round(between(random, *choices.away_s), 1)
    return [{"stop": {"target": bookie}}, elapsed(away_s), {"start": {"target": bookie}}, quiet()]


def last_kills(bookies: Sequence[str], limit: Limit) -> list[Tree]:
    """Each bookie killed once more, the next one when the last is repaired; none where the limit forbids."""
    steps: list[Tree] = []
    for bookie in bookies:
        if not (limit.allows("kill", [bookie]) or limit.allows_after_repair("kill", [bookie])):
            return []
        limit.quiet()
        limit.hit("kill", [bookie])
        steps += [{"kill": {"target": bookie}}, {"start": {"target": bookie}}, quiet()]
    limit.quiet()
    return steps
