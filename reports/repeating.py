"""The command that repeats a run, from what the run itself recorded."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from evidence.folder import DEFAULT_BACKEND


def repeat_command(runs: Sequence[Mapping[str, Any]]) -> str:
    """``fencepost run ...``, or what recorded it, for a run whose modes have these ``run.json`` trees."""
    facts = runs[0]
    if "repeat" in facts:
        return shlex.join(map(str, facts["repeat"]))
    words = ["fencepost", "run", str(facts["source"]), "--seed", str(facts["seed"])]
    words += ["--bookkeeper", str(facts["bookkeeper"])]
    if (backend := str(facts.get("backend", DEFAULT_BACKEND))) != DEFAULT_BACKEND:
        words += ["--backend", backend]
    if [one["mode"] for one in runs] != list(facts["plan"]["modes"]):
        words += [word for one in runs for word in ("--mode", str(one["mode"]))]
    ordered, rounds = facts.get("rounds"), facts["plan"].get("rounds", 1)
    if ordered is not None or rounds > 1:
        words += ["--rounds", str(rounds)]
    for name, value in sorted(facts["plan"].get("vary", {}).items()):
        words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    cluster = facts["plan"].get("cluster", {})
    for option, key in (("--seed-defect", "seed_defects"), ("--cure", "cures")):
        words += [word for order in cluster.get(key, ()) for word in (option, str(order))]
    return shlex.join(words)
