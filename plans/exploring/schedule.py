"""The fault schedule of a generated plan: strokes that overlap, within the limit, burst by burst.

A burst is a block of lanes that run at the same time; behind it everything is healed and the cluster
quiet. Times are planned: a lane that falls behind keeps its order, so that the limit on lost copies,
which concerns one lane only, holds however long a restart takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from plans.exploring.limit import Limit
from plans.exploring.profile import ScheduleChoices
from plans.exploring.seeds import between
from plans.exploring.strokes import KINDS, LANES, SERVERS, Cast, ScheduledFault, weighted
from plans.sequence import Tree

QUIET_S = 90
_TRIES = 4
"""Number of times that another target is drawn for a fault whose first target does not allow it."""


def draw_burst(
    random: Random,
    choices: ScheduleChoices,
    weights: Mapping[str, float],
    cast: Cast,
    limit: Limit,
    *,
    burst_s: float,
) -> list[ScheduledFault]:
    """Strokes in the order of their times, none after ``burst_s``; counts what they lose."""
    planned: list[ScheduledFault] = []
    at_s = 0.0
    while True:
        at_s = round(at_s + between(random, *choices.every_s), 1)
        if at_s >= burst_s:
            return planned
        end_s = round(min(at_s + between(random, *choices.lasts_s), burst_s), 1)
        kind = KINDS[weighted(random, list(weights.items()))]
        drawn = [kind.draw(random, cast) for _ in range(_TRIES)]
        timed = (replace(stroke, at_s=at_s, end_s=end_s) for stroke in drawn if stroke is not None)
        placed = (_placed(stroke, planned, choices, limit) for stroke in timed)
        planned += list(islice(filter(None, placed), 1))


def _placed(
    stroke: ScheduledFault, planned: Sequence[ScheduledFault], choices: ScheduleChoices, limit: Limit
) -> ScheduledFault | None:
    """The stroke in the schedule, or None where it would be a contradiction or too much."""
    active = [other for other in planned if other.end_s > stroke.at_s]
    if any(stroke.meets(other) for other in planned if other.lane != stroke.lane or other in active):
        return None
    down = sum(len(other.targets) for other in active) + len(stroke.targets)
    if stroke.targets and down > choices.at_most_down:
        return None
    repaired = not limit.allows(stroke.fault, stroke.targets)
    if stroke.lane == SERVERS and repaired:
        hindered = any(other.lane == SERVERS for other in active)
        if hindered or not limit.allows_after_repair(stroke.fault, stroke.targets):
            return None
        limit.quiet()
    if stroke.lane == SERVERS:
        limit.hit(stroke.fault, stroke.targets)
    return replace(stroke, after_repair=repaired)


def lanes(planned: Sequence[ScheduledFault]) -> list[list[Tree]]:
    """The steps of each lane that has some, each lane in the order of its times."""
    steps = [_lane([stroke for stroke in planned if stroke.lane == lane]) for lane in LANES]
    return [lane for lane in steps if lane]


def _lane(planned: Sequence[ScheduledFault]) -> list[Tree]:
    moments: list[tuple[float, int, list[Tree]]] = []
    for order, stroke in enumerate(planned):
        begins = {stroke.fault: stroke.params, "at_s": stroke.at_s}
        moments.append((stroke.at_s, order, [*([quiet()] if stroke.after_repair else []), begins]))
        first, *rest = stroke.ends
        moments.append((stroke.end_s, order, [{**first, "at_s": stroke.end_s}, *rest]))
    moments.sort(key=lambda one: one[:2])
    return [step for _, _, steps in moments for step in steps]


def quiet() -> Tree:
    """The wait until every bookie runs and is repaired; if that fails, no more faults."""
    return {"wait_for": {"condition": "quiet", "timeout_s": QUIET_S, "otherwise": "finish"}}


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
