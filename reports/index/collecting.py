"""What the index knows of each stored run, from its JSON files alone; no table is opened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evidence.folder import RunFolder, every_run, modes_of, read_json
from evidence.seeding import modified_text
from protocol.errors import EvidenceError
from reports.page.writing import NAME

NOT_JUDGED = "not judged"
_OUTSIDE = frozenset(
    {"argv", "clock", "commit", "dirty", "format", "host", "load", "mode", "run_id", "scenario", "seed"}
)
"""Of ``run.json`` what says nothing of the experiment, or stands elsewhere in the index."""


@dataclass(frozen=True)
class Mode:
    """One mode of a run: what was judged, and its facts as numbers of the pool."""

    name: str
    verdict: str
    headline: str
    met: bool | None
    properties: Mapping[str, str]
    facts: tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """One run: ``path`` is relative to the results; ``report`` says that it has a page."""

    path: str
    scenario: str
    at: str
    seed: int
    releases: str
    report: bool
    modes: tuple[Mode, ...]


@dataclass
class Pool:
    """Facts of all runs, each kept once: most runs share most of their settings."""

    facts: list[tuple[str, str]] = field(default_factory=list)
    _known: dict[tuple[str, str], int] = field(default_factory=dict)

    def numbers(self, facts: Iterable[tuple[str, str]]) -> tuple[int, ...]:
        """The numbers of these facts, new ones added."""
        return tuple(self._number(one) for one in facts)

    def _number(self, fact: tuple[str, str]) -> int:
        if fact not in self._known:
            self._known[fact] = len(self.facts)
            self.facts.append(fact)
        return self._known[fact]


def collected(results: Path, pool: Pool) -> list[Run]:
    """Every run below ``results``, the newest first; one whose files cannot be read is left out."""
    runs = []
    for path in every_run(results):
        try:
            runs.append(_run(results, path, pool))
        except EvidenceError:
            continue
    return sorted(runs, key=lambda run: (run.at, run.path), reverse=True)


def flattened(tree: Any, name: str = "") -> Iterable[tuple[str, str]]:
    """``plan.cluster.bookies = 3`` and the like; a list is a fact for each of its items."""
    if isinstance(tree, Mapping):
        for key, value in sorted(tree.items()):
            yield from flattened(value, f"{name}.{key}" if name else str(key))
    elif isinstance(tree, list) and any(isinstance(one, Mapping) for one in tree):
        for number, one in enumerate(tree, start=1):
            yield f"{name} {number}", json.dumps(one, ensure_ascii=False, sort_keys=True)
    elif not isinstance(tree, str):
        yield name, json.dumps(tree, ensure_ascii=False, sort_keys=True)
    else:
        yield name, tree


def _run(results: Path, path: Path, pool: Pool) -> Run:
    folders = modes_of(path)
    trees = [folder.run() for folder in folders]
    try:
        whole = read_json(path / "verdict.json").get("modes", {})
    except EvidenceError:
        whole = {}
    facts = trees[0]
    return Run(
        path=path.relative_to(results).as_posix(),
        scenario=str(facts["scenario"]),
        at=path.name.partition("-")[0],
        seed=int(facts["seed"]),
        releases=", ".join(sorted({one for tree in trees for one in tree["versions"].values()}))
        + modified_text(facts),
        report=(path / NAME).is_file(),
        modes=tuple(
            _mode(folder, tree, whole.get(folder.mode, {}), pool)
            for folder, tree in zip(folders, trees, strict=True)
        ),
    )


def _mode(folder: RunFolder, run: Mapping[str, Any], whole: Mapping[str, Any], pool: Pool) -> Mode:
    try:
        verdict = read_json(folder.verdict_json)
    except EvidenceError:
        verdict = {"verdict": NOT_JUDGED, "headline": "not judged to its end", "judgements": {}}
    told = {name: _property(one) for name, one in verdict["judgements"].items()}
    plan = {key: value for key, value in run["plan"].items() if key != "about"}
    facts = flattened({key: value for key, value in {**run, "plan": plan}.items() if key not in _OUTSIDE})
    return Mode(
        folder.mode, verdict["verdict"], verdict["headline"], whole.get("met"), told, pool.numbers(facts)
    )


def _property(judgement: Mapping[str, Any]) -> str:
    counts = [
        f"{name.replace('_', ' ')} {number:,}" for name, number in judgement["counts"].items() if number
    ]
    return f"{judgement['verdict']}{': ' if counts else ''}{', '.join(counts)}"
