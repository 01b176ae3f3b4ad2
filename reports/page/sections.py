"""The parts of a mode's section that are words and tables: verdict, findings, properties, how to repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evidence.findings import Finding, Verdict
from reports.markup import Markup, el, join
from reports.page.stored import StoredMode
from reports.text import finding_line, rounded

MOST_FINDINGS = 12
MOST_NOTES = 12
SIGNS = {
    Verdict.VALID.value: "✓",
    Verdict.ANOMALY.value: "✗",
    Verdict.UNKNOWN.value: "?",
    Verdict.NOT_JUDGED.value: "–",
}

Tree = Mapping[str, Any]


def badge(verdict: str) -> Markup:
    """A verdict as a coloured word with its sign, so that colour alone never tells."""
    kind = verdict.replace(" ", "-")
    return el("span", f"{SIGNS.get(verdict, '?')} {verdict}", class_=f"badge v-{kind}")


def stated(comparison: Tree) -> Markup:
    """Whether the plan expected it, with the reasons."""
    if not comparison:
        return el("p", "Not compared with its plan.", class_="muted")
    word = "as expected" if comparison["met"] else "NOT as expected"
    reasons = [str(one).removeprefix("as expected: ") for one in comparison["reasons"]]
    return el("p", el("b", word), ": " if reasons else "", "; ".join(reasons), class_="stated")


def findings_section(mode: StoredMode) -> Markup | None:
    """Every finding with its proof, the first open; None without findings."""
    found = mode.findings
    if not found:
        return None
    names = mode.tables.ledgers
    shown = [_finding(one, names, opened=number == 0) for number, one in enumerate(found[:MOST_FINDINGS])]
    more = len(found) - MOST_FINDINGS
    rest = el("p", f"and {more:,} more in verdict.json", class_="muted") if more > 0 else None
    return el("section", el("h3", "Findings"), shown, rest)


def _finding(one: Finding, names: Mapping[int, str], *, opened: bool) -> Markup:
    title = el("summary", el("b", one.property), " ", finding_line(one, names))
    proof = el("ul", [el("li", rounded(fact)) for fact in one.proof])
    return el("details", title, proof, open=opened, class_="finding")


def properties_section(judgements: Mapping[str, Tree]) -> Markup:
    """Each property: its verdict, what was counted, what it needed when it is unknown, notes."""
    order = [Verdict.ANOMALY, Verdict.UNKNOWN, Verdict.VALID, Verdict.NOT_JUDGED]
    ranked = sorted(judgements.items(), key=lambda item: order.index(Verdict(item[1]["verdict"])))
    rows = [
        el("tr", el("th", name, scope="row"), el("td", badge(one["verdict"])), el("td", _told(one)))
        for name, one in ranked
    ]
    head = el("tr", el("th", "property"), el("th", "verdict"), el("th", "what it rests on"))
    return el("div", el("table", el("thead", head), el("tbody", rows)), class_="wide")


def _told(judgement: Tree) -> Markup:
    counts = [
        f"{name.replace('_', ' ')} {number:,}" for name, number in judgement["counts"].items() if number
    ]
    seen = [f"{name.replace('_', ' ')} {number:,}" for name, number in judgement["seen"].items()]
    needed = judgement["verdict"] == Verdict.UNKNOWN.value
    notes = list(judgement["notes"])
    return join(
        el("p", "found: " + ", ".join(counts)) if counts else None,
        el("p", "needed: " + str(judgement["needed"])) if needed else None,
        el("p", "seen: " + ", ".join(seen), class_="muted") if seen else None,
        [el("p", rounded(note), class_="note") for note in notes[:MOST_NOTES]],
        el("p", f"and {len(notes) - MOST_NOTES} more notes", class_="muted")
        if len(notes) > MOST_NOTES
        else None,
    )


def decisions_section(decisions: Sequence[Tree]) -> Markup | None:
    """What clients decided beside what the document demands; None without decisions."""
    if not decisions:
        return None
    heads = ("case", "document", "decision", "difference", "as expected")
    rows = [
        [
            *(str(one[name]) for name in heads[:4]),
            f"{'yes' if one['met'] else 'NO'} ({one['shown']} of {one['of']})",
        ]
        for one in decisions
    ]
    return el("section", el("h3", "Decisions"), table(heads, rows))


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markup:
    """A plain table; None is a dash."""
    body = [el("tr", [el("td", "–" if cell is None else str(cell)) for cell in row]) for row in rows]
    head = el("tr", [el("th", name) for name in heads])
    return el("div", el("table", el("thead", head), el("tbody", body)), class_="wide")


def settings_section(run: Tree) -> Markup:
    """What a reader needs to repeat or weigh it: no host, no path, no user."""
    versions = sorted(set(run["versions"].values()))
    facts = [
        ("BookKeeper", ", ".join(versions)),
        ("seed", run["seed"]),
        ("bookies", len(run["bookies"])),
        ("clients", ", ".join(run["clients"])),
        ("commit of Fencepost", f"{run['commit'][:12]}{' with changes' if run['dirty'] else ''}"),
    ]
    conf = [
        (f"{whose} {key}", value)
        for whose in ("bookie", "client")
        for key, value in sorted(run["conf"].get(whose, {}).items())
    ]
    return join(
        el("dl", [join(el("dt", name), el("dd", str(value))) for name, value in facts]),
        el("details", el("summary", f"{len(conf)} settings"), table(("setting", "value"), conf)),
    )
