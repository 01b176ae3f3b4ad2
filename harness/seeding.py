"""Seeded defects of an order: added to the plan, and refused where they cannot be had."""

from __future__ import annotations

from collections.abc import Sequence

from cluster import artifacts
from harness.order import DEFAULT_BACKEND
from plans.defects import assert_once, ordered
from plans.models import Plan
from plans.versions import within
from protocol.errors import IncapableError, UsageError

_REMEDY = "`fencepost list defects` has the names, processes and releases"


def with_defects(plan: Plan, orders: Sequence[str]) -> Plan:
    """The plan with the defects that the user asks for; ``UsageError`` for what is no defect."""
    if not orders:
        return plan
    together = tuple(dict.fromkeys((*plan.cluster.seed_defects, *orders)))
    try:
        for order in together:
            ordered(order)
        assert_once(together)
    except ValueError as error:
        raise UsageError(str(error), remedy=_REMEDY) from None
    cluster = plan.cluster.model_copy(update={"seed_defects": together})
    return plan.model_copy(update={"cluster": cluster})


def require_seedable(orders: Sequence[str], versions: Sequence[str], backend: str) -> None:
    """Refuse defects on another backend than plain processes, and on releases that lack their place."""
    if not orders:
        return
    if backend != DEFAULT_BACKEND:
        raise IncapableError(
            f"seeded defects are not available with the backend {backend}",
            remedy=f"run with --backend {DEFAULT_BACKEND}",
        )
    artifacts.agent_jar()
    for defect in map(ordered, orders):
        for version in versions:
            if not within(version, defect.releases):
                raise UsageError(
                    f"seeded defect {defect.name} needs BookKeeper {defect.releases}, not {version}",
                    remedy=_REMEDY,
                )
