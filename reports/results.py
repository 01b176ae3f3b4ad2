"""The result of a run: the verdict of each mode, whether its plan expected it, and how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evidence.findings import RunVerdict
from evidence.folder import DEFAULT_BACKEND, RunFolder
from evidence.shapes import RunTree
from plans.expected.comparison import Comparison


@dataclass(frozen=True)
class ModeResult:
    """The result of one mode, and whether the plan expected it; ``took_s`` is 0 for a stored run."""

    mode: str
    folder: RunFolder
    verdict: RunVerdict
    comparison: Comparison
    took_s: float = 0.0


@dataclass(frozen=True)
class RunResult:
    """A whole run: every mode that ran, in order."""

    scenario: str
    seed: int
    path: Path
    modes: Sequence[ModeResult]

    @property
    def repeat(self) -> str:
        """The command that repeats it."""
        return repeat_command([mode.folder.run() for mode in self.modes])


def repeat_command(runs: Sequence[RunTree]) -> str:
    """``fencepost run ...``, or what recorded it, for a run whose modes have these ``run.json`` trees."""
    facts = runs[0]
    if "repeat" in facts:
        return shlex.join(map(str, facts["repeat"]))
    words = ["fencepost", "run", facts["source"], "--seed", str(facts["seed"])]
    words += ["--bookkeeper", facts["bookkeeper"]]
    if (backend := facts.get("backend", DEFAULT_BACKEND)) != DEFAULT_BACKEND:
        words += ["--backend", backend]
    for whose, path in facts.get("user_files", {}).items():
        words += [f"--{whose}-conf", path]
    if [one["mode"] for one in runs] != list(facts["plan"]["modes"]):
        words += [word for one in runs for word in ("--mode", one["mode"])]
    ordered, rounds = facts.get("rounds"), facts["plan"].get("rounds", 1)
    if ordered is not None or rounds > 1:
        words += ["--rounds", str(rounds)]
    for name, value in sorted(facts["plan"].get("vary", {}).items()):
        words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    cluster = facts["plan"].get("cluster", {})
    words += [word for order in cluster.get("seed_defects", ()) for word in ("--seed-defect", order)]
    words += [word for order in cluster.get("cures", ()) for word in ("--cure", order)]
    return shlex.join(words)
