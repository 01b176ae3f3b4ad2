"""Chaos turned into timed steps by a seed, once, when a plan is resolved.

Each fault gets a time, its targets and its end: killed or stopped processes are started, paused
processes are resumed, every other fault is healed. The steps form one sequence, so that the limit
on processes down at once holds however long a restart takes.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from pydantic import ValidationError

from plans.exploring.seeds import between, pick
from plans.grammar.names import ANY_BOOKIE, ANY_CLIENT, Names
from plans.grammar.sequence import Chaos, ChaosFault, StepSpec, Together, dump
from plans.grammar.steps import Elapsed, Heal, Quiet, Resume, Start
from plans.reading.document import changed
from plans.reading.mistakes import validated
from protocol.errors import PlanError
from protocol.faults import effects_of

_SHORTEST_S = 0.001


@dataclass(frozen=True, slots=True)
class ScheduledFault:
    """One fault of the schedule: what, when it begins and when it ends, in seconds from the start."""

    fault: ChaosFault
    target: str
    at_s: float
    end_s: float

    @property
    def down(self) -> int:
        """How many processes are down or paused while it lasts."""
        return len(_parts(self.target)) if effects_of(self.fault.name).down else 0


def expand(chaos: Chaos, random: Random, names: Names) -> Together:
    """The timed steps of ``chaos``, beside a step that lasts as long as it does."""
    timed: list[tuple[float, int, list[StepSpec]]] = []
    planned = list(schedule(chaos, random, names))
    alone = _ending_alone(planned)
    settling = []  # another fault in force may prevent the awaited state
    if chaos.settle_timeout_s is not None:
        quiet = Quiet(timeout_s=chaos.settle_timeout_s, otherwise="finish")
        settling = [StepSpec(name="wait_for", params=quiet)]
    for order, scheduled in enumerate(planned):
        begin = StepSpec(name=scheduled.fault.name, params=scheduled.fault.params, at_s=scheduled.at_s)
        timed.append((scheduled.at_s, order, [begin]))
        timed.append((scheduled.end_s, order, [_end(scheduled), *(settling if order in alone else ())]))
    timed.sort(key=lambda one: one[:2])
    steps = tuple(step for _, _, several in timed for step in several)
    lasts = StepSpec(name="wait_for", params=Elapsed(for_s=chaos.for_s))
    return Together(together=((steps, (lasts,)) if steps else ((lasts,),)))


def schedule(chaos: Chaos, random: Random, names: Names) -> Iterator[ScheduledFault]:
    """The faults in the order of their times; a time at which no fault is possible stays empty."""
    active: list[ScheduledFault] = []
    at_s = 0.0
    while True:
        at_s = round(at_s + between(random, *chaos.every_s), 3)
        lasts_s = between(random, *chaos.restart_after_s)
        fault = pick(random, chaos.faults)
        choices = {
            placeholder: pick(random, candidates) if candidates else ""
            for placeholder, candidates in _candidates(names).items()
        }
        if at_s >= chaos.for_s:
            return
        active = [scheduled for scheduled in active if scheduled.end_s > at_s]
        chosen = _aimed(fault, choices, active, names)
        if chosen is None:
            continue
        end_s = round(min(max(at_s + lasts_s, at_s + _SHORTEST_S), chaos.for_s), 3)
        scheduled = ScheduledFault(chosen, _target(chosen), at_s, end_s)
        if scheduled.down and scheduled.down + sum(other.down for other in active) > chaos.at_most_down:
            continue
        active.append(scheduled)
        yield scheduled


def _candidates(names: Names) -> dict[str, tuple[str, ...]]:
    return {ANY_BOOKIE: names.bookies or (), ANY_CLIENT: names.clients or ()}


def _aimed(
    fault: ChaosFault, choices: Mapping[str, str], active: Sequence[ScheduledFault], names: Names
) -> ChaosFault | None:
    """The fault at a target without another fault: the drawn target or the next after it."""
    for turn in range(max(len(names.bookies or ()), len(names.clients or ()), 1)):
        turned = {
            placeholder: _after(_candidates(names)[placeholder], choice, turn)
            for placeholder, choice in choices.items()
        }
        aimed = _filled(fault, turned, names)
        if not any(_meet(aimed, scheduled.fault) for scheduled in active):  # a target has one fault at a time
            return aimed
    return None


def _after(candidates: Sequence[str], choice: str, turn: int) -> str:
    return candidates[(candidates.index(choice) + turn) % len(candidates)] if candidates else ""


def _filled(fault: ChaosFault, choices: Mapping[str, str], names: Names) -> ChaosFault:
    written = dump(fault.params)
    tree = changed(written, lambda one: choices.get(one, one) if isinstance(one, str) else one)
    if written.get("from") == written.get("to") == ANY_BOOKIE:
        tree["to"] = _after(names.bookies or (), choices[ANY_BOOKIE], 1)
    try:
        return ChaosFault(name=fault.name, params=validated(type(fault.params), tree, None))
    except ValidationError as error:
        problems = "; ".join(details["msg"] for details in error.errors())
        raise PlanError(f"chaos cannot aim {fault.name} {json.dumps(tree)}: {problems}") from error


def _meet(one: ChaosFault, other: ChaosFault) -> bool:
    """Whether two faults share a process or a link.

    A fault of a server that does not take it down (an island) may hold all of its links.
    """
    ends, other_ends = _target(one), _target(other)
    if ends == other_ends or _parts(ends) & _parts(other_ends):
        return True
    if effects_of(one.name).down or effects_of(other.name).down:
        return False
    if "-" in ends and "-" in other_ends:
        return False
    return ("-" not in ends and "-" not in other_ends) or bool(
        set(ends.split("-")) & set(other_ends.split("-"))
    )


def _target(fault: ChaosFault) -> str:
    tree = dump(fault.params)
    if "target" in tree:
        return str(tree["target"])
    if "targets" in tree:
        return ",".join(tree["targets"])
    if "from" in tree and "to" in tree:
        return f"{tree['from']}-{tree['to']}"
    return ""


def _parts(target: str) -> set[str]:
    """The processes or the link that a target names."""
    return set(target.split(",")) - {""}


def _end(scheduled: ScheduledFault) -> StepSpec:
    target, step = scheduled.target, effects_of(scheduled.fault.name).undone_by
    params: Start | Resume | Heal
    if step == "start":
        params = Start(target=target, checked=False)
    elif step == "resume":
        params = Resume(target=target)
    else:
        params = Heal(kind=scheduled.fault.name, target=target if len(_parts(target)) == 1 else None)
    return StepSpec(name=step, params=params, at_s=scheduled.end_s)


def _ending_alone(planned: Sequence[ScheduledFault]) -> set[int]:
    """The faults, by number, at whose end no other fault is in force."""
    begins = [scheduled.at_s for scheduled in planned]
    ends = [(scheduled.end_s, number) for number, scheduled in enumerate(planned)]
    latest = list(accumulate(ends, max))  # of all that began no later, which end is the last
    return {end[1] for end in ends if latest[bisect_right(begins, end[0]) - 1] == end}
