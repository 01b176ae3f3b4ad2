"""Preparation of a run: loads the plan, resolves names, checks the order against the plan.

Every invalid request is refused here, with the value and the next step.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from cluster import artifacts, builds, disks
from cluster.backends import backend
from cluster.doctor import checks
from cluster.versions import DEFAULT_VERSION
from harness.order import Order, properties_of
from harness.seeding import require_seedable, with_changes
from harness.space import require_space
from harness.vocabulary import loads, words
from plans.defects import ordered
from plans.load import find, load
from plans.models import Plan
from plans.nearest import unknown
from plans.resolve import ResolvedPlan, resolve, with_rounds
from plans.rounds import every
from protocol.errors import IncapableError, PrerequisiteError, UsageError
from protocol.modes import MODES
from reports.seeded import MODIFIED

_SEED_LIMIT = 2**31
_WIDTH = 100


@dataclass(frozen=True)
class Prepared:
    """A plan that can run here: its seed, its modes, and the default version of its servers.

    Resolved once when it is created, so that a plan beyond its own limits is refused before anything starts
    (``PlanError``).
    """

    order: Order
    plan: Plan
    seed: int
    modes: tuple[str, ...]
    version: str

    def __post_init__(self) -> None:
        for mode in self.modes:
            self.resolved(mode)

    def resolved(self, mode: str) -> ResolvedPlan:
        """The plan for one mode, with every choice of the seed made."""
        return resolve(self.plan, self.seed, mode)


def prepare(order: Order) -> Prepared:
    """Load and check; raises ``UsageError`` (or one of its kinds) for anything impossible."""
    plan = load(find(order.scenario), words(), workloads=loads(), settings=dict(order.settings))
    if order.rounds is not None:
        plan = with_rounds(plan, order.rounds)
    plan = with_changes(plan, order.seed_defects, order.cures)
    for mode in order.modes:
        if mode not in MODES:
            raise UsageError(
                unknown("mode", mode, MODES), remedy=f"{plan.name} runs in {', '.join(plan.modes)}"
            )
    return prepared(order, plan)


def prepared(order: Order, plan: Plan) -> Prepared:
    """Check an order whose plan is at hand against this machine, and fetch what it needs."""
    place = backend(order.backend)
    seed = order.seed if order.seed is not None else secrets.randbelow(_SEED_LIMIT)
    version = order.version or plan.cluster.version or DEFAULT_VERSION
    ready = Prepared(order, plan, seed, order.modes or plan.modes, version)
    for path in (order.bookie_conf, order.client_conf):
        properties_of(path)
    _examine_machine(order.results)
    require_disks(plan)
    versions = list(dict.fromkeys((version, *plan.cluster.versions.values(), *_later_versions(plan))))
    require_seedable((*plan.cluster.seed_defects, *plan.cluster.cures), versions, order.backend)
    for needed in versions:
        builds.require_adopted(needed)
        artifacts.class_path(needed)
    place.prepare(versions, order.results)
    return ready


def _later_versions(plan: Plan) -> Iterator[str]:
    """The releases that servers are started with by the steps."""
    for step in every(plan.steps):
        if later := getattr(step.params, "version", None):
            yield later


def require_disks(plan: Plan) -> None:
    """Refuse a plan whose bookies have dedicated disks where the machine does not support them."""
    asked = plan.cluster.disks
    reason = None if asked is None else disks.lacking(asked.kind)
    if asked is not None and reason is not None:
        raise IncapableError(
            f"{plan.name} needs dedicated disks for bookies, which this machine does not support: {reason}",
            remedy=disks.remedy(asked.kind),
        )


def _examine_machine(results: Path) -> None:
    """The first step of each run: what ``fencepost doctor`` calls a failure is refused here."""
    for check in checks(results):
        if check.state == "fail":
            raise PrerequisiteError(f"{check.name}: {check.seen}", remedy=check.remedy)
    require_space(results)


def introduction(prepared: Prepared, path: Path) -> Iterator[tuple[str, str]]:
    """Lines of (text, style): what is about to run, and the command that repeats it."""
    plan = prepared.plan
    source = ", ".join(part for part in (plan.source.document, plan.source.section) if part)
    for order in (*plan.cluster.seed_defects, *plan.cluster.cures):
        yield f"{MODIFIED}: {ordered(order).kind} {order}", "yellow"
    yield f"{plan.name} ({source})", "bold"
    yield from ((f"  {line}", "") for line in wrap(" ".join(plan.about.split()), _WIDTH))
    bookies = f"{plan.cluster.bookies} bookies"
    rounds = f", {plan.rounds} rounds" if plan.rounds > 1 else ""
    yield (
        f"  BookKeeper {prepared.version}, {bookies}, modes {', '.join(prepared.modes)}, "
        f"seed {prepared.seed}{rounds}",
        "dim",
    )
    yield f"  folder {path}", "dim"
