"""What the agent reported in the logs of a run's processes about its seeded defects.

Read from the logs each time. No verdict depends on it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evidence.folder import RunFolder

MOST_REPORTED = 100
"""The agent reports no more acts of one process than this."""
_MARK = b"fencepost-agent {"


@dataclass
class Seeded:
    """One defect as it was ordered: boots in which it was installed, and reported acts by process."""

    order: str
    installed: int = 0
    acts: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The defect's name without its trigger."""
        return self.order.partition(",")[0]


def releases_text(facts: Mapping[str, Any]) -> str:
    """The releases of a run's bookies from its ``run.json``, and its seeded defects, as one text."""
    releases = " ".join(sorted({facts["versions"][bookie] for bookie in facts["bookies"]}))
    return releases + modified_text(facts)


def modified_text(facts: Mapping[str, Any]) -> str:
    """What follows a run's release: " MODIFIED (fence-ignored)" for example, or nothing."""
    orders = _orders(facts)
    return f" MODIFIED ({' '.join(orders)})" if orders else ""


def seeded(folder: RunFolder) -> list[Seeded]:
    """The defects of a run in the order of its plan; empty for a run of an unchanged BookKeeper."""
    orders = _orders(folder.run())
    found = {one.name: one for one in map(Seeded, orders)}
    for log in sorted(folder.servers.glob("*/boot-*.log")) if found else ():
        for said in _reports(log):
            if (one := found.get(said.get("defect", ""))) is None:
                continue
            one.installed += said["event"] == "installed"
            one.acts[log.parent.name] += said["event"] == "acted"
    return list(found.values())


def _orders(facts: Mapping[str, Any]) -> Sequence[str]:
    return facts.get("plan", {}).get("cluster", {}).get("seed_defects", ())  # type: ignore[no-any-return]


def _reports(log: Path) -> Iterator[dict[str, Any]]:
    """The agent's lines; one that was cut off or mixed with another is left out."""
    with log.open("rb") as stream:
        for line in stream:
            if line.startswith(_MARK):
                try:
                    yield json.loads(line[len(_MARK) - 1 :])
                except ValueError:
                    continue
