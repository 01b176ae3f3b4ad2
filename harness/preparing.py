"""Before anything starts: the plan loaded, names resolved, the order checked against it.

Everything that can be refused is refused here, with the value and the next step.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from cluster import artifacts
from cluster.doctor import checks
from cluster.local.training import train_missing
from cluster.versions import DEFAULT_VERSION
from harness.order import Order
from harness.space import require_space
from harness.vocabulary import loads, words
from plans.load import find, load
from plans.models import Plan
from plans.nearest import unknown
from plans.resolve import ResolvedPlan, resolve, with_rounds
from protocol.errors import PrerequisiteError, UsageError
from protocol.modes import MODES

_SEED_LIMIT = 2**31


@dataclass(frozen=True)
class Prepared:
    """A plan that can run here: its seed, its modes, and the default version of its servers."""

    order: Order
    plan: Plan
    seed: int
    modes: tuple[str, ...]
    version: str

    def resolved(self, mode: str) -> ResolvedPlan:
        """The plan for one mode with everything that the seed decides decided."""
        return resolve(self.plan, self.seed, mode)


def prepare(order: Order) -> Prepared:
    """Load and check; raises ``UsageError`` (or one of its kinds) for anything impossible."""
    plan = load(find(order.scenario), words(), workloads=loads(), settings=dict(order.settings))
    if order.rounds is not None:
        plan = with_rounds(plan, order.rounds)
    for mode in order.modes:
        if mode not in MODES:
            raise UsageError(
                unknown("mode", mode, MODES), remedy=f"{plan.name} runs in {', '.join(plan.modes)}"
            )
    if order.backend != "local":
        raise UsageError(
            f"backend {order.backend!r} does not exist; there is `local`", remedy="leave --backend out"
        )
    seed = order.seed if order.seed is not None else secrets.randbelow(_SEED_LIMIT)
    version = order.version or plan.cluster.version or DEFAULT_VERSION
    _examine_machine(order.results)
    for needed in dict.fromkeys((version, *plan.cluster.versions.values())):
        artifacts.class_path(needed)
        train_missing(needed)
    return Prepared(order, plan, seed, order.modes or plan.modes, version)


def _examine_machine(results: Path) -> None:
    """The first step of each run: what ``fencepost doctor`` calls a failure is refused here."""
    for check in checks(results):
        if check.state == "fail":
            raise PrerequisiteError(f"{check.name}: {check.seen}", remedy=check.remedy)
    require_space(results)
