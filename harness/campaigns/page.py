"""A campaign as one page that works offline: what was decided, what to look at, what changed, every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from harness.campaigns.conclusion import Conclusion, Group
from harness.campaigns.matrix import heat_map
from harness.experiments.outcomes import Outcome, Status
from harness.experiments.store import RUNS
from reports.document import document
from reports.markup import Markup, el, join
from reports.page.writing import NAME as REPORT

NAME = "campaign.html"
_SIGNS = {
    Status.AS_EXPECTED: ("✓", "valid"),
    Status.IMPOSSIBLE: ("–", "not-judged"),
    Status.UNKNOWN: ("?", "unknown"),
}
_BAD = ("✗", "anomaly")
Linked = Callable[[Outcome], Markup | str]


def page(told: Conclusion, night: Path) -> str:
    """The whole document, which lies in the night's folder and links to the pages of runs that are kept."""

    def linked(one: Outcome) -> Markup | str:
        place = f"{RUNS}/{one.folder}/{REPORT}"
        return el("a", one.name, href=place) if one.folder and (night / place).is_file() else one.name

    body = join(
        el(
            "header",
            el("h1", told.title),
            el("p", told.campaign.about) if told.campaign.about else None,
            el("p", told.counted, class_="lead"),
            [el("p", line) for line in told.load],
        ),
        _failed(told.failed, linked),
        _changed(told),
        el("section", el("h3", "Matrix"), heat_map(told.cells)) if told.cells else None,
        _scenarios(told.groups),
        el("footer", "Fencepost. How to read this page: docs/campaigns.md."),
    )
    return document(
        f"{told.campaign.name} – Fencepost", body, styles=("base.css", "campaign.css"), scripts=()
    )


def _failed(outcomes: Sequence[Outcome], linked: Linked) -> Markup | None:
    if not outcomes:
        return None
    rows = (
        el(
            "tr",
            el("td", _came(one.came)),
            el(
                "td",
                el("b", linked(one)),
                el("p", one.why),
                el("pre", one.repeat, class_="command") if one.repeat else None,
            ),
        )
        for one in outcomes
    )
    return el("section", el("h3", "To be looked at"), el("table", el("tbody", rows)))


def _changed(told: Conclusion) -> Markup | None:
    if not told.changed:
        return None
    rows = (
        el(
            "tr",
            el("td", one.now.name),
            el("td", _came(one.before) if one.before else "not run"),
            el("td", _came(one.now.came)),
        )
        for one in told.changed
    )
    return el("section", el("h3", "Since the last time"), _table(("run", "before", "now"), rows))


def _scenarios(groups: Sequence[Group]) -> Markup | None:
    if not groups:
        return None
    rows = (
        el(
            "tr",
            el("td", group.scenario),
            el("td", group.version),
            el("td", group.mode),
            el("td", [_dot(one) for one in group.outcomes]),
            el("td", f"{group.fine} of {len(group.outcomes)}"),
            el("td", f"{group.took_s:.1f}"),
        )
        for group in groups
    )
    heads = ("scenario", "release", "mode", "runs", "as expected", "seconds")
    return el("section", el("h3", "Scenarios"), _table(heads, rows))


def _table(heads: Iterable[str], rows: Iterable[Markup]) -> Markup:
    head = el("tr", [el("th", name) for name in heads])
    return el("div", el("table", el("thead", head), el("tbody", rows)), class_="wide")


def _came(came: Status) -> Markup:
    sign, kind = _SIGNS.get(came, _BAD)
    return el("span", f"{sign} {came}", class_=f"badge v-{kind}")


def _dot(one: Outcome) -> Markup:
    sign, kind = _SIGNS.get(one.came, _BAD)
    return el("span", sign, class_=f"dot v-{kind}", title=f"seed {one.seed}: {one.came}")
