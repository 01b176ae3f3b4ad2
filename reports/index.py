"""``index.html``: every stored run on one page, to be searched, filtered and compared offline.

Made of the runs' JSON files alone; no table is opened. ``templates/index.html`` is the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from evidence.findings import Judgement, RunVerdict, Verdict, read_verdict
from evidence.folder import RunFolder, every_run, modes_of, write_text
from evidence.seeding import modified_text
from evidence.shapes import ModeTree, RunTree
from protocol.errors import EvidenceError
from protocol.wording import counted
from reports.document import document
from reports.explain.story import in_planned_order
from reports.page.stored import compared_modes
from reports.page.writing import NAME as PAGE

NAME = "index.html"
_STATED = {True: "as expected", False: "NOT as expected", None: "not compared"}
_OUTSIDE = frozenset(
    {"argv", "clock", "commit", "dirty", "format", "host", "load", "mode", "run_id", "scenario", "seed"}
)
"""Of ``run.json`` what says nothing of the experiment, or stands elsewhere in the index."""
Pool = dict[tuple[str, str], int]
"""Facts of all runs, each kept once with its number: most runs share most of their settings."""


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


def write_index(results: Path) -> Path:
    """Write the page over every run below ``results``; return where.

    ``EvidenceError`` when the disk refuses.
    """
    pool: Pool = {}
    unread: list[Path] = []
    runs = collected(results, pool, unread)
    path = results / NAME
    write_text(path, index(runs, pool, [one.relative_to(results).as_posix() for one in unread]))
    return path


def index(runs: Sequence[Run], pool: Pool, unread: Sequence[str] = ()) -> str:
    """The whole document; ``unread`` are the runs whose files cannot be read."""
    modes = [mode for run in runs for mode in run.modes]
    return document(
        "index.html",
        "Runs",
        styles=("base.css", "index.css"),
        scripts=("index.js",),
        counted=counted(len(runs), "run")
        + (f"; {len(unread)} could not be read: {', '.join(unread)}" if unread else ""),
        choices=[
            ("verdict", "verdict", sorted({mode.verdict for mode in modes})),
            ("stated", "expectation", sorted({_STATED[mode.met] for mode in modes})),
            ("mode", "mode", sorted({mode.name for mode in modes})),
            ("release", "release", sorted({run.releases for run in runs})),
        ],
        runs=runs,
        date=_date,
        report=PAGE,
        tree={"runs": [asdict(run) for run in runs], "pool": list(pool)},
    )


def _date(at: str) -> str:
    if len(at) <= 15:
        return at
    return f"{at[:4]}-{at[4:6]}-{at[6:8]} {at[9:11]}:{at[11:13]}:{at[13:15]} UTC"


def collected(results: Path, pool: Pool, unread: list[Path]) -> list[Run]:
    """Every run below ``results``, the newest first; those whose files cannot be read go to ``unread``."""
    runs = []
    for path in every_run(results):
        try:
            runs.append(_run(results, path, pool))
        except EvidenceError:
            unread.append(path)
    return sorted(runs, key=lambda run: (run.at, run.path), reverse=True)


def flattened(tree: object, name: str = "") -> Iterable[tuple[str, str]]:
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
    folders = in_planned_order(modes_of(path))
    trees = [folder.run() for folder in folders]
    whole = compared_modes(path)
    facts = trees[0]
    return Run(
        path=path.relative_to(results).as_posix(),
        scenario=str(facts["scenario"]),
        at=path.name.partition("-")[0],
        seed=int(facts["seed"]),
        releases=", ".join(sorted({one for tree in trees for one in tree["versions"].values()}))
        + modified_text(facts["plan"]),
        report=(path / PAGE).is_file(),
        modes=tuple(
            _mode(folder, tree, whole.get(folder.mode, {}), pool)
            for folder, tree in zip(folders, trees, strict=True)
        ),
    )


def _mode(folder: RunFolder, run: RunTree, whole: ModeTree, pool: Pool) -> Mode:
    try:
        verdict = read_verdict(folder)
    except EvidenceError:
        verdict = RunVerdict("", folder.mode, Verdict.UNKNOWN, "not judged to its end", {})
    properties = {name: _property(one) for name, one in verdict.judgements.items()}
    plan = {key: value for key, value in run["plan"].items() if key != "about"}
    facts = flattened({key: value for key, value in {**run, "plan": plan}.items() if key not in _OUTSIDE})
    numbers = tuple(pool.setdefault(one, len(pool)) for one in facts)
    return Mode(folder.mode, verdict.verdict, verdict.headline, whole.get("met"), properties, numbers)


def _property(judgement: Judgement) -> str:
    counts = [f"{name.replace('_', ' ')} {number:,}" for name, number in judgement.counts.items() if number]
    return f"{judgement.verdict}{': ' if counts else ''}{', '.join(counts)}"
