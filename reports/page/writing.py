"""Puts the page of one run together: verdict first, then for each mode its proof, its time, its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evidence.findings import Verdict
from evidence.folder import FoundRun, write_text
from protocol.modes import MODES
from reports.document import CHARTS, document
from reports.markup import Markup, data, el, join
from reports.page.census import census_section
from reports.page.diagram import diagram
from reports.page.proof import proof_of
from reports.page.sections import (
    badge,
    decisions_section,
    findings_section,
    properties_section,
    settings_section,
    stated,
    table,
)
from reports.page.stored import SEVERITY, StoredMode, stored_modes
from reports.page.timeline import timeline
from reports.repeating import repeat_command
from reports.seeded import seeded_lines
from reports.text import load_text

NAME = "report.html"


def write_page(found: FoundRun, target: Path | None = None) -> Path:
    """Write the page of a run, in its folder unless ``target`` says where; return where.

    ``EvidenceError`` when the disk refuses.
    """
    path = target or found.path / NAME
    write_text(path, page(stored_modes(found)))
    return path


def page(modes: Sequence[StoredMode]) -> str:
    """The whole document of a run's modes."""
    run = modes[0].run
    source = run["plan"].get("source") or {}
    cited = ", ".join(part for part in (source.get("document"), source.get("section")) if part)
    repeat = repeat_command([mode.run for mode in modes])
    top = el(
        "header",
        [el("p", el("b", line), class_="note") for line in _seeded(modes)],
        el("h1", run["scenario"]),
        el("p", cited, class_="muted") if cited else None,
        el("nav", [_card(mode) for mode in modes], class_="cards", aria_label="modes"),
        el("details", el("summary", "What this scenario is"), el("p", str(run["plan"].get("about", "")))),
    )
    again = el("section", el("h2", "Repeat it"), el("pre", repeat, class_="command"))
    body = join(
        top,
        el("main", [_mode(mode) for mode in modes], again),
        el("footer", "Fencepost. What each verdict means: docs/verdicts.md; this page: docs/reports.md."),
        data("run-data", {mode.folder.mode: _charts(mode) for mode in modes}),
        data("first", _worst(modes).folder.mode),
    )
    return document(
        f"{run['scenario']} – Fencepost",
        body,
        styles=(CHARTS[1], "base.css", "page.css"),
        scripts=(CHARTS[0], "lanes.js", "page.js"),
    )


def _seeded(modes: Sequence[StoredMode]) -> list[str]:
    return [f"{mode.folder.mode}: {line}" for mode in modes for line in seeded_lines(mode.folder)]


def _worst(modes: Sequence[StoredMode]) -> StoredMode:
    """The mode to be shown first: not as expected, then the most serious verdict."""
    return min(
        modes,
        key=lambda one: (one.comparison.get("met", True), SEVERITY.index(Verdict(one.verdict["verdict"]))),
    )


def _card(mode: StoredMode) -> Markup:
    name = mode.folder.mode
    met = mode.comparison.get("met")
    word = "not compared" if met is None else "as expected" if met else "NOT as expected"
    return el(
        "a",
        el("span", name, class_="name"),
        badge(mode.verdict["verdict"]),
        el("span", mode.verdict["headline"], class_="headline"),
        el("span", word, class_="odd" if met is False else "muted"),
        href=f"#mode-{name}",
        class_="card",
        data_mode=name,
    )


def _mode(mode: StoredMode) -> Markup:
    name = mode.folder.mode
    about = MODES[name].about if name in MODES else ""
    head = join(
        el("h2", name, " ", badge(mode.verdict["verdict"])),
        el("p", about, class_="muted"),
        el("p", mode.verdict["headline"], class_="lead"),
        stated(mode.comparison),
        el("p", load, class_="muted") if (load := load_text(mode.folder)) else None,
        [el("p", f"damaged evidence: {one}", class_="note") for one in mode.verdict.get("damage", [])[:10]],
    )
    judged = el("section", el("h3", "Properties"), properties_section(mode.verdict["judgements"]))
    numbers = el("section", el("h3", "Versions and settings"), settings_section(mode.run))
    shown = _evidence(mode) if not mode.lacking else [el("p", f"No pictures: {mode.lacking}", class_="note")]
    decided = decisions_section(mode.comparison.get("decisions", ()))
    return el(
        "section",
        head,
        findings_section(mode),
        *shown,
        decided,
        judged,
        numbers,
        id=f"mode-{name}",
        class_="mode",
        data_mode=name,
    )


def _evidence(mode: StoredMode) -> list[Markup | None]:
    census = el("section", el("h3", "Census"), census_section(mode))
    return [_proof(mode), _time(mode), census]


def _proof(mode: StoredMode) -> Markup | None:
    proof = proof_of(mode)
    if proof is None:
        return None
    command = f"fencepost explain RUN {proof.subject}"
    return el(
        "section",
        el("h3", f"The life of {proof.title}"),
        el("p", proof.why, ". Time goes down, seconds since the run began.", class_="muted"),
        diagram(proof, mode.began_ns),
        el("p", "Everything about it: ", el("code", command), class_="muted"),
        class_="proof",
    )


def _time(mode: StoredMode) -> Markup:
    totals = mode.load.get("totals", [])
    heads = ("operations", "number", "per second", "median ms", "99 % ms", "longest ms")
    rows = [[name, f"{number:,}", *rest] for name, number, *rest in totals]
    return el(
        "section",
        el("h3", "Over time"),
        el("div", class_="timeline", data_mode=mode.folder.mode),
        el(
            "noscript",
            el("p", "The timeline needs scripts; they are in this file and load nothing."),
        ),
        table(heads, rows) if rows else el("p", "Clients added and read nothing.", class_="muted"),
    )


def _charts(mode: StoredMode) -> dict[str, object] | None:
    return None if mode.lacking else {"lanes": timeline(mode), "load": mode.load}
