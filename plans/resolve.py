"""A plan with everything decided: one mode, one seed, chaos turned into timed steps.

What a seed decides is decided here, once, and saved with the run, so that a replay repeats it
even when the code that decided has changed. Resolving also checks the plan's limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from random import Random
from typing import Any

from pydantic import Field, ValidationError

from plans.expected.expectations import Expectation
from plans.exploring.chaos import expand
from plans.exploring.seeds import HIGHEST_SEED, stream
from plans.grammar.names import EACH, Names, Params, bookie_names
from plans.grammar.rounds import every, unrepeatable
from plans.grammar.sequence import Chaos, Place, Step, StepSpec, Together, Vocabulary, rebuilt
from plans.grammar.steps import Act, Elapsed
from plans.load import load_tree
from plans.models import MOST_ROUNDS, Plan, plan_tree
from plans.reading.document import Document
from plans.reading.mistakes import explained
from protocol.errors import PlanError
from protocol.faults import EFFECTS


class ResolvedPlan(Params):
    """The exact plan of one run of one mode; no ``chaos`` is left in ``plan``."""

    plan: Plan
    seed: int = Field(ge=0, le=HIGHEST_SEED)
    mode: str = Field(min_length=1)

    @property
    def expect(self) -> Mapping[str, tuple[Expectation, ...]]:
        """What the plan states, by mode."""
        return self.plan.expect

    def stream(self, name: str) -> Random:
        """The random stream of that name (``load/w1`` for the load named w1)."""
        return stream(self.seed, name)

    def as_json(self) -> dict[str, object]:
        """A plain tree for ``run.json``; :func:`from_json` reads it back."""
        return {"plan": plan_tree(self.plan), "seed": self.seed, "mode": self.mode}


def resolve(plan: Plan, seed: int, mode: str) -> ResolvedPlan:
    """Decide everything that ``seed`` (0 to 2**63-1) decides, for a run in ``mode``.

    The same plan, seed and mode give the same result, whatever Python runs it. The plan need not list the
    mode. Raises ``PlanError`` when a limit of the plan is exceeded.
    """
    if not 0 <= seed <= HIGHEST_SEED:
        raise PlanError(f"the seed {seed} is outside 0..{HIGHEST_SEED}")
    _check_limit(plan, "run_s", shortest_s(plan.steps))
    acts = [step.params for step in every(plan.steps) if isinstance(step.params, Act)]
    _check_limit(plan, "entries", sum(act.adds() for act in acts))
    names = Names(bookies=bookie_names(plan.cluster.bookies), clients=plan.clients)
    decided = plan.model_copy(update={"steps": _expanded(plan.steps, seed, names)})
    _check_limit(plan, "faults", sum(step.name in EFFECTS for step in every(decided.steps)))
    return ResolvedPlan(plan=decided, seed=seed, mode=mode)


def with_rounds(plan: Plan, rounds: int) -> Plan:
    """The plan with its steps repeated ``rounds`` times; ``PlanError`` when that is impossible."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise PlanError(f"{rounds} rounds are outside 1..{MOST_ROUNDS}")
    reasons = list(unrepeatable(plan.steps))
    if rounds > 1 and reasons:
        raise PlanError(
            f"the plan {plan.name} cannot go through {rounds} rounds: {'; '.join(reasons)}",
            remedy="use --times, which gives each run a new cluster",
        )
    return plan.model_copy(update={"rounds": rounds})


def stored_allowance(plan: Mapping[str, Any], mode: str) -> dict[str, dict[str, int]]:
    """A recorded plan's allowance by mode; records from before it had modes have one number for theirs."""
    stored = plan.get("allowance") or {}
    return {mode: {EACH: stored}} if isinstance(stored, int) else stored


def from_json(
    tree: Mapping[str, Any], vocabulary: Vocabulary | None = None, *, source: str = "run.json"
) -> ResolvedPlan:
    """The inverse of :meth:`ResolvedPlan.as_json`.

    Judging needs no vocabulary; repeating the run does. Raises ``PlanError`` for a tree that is
    no resolved plan.
    """
    missing = [key for key in ("plan", "seed", "mode") if key not in tree]
    if missing:
        raise PlanError(f"{source}: no resolved plan: {', '.join(missing)} missing")
    stored = {**tree["plan"], "allowance": stored_allowance(tree["plan"], tree["mode"])}
    plan = load_tree(stored, vocabulary, source=source)
    try:
        return ResolvedPlan(plan=plan, seed=tree["seed"], mode=tree["mode"])
    except ValidationError as error:
        raise explained(error, Document(source, dict(tree)), ResolvedPlan) from error


def _expanded(steps: tuple[Step, ...], seed: int, names: Names) -> tuple[Step, ...]:
    """The steps with timed steps for each chaos; the n-th chaos of a plan has the stream ``chaos/n``."""
    numbers = count()

    def expanded(step: StepSpec, _: Place) -> Step:
        if not isinstance(step.params, Chaos):
            return step
        block = expand(step.params, stream(seed, f"chaos/{next(numbers)}"), names)
        return block.model_copy(update={"at_s": step.at_s, "when": step.when, "note": step.note or "chaos"})

    return rebuilt(steps, expanded)


def _check_limit(plan: Plan, what: str, in_a_round: float) -> None:
    value, limit = plan.rounds * in_a_round, getattr(plan.limits, what)
    if value > limit:
        raise PlanError(
            f"the plan {plan.name} needs {what} {value:g}, its limit is {limit:g}",
            remedy=f"raise limits: {{{what}: ...}} in the plan, or do less",
        )


def shortest_s(steps: Sequence[Step]) -> float:
    """How long steps one after the other take at the least: what they wait for by the clock."""
    now_s = 0.0
    for step in steps:
        now_s = max(now_s, step.at_s or 0.0) + _lasts_s(step)
    return now_s


def _lasts_s(step: Step) -> float:
    if isinstance(step, Together):
        return max(map(shortest_s, step.branches), default=0.0)
    return step.params.for_s if isinstance(step.params, Chaos | Elapsed) else 0.0
