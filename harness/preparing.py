"""Preparation of a run: loads the plan, resolves names, checks the request against the plan.

Every invalid request is refused here, with the value and the next step.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from pydantic import ValidationError

from checkers.judging.judge import CHECKERS
from cluster.backends import backend
from cluster.doctor import checks
from cluster.releases import artifacts
from cluster.releases.versions import DEFAULT_VERSION
from cluster.servers import disks
from evidence.folder import DEFAULT_BACKEND
from harness.experiments.experiment import digest_of
from harness.own_settings import mode_asked, mode_lines, require_own_placement, require_valid
from harness.request import RunRequest
from harness.vocabulary import words
from plans.cluster import ClusterSpec
from plans.defects import Defect, ordered, without_process
from plans.expected import expectations
from plans.grammar.names import bookie_names
from plans.grammar.rounds import every
from plans.load import find, load
from plans.models import Plan
from plans.reading.nearest import unknown
from plans.resolve import ResolvedPlan, resolve, with_rounds
from plans.versions import within
from protocol.addresses import autorecovery_names
from protocol.errors import IncapableError, PrerequisiteError, UsageError
from protocol.modes import MODES
from protocol.wording import counted
from reports.seeded import announced

_SEED_LIMIT = 2**31
_WIDTH = 100
_CHANGES = "`fencepost list defects` and `fencepost list cures` have the names, processes and releases"


@dataclass(frozen=True)
class Prepared:
    """A plan that can run here: its seed, its modes, and the default version of its servers.

    Every mode is resolved at creation too, so that a plan beyond its own limits is refused before anything
    starts (``PlanError``).
    """

    request: RunRequest
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


def prepare(request: RunRequest, *, digest: str = "") -> Prepared:
    """Load and check; raises ``UsageError`` (or one of its kinds) for anything impossible.

    With ``digest``, ``PrerequisiteError`` if the plan has changed since the run was listed.
    """
    plan = load(find(request.scenario), words(), settings=dict(request.settings))
    if request.rounds is not None:
        plan = with_rounds(plan, request.rounds)
    if digest and digest_of(plan) != digest:
        raise PrerequisiteError(
            f"the plan {plan.name} was changed after this run of it was listed", remedy="start again"
        )
    plan = with_changes(plan, request.seed_defects, request.cures)
    for mode in request.modes:
        if mode not in MODES:
            raise UsageError(
                unknown("mode", mode, MODES), remedy=f"{plan.name} runs in {', '.join(plan.modes)}"
            )
    return prepare_plan(request, plan)


def prepare_plan(request: RunRequest, plan: Plan) -> Prepared:
    """Check a request whose plan is at hand against this machine, and fetch what it needs."""
    require_known_names(plan)
    require_own_placement(request, plan)
    place = backend(request.backend)
    seed = request.seed if request.seed is not None else secrets.randbelow(_SEED_LIMIT)
    version = request.version or plan.cluster.version or DEFAULT_VERSION
    require_valid(request, version)
    modes = tuple(dict.fromkeys(request.modes)) or mode_asked(request, plan) or plan.modes
    ready = Prepared(request, plan, seed, modes, version)
    for check in checks(request.results):  # what ``fencepost doctor`` calls a failure is refused here
        if check.state == "fail" and (check.name != "lease" or request.backend == DEFAULT_BACKEND):
            raise PrerequisiteError(f"{check.name}: {check.seen}", remedy=check.remedy)
    require_disks(plan)
    later = [getattr(step.params, "version", None) for step in every(plan.steps)]
    versions = list(dict.fromkeys((version, *plan.cluster.versions.values(), *filter(None, later))))
    require_changeable(plan, versions, request.backend)
    require_follower(plan, request.backend)
    for needed in versions:
        artifacts.require_adopted(needed)
        artifacts.class_path(needed)
    place.prepare(versions, request.results)
    return ready


def require_known_names(plan: Plan) -> None:
    """Refuse an expected kind of finding or figure that its property does not have: no run could meet it."""
    checkers = {checker.name: checker for checker in CHECKERS}
    for entry in (entry for entries in plan.expect.values() for entry in entries):
        if isinstance(entry, expectations.Breaks | expectations.Defect):
            what, name, allowed = "kind", entry.kind, checkers[entry.property].kinds
        elif isinstance(entry, expectations.Measures):
            what, name, allowed = "figure", entry.figure, checkers[entry.property].figures
        else:
            continue
        if name and name not in allowed:
            message = unknown(f"{what} of {entry.property}", name, allowed)
            raise UsageError(message, remedy=f"correct `expect` of {plan.name}")


def require_disks(plan: Plan) -> None:
    """Refuse a plan whose bookies have dedicated disks where the machine does not support them."""
    asked = plan.cluster.disks
    if asked is not None and (reason := disks.unavailable_reason(asked.kind)) is not None:
        raise IncapableError(
            f"{plan.name} needs dedicated disks for bookies, which this machine does not support: {reason}",
            remedy=disks.remedy(asked.kind),
        )


def require_follower(plan: Plan, backend: str) -> None:
    """Refuse a second server of ZooKeeper where the backend has no place for it."""
    if plan.cluster.zk2 and backend != DEFAULT_BACKEND:
        raise IncapableError(
            f"{plan.name} needs zk2, which the backend {backend} does not support",
            remedy=f"run with --backend {DEFAULT_BACKEND}",
        )


def introduction(prepared: Prepared, path: Path) -> Iterator[tuple[str, str]]:
    """Lines of (text, style): what is about to run, and the command that repeats it."""
    plan = prepared.plan
    source = ", ".join(part for part in (plan.source.document, plan.source.section) if part)
    for order in plan.cluster.changes:
        yield announced(order), "yellow"
    yield f"{plan.name} ({source})", "bold"
    yield from ((f"  {line}", "") for line in wrap(" ".join(plan.about.split()), _WIDTH))
    bookies = counted(plan.cluster.bookies, "bookie")
    rounds = f", {plan.rounds} rounds" if plan.rounds > 1 else ""
    yield (
        f"  BookKeeper {prepared.version}, {bookies}, modes {', '.join(prepared.modes)}, "
        f"seed {prepared.seed}{rounds}",
        "dim",
    )
    yield from ((f"  {line}", "yellow") for line in mode_lines(prepared.request, plan))
    yield f"  folder {path}", "dim"


def with_changes(plan: Plan, defects: Sequence[str], cures: Sequence[str]) -> Plan:
    """The plan with the defects and cures that the user asks for; ``UsageError`` for what is neither."""
    if not defects and not cures:
        return plan
    cluster = plan.cluster
    changes = {
        "seed_defects": tuple(dict.fromkeys((*cluster.seed_defects, *defects))),
        "cures": tuple(dict.fromkeys((*cluster.cures, *cures))),
    }
    try:
        changed = ClusterSpec.model_validate({**dict(cluster), **changes})
    except ValidationError as error:
        raise UsageError(str(error.errors()[0]["ctx"]["error"]), remedy=_CHANGES) from None
    return plan.model_copy(update={"cluster": changed})


def require_changeable(plan: Plan, versions: Sequence[str], backend: str) -> None:
    """Refuse changes that this plan, these releases or this backend have no place for."""
    orders = plan.cluster.changes
    if not orders:
        return
    if backend != DEFAULT_BACKEND:
        raise IncapableError(
            f"seeded defects and cures are not available with the backend {backend}",
            remedy=f"run with --backend {DEFAULT_BACKEND}",
        )
    artifacts.agent_jar()
    for order in orders:
        change = ordered(order)
        _require_process(change, without_process(order)[1], plan)
        for version in versions:
            if not within(version, change.releases):
                raise UsageError(
                    f"{change.kind} {change.name} needs BookKeeper {change.releases}, not {version}",
                    remedy=_CHANGES,
                )


def _require_process(change: Defect, name: str, plan: Plan) -> None:
    """The named process must be one of the plan's that the change is declared for; an empty name is all."""
    names = {
        "bookie": bookie_names(plan.cluster.bookies),
        "client": plan.clients,
        "autorecovery": autorecovery_names(plan.cluster.autorecovery),
    }
    allowed = [each for kind in change.processes for each in names[kind]]
    if name and name not in allowed:
        raise UsageError(f"{change.kind} {change.name}: {unknown('process', name, allowed)}", remedy=_CHANGES)
