"""Seeded defects and cures of an order: added to the plan, and refused where they are not available."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cluster import artifacts
from evidence.folder import DEFAULT_BACKEND
from plans.defects import assert_once, checked_cure, checked_defect, ordered
from plans.models import Plan
from plans.versions import within
from protocol.errors import IncapableError, UsageError

_REMEDY = "`fencepost list defects` and `fencepost list cures` have the names, processes and releases"


def with_changes(plan: Plan, defects: Sequence[str], cures: Sequence[str]) -> Plan:
    """The plan with the defects and cures that the user asks for; ``UsageError`` for what is neither."""
    if not defects and not cures:
        return plan
    changes = {
        "seed_defects": _together(plan.cluster.seed_defects, defects, checked_defect),
        "cures": _together(plan.cluster.cures, cures, checked_cure),
    }
    return plan.model_copy(update={"cluster": plan.cluster.model_copy(update=changes)})


def _together(stated: Sequence[str], asked: Sequence[str], check: Callable[[str], str]) -> tuple[str, ...]:
    together = tuple(dict.fromkeys((*stated, *asked)))
    try:
        assert_once(map(check, together))
    except ValueError as error:
        raise UsageError(str(error), remedy=_REMEDY) from None
    return together


def require_seedable(orders: Sequence[str], versions: Sequence[str], backend: str) -> None:
    """Refuse changes on another backend than plain processes, and on releases that lack their place."""
    if not orders:
        return
    if backend != DEFAULT_BACKEND:
        raise IncapableError(
            f"seeded defects and cures are not available with the backend {backend}",
            remedy=f"run with --backend {DEFAULT_BACKEND}",
        )
    artifacts.agent_jar()
    for change in map(ordered, orders):
        for version in versions:
            if not within(version, change.releases):
                raise UsageError(
                    f"{change.kind} {change.name} needs BookKeeper {change.releases}, not {version}",
                    remedy=_REMEDY,
                )
