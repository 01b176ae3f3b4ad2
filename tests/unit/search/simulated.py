"""Runs that ended as a test says, without folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from evidence.findings import Finding, Judgement, Verdict
from plans.exploring.generate import COUNTING, REQUIRED
from search.running import Ended


def ending(verdict: str, *kinds: str, headline: str = "") -> type[Ended]:
    """A class of runs with this verdict and failures of these kinds, none of them known."""
    found = frozenset(kinds)
    columns = {"verdict": verdict, "headline": headline, "kinds": found, "news": found}
    return type("Simulated", (Ended,), {**columns, "known": frozenset()})


def anomaly(kind: str) -> Judgement:
    """The judgement that a checker found this, such as ``replicas/hole``."""
    name, _, what = kind.partition("/")
    return Judgement(name, Verdict.ANOMALY, "", findings=[Finding(name, what)], counts={what: 1})


def judged(
    verdict: str,
    judgements: Sequence[Judgement],
    *,
    mode: str = "protected",
    version: str = "4.18.0",
    required: Sequence[str] = REQUIRED,
) -> Any:
    """The only mode of a run of a drawn plan, or of one that has other properties ``required``."""
    plan = {"required": required, "counting": COUNTING}
    folder = SimpleNamespace(
        path=Path("results/run"),
        steps=Path("none"),
        run=lambda: {"mode": mode, "bookkeeper": version, "plan": plan},
        end=lambda: None,
    )
    by_name = {one.property: one for one in judgements}
    found = SimpleNamespace(verdict=Verdict(verdict), judgements=by_name, headline="")
    return SimpleNamespace(folder=folder, verdict=found)
