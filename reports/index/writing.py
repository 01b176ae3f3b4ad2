"""Writes ``results/index.html``: a row for each run; searching, filtering and comparing work offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from checkers.facts.wording import counted
from evidence.folder import write_text
from reports.document import document
from reports.index.collecting import Mode, Pool, Run, collected
from reports.markup import Markup, data, el, join
from reports.page.sections import badge
from reports.page.writing import NAME as PAGE

NAME = "index.html"
_STATED = {True: "as expected", False: "NOT as expected", None: "not compared"}


def write_index(results: Path) -> Path:
    """Write the page over every run below ``results``; return where.

    ``EvidenceError`` when the disk refuses.
    """
    pool = Pool()
    runs = collected(results, pool)
    path = results / NAME
    write_text(path, index(runs, pool))
    return path


def index(runs: Sequence[Run], pool: Pool) -> str:
    """The whole document."""
    body = join(
        el(
            "header",
            el("h1", "Runs"),
            el("p", f"{counted(len(runs), 'run')}, the newest first", class_="muted"),
        ),
        _controls(runs),
        el("section", id="comparison", hidden=True, aria_live="polite"),
        el("p", id="shown", class_="muted", aria_live="polite"),
        el("div", _table(runs), class_="wide"),
        el("footer", "Fencepost. How to use this page: docs/reports.md."),
        data("index-data", {"runs": [asdict(run) for run in runs], "pool": pool.facts}),
    )
    return document("Runs – Fencepost", body, styles=("base.css", "index.css"), scripts=("index.js",))


def _controls(runs: Sequence[Run]) -> Markup:
    modes = [mode for run in runs for mode in run.modes]
    return el(
        "form",
        el(
            "input",
            type="search",
            id="search",
            placeholder="search: scenario, seed, headline",
            aria_label="search",
        ),
        _choice("verdict", sorted({mode.verdict for mode in modes})),
        _choice("stated", sorted({_STATED[mode.met] for mode in modes})),
        _choice("mode", sorted({mode.name for mode in modes})),
        _choice("release", sorted({run.releases for run in runs})),
        el("button", "reset", type="reset"),
        class_="controls screen",
        autocomplete="off",
    )


def _choice(name: str, values: Sequence[str]) -> Markup:
    label = {"stated": "expectation"}.get(name, name)
    options = [el("option", f"any {label}", value=""), *(el("option", one, value=one) for one in values)]
    return el("select", options, id=name, aria_label=label)


def _table(runs: Sequence[Run]) -> Markup:
    heads = ["", "run", "release", "seed", "verdicts"]
    rows = [_row(number, run) for number, run in enumerate(runs)]
    return el("table", el("thead", el("tr", [el("th", one) for one in heads])), el("tbody", rows))


def _row(number: int, run: Run) -> Markup:
    at = run.at
    when = f"{at[:4]}-{at[4:6]}-{at[6:8]} {at[9:11]}:{at[11:13]}:{at[13:15]} UTC" if len(at) > 15 else at
    name = el("a", run.scenario, href=f"{run.path}/{PAGE}") if run.report else el("b", run.scenario)
    page = None if run.report else el("span", " no page yet: fencepost report", class_="muted")
    box = el("input", type="checkbox", class_="choose screen", aria_label=f"compare {run.scenario} {when}")
    return el(
        "tr",
        el("td", box),
        el("td", name, page, el("br"), el("span", when, class_="muted")),
        el("td", run.releases),
        el("td", run.seed),
        el("td", [_verdict(mode) for mode in run.modes]),
        data_run=number,
    )


def _verdict(mode: Mode) -> Markup:
    odd = el("span", " NOT as expected", class_="odd") if mode.met is False else None
    return el("p", badge(mode.verdict), " ", el("b", mode.name), " ", mode.headline, odd)
