"""A campaign's reports: Markdown for a job's summary, a page that works offline, annotations for CI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.campaigns.conclusion import Conclusion
from harness.campaigns.matrix import heat_map
from harness.campaigns.matrix import table as matrix_table
from harness.experiments.outcomes import Outcome, Status
from harness.experiments.store import RUNS
from reports import marks
from reports.document import document
from reports.markup import Markup, el, join, table
from reports.page.writing import NAME as REPORT

PAGE = "campaign.html"
_LEVELS = {Status.ANOMALY: "error", Status.ERROR: "error", Status.HUNG: "error", Status.UNKNOWN: "error"}
_SIGNS = {
    Status.AS_EXPECTED: ("✓", "valid"),
    Status.IMPOSSIBLE: ("–", "not-judged"),
    Status.UNKNOWN: ("?", "unknown"),
}
_BAD = ("✗", "anomaly")
_FAILED, _CHANGED, _SCENARIOS = "To be looked at", "Since the last time", "Scenarios"
_OF_CHANGES = ("run", "before", "now")


def markdown(told: Conclusion) -> str:
    """What was decided, what is to be done, what changed, and a line for each scenario."""
    lines = [f"# {told.title}", ""]
    if told.campaign.about:
        lines += [told.campaign.about, ""]
    lines += [" ".join([told.counted, *told.load]), ""]
    if told.failed:
        rows = ((one.name, one.came, one.why, one.repeat and f"`{one.repeat}`") for one in told.failed)
        lines += [f"## {_FAILED}", "", *marks.table(("run", "result", "why", "repeat it"), rows), ""]
    if told.changed:
        changed = ((one.now.name, one.before or "not run", one.now.came) for one in told.changed)
        lines += [f"## {_CHANGED}", "", *marks.table(_OF_CHANGES, changed), ""]
    if told.groups:
        heads = ("scenario", "release", "mode", "as expected", "seconds")
        groups = ((*one.key, one.as_expected, f"{one.took_s:.1f}") for one in told.groups)
        lines += [f"## {_SCENARIOS}", "", *marks.table(heads, groups)]
    if told.cells:
        lines += ["", *matrix_table(told.cells)]
    return "\n".join(lines).rstrip() + "\n"


def notices(outcomes: Sequence[Outcome], *, unknown_warns: bool) -> Iterator[str]:
    """Workflow commands for what is to be done, one a line, each at the scenario's file."""
    for one in outcomes:
        level = _LEVELS.get(one.came)
        if level is None:
            continue
        if one.came is Status.UNKNOWN and unknown_warns:
            level = "warning"
        file = f"scenarios/{one.scenario}.yaml"
        title = _data(one.name).replace(":", "%3A").replace(",", "%2C")
        yield f"::{level} file={file},title={title}::{_data(f'{one.came}: {one.why}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def page(told: Conclusion, night: Path) -> str:
    """The same as one document in the night's folder, with links to the pages of runs that are kept."""

    def failed(one: Outcome) -> Markup:
        repeat = el("pre", one.repeat, class_="command") if one.repeat else None
        what = el("td", el("b", linked(one, one.name, night)), el("p", one.why), repeat)
        return el("tr", el("td", _badge(one.came)), what)

    body = join(
        el(
            "header",
            el("h1", told.title),
            el("p", told.campaign.about) if told.campaign.about else None,
            el("p", told.counted, class_="lead"),
            [el("p", line) for line in told.load],
        ),
        _section(_FAILED, el("table", el("tbody", map(failed, told.failed)))) if told.failed else None,
        _section(_CHANGED, _changes(told)) if told.changed else None,
        _section("Matrix", heat_map(told.cells)) if told.cells else None,
        _section(_SCENARIOS, _scenarios(told)) if told.groups else None,
        el("footer", "Fencepost. How to read this page: docs/campaigns.md."),
    )
    return document(
        f"{told.campaign.name} – Fencepost", body, styles=("base.css", "campaign.css"), scripts=()
    )


def linked(one: Outcome | None, text: str, night: Path) -> Markup | str:
    """``text`` as a link to the page of a run that is kept in the night's folder, else as it is."""
    place = f"{RUNS}/{one.folder}/{REPORT}" if one and one.folder else ""
    return el("a", text, href=place) if place and (night / place).is_file() else text


def _section(title: str, inside: Markup) -> Markup:
    return el("section", el("h3", title), inside)


def _changes(told: Conclusion) -> Markup:
    rows = (
        (one.now.name, _badge(one.before) if one.before else "not run", _badge(one.now.came))
        for one in told.changed
    )
    return table(_OF_CHANGES, rows)


def _scenarios(told: Conclusion) -> Markup:
    rows = (
        (*one.key, join(map(_dot, one.outcomes)), one.as_expected, f"{one.took_s:.1f}") for one in told.groups
    )
    return table(("scenario", "release", "mode", "runs", "as expected", "seconds"), rows)


def _badge(came: Status) -> Markup:
    sign, kind = _SIGNS.get(came, _BAD)
    return el("span", f"{sign} {came}", class_=f"badge v-{kind}")


def _dot(one: Outcome) -> Markup:
    sign, kind = _SIGNS.get(one.came, _BAD)
    return el("span", sign, class_=f"dot v-{kind}", title=f"seed {one.seed}: {one.came}")
