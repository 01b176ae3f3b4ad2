"""What the agent reported in the logs of a run's processes about its seeded defects and cures.

Read from the logs each time. No verdict depends on it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evidence.folder import RunFolder
from evidence.shapes import PlanTree, RunTree
from plans.defects import NONE

MOST_REPORTED = 100
"""The agent reports no more acts of one process than this."""
CURE = "cure"
_MARK = b"fencepost-agent {"


@dataclass
class Seeded:
    """One defect or cure as it was ordered: boots in which it was installed, and reported acts by process.

    ``kind`` is what it is called in reports: ``seeded defect`` or ``cure``.
    """

    kind: str
    order: str
    installed: int = 0
    acts: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """Its name without its trigger."""
        return self.order.partition(",")[0]


def releases_text(facts: RunTree) -> str:
    """The releases of a run's bookies from its ``run.json``, and what was changed in them, as one text."""
    releases = " ".join(sorted({facts["versions"][bookie] for bookie in facts["bookies"]}))
    return releases + modified_text(facts.get("plan", {}))


def modified_text(plan: PlanTree) -> str:
    """What follows the release of a run of this plan: " MODIFIED (fence-ignored)" for example, or nothing."""
    if [order.partition(",")[0] for _, order in _orders(plan)] == [NONE.name]:
        return " with the agent, unchanged"
    orders = [f"cure {order}" if kind == CURE else order for kind, order in _orders(plan)]
    return f" MODIFIED ({' '.join(orders)})" if orders else ""


def seeded(folder: RunFolder) -> list[Seeded]:
    """The defects, then the cures of a run in its plan's order; empty for an unchanged BookKeeper."""
    found = {one.name: one for one in (Seeded(*order) for order in _orders(folder.run().get("plan", {})))}
    for log in sorted(folder.servers.glob("*/boot-*.log")) if found else ():
        for report in _reports(log):
            if (one := found.get(report.get("defect", ""))) is None:
                continue
            one.installed += report["event"] == "installed"
            one.acts[log.parent.name] += report["event"] == "acted"
    return list(found.values())


def _orders(plan: PlanTree) -> list[tuple[str, str]]:
    """Kind and order of each."""
    cluster = plan.get("cluster", {})
    orders = {"seeded defect": cluster.get("seed_defects", ()), CURE: cluster.get("cures", ())}
    return [(kind, order) for kind, named in orders.items() for order in named]


def _reports(log: Path) -> Iterator[Mapping[str, str]]:
    """The agent's lines; a line that was cut off or mixed with another is left out."""
    with log.open("rb") as stream:
        for line in stream:
            if line.startswith(_MARK):
                try:
                    yield json.loads(line[len(_MARK) - 1 :])
                except ValueError:
                    continue
