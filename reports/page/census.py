"""The last census: of how many entries each bookie said what, a row for each ledger."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from evidence.codes import Holding
from reports.markup import Markup, el, join
from reports.page.stored import StoredMode

MOST_LEDGERS = 60
_ORDER = (Holding.PRESENT, Holding.ABSENT, Holding.DAMAGED, Holding.UNKNOWN)

Counts = Mapping[tuple[int, int], Mapping[int, int]]


def census_section(mode: StoredMode) -> Markup:
    """The table, or a sentence where no bookie was asked."""
    table = mode.tables.table("census", columns=["ledger", "pass_number", "bookie", "holding"])
    if not table.num_rows:
        return el("p", "No census: no bookie was asked what it holds.", class_="muted")
    last = pc.max(table["pass_number"]).as_py()
    counts = _counted(table.filter(pc.equal(table["pass_number"], last)))
    bookies = {number: name for name, number in mode.run["bookies"].items()}
    shown = [number for number in bookies if any(bookie == number for _, bookie in counts)]
    ledgers = sorted({ledger for ledger, _ in counts}, key=lambda one: (_rank(counts, one), one))
    rows = [_row(ledger, shown, counts, mode) for ledger in ledgers[:MOST_LEDGERS]]
    head = el("tr", el("th", "ledger"), [el("th", bookies[number]) for number in shown])
    more = len(ledgers) - MOST_LEDGERS
    return join(
        el("p", _legend(), " · pass ", last, ", what each bookie said when asked directly", class_="muted"),
        el("div", el("table", el("thead", head), el("tbody", rows), class_="census"), class_="wide"),
        el("p", f"and {more:,} more ledgers, all alike or better", class_="muted") if more > 0 else None,
    )


def _counted(table: pa.Table) -> dict[tuple[int, int], dict[int, int]]:
    counts: dict[tuple[int, int], dict[int, int]] = {}
    grouped = table.group_by(["ledger", "bookie", "holding"]).aggregate([([], "count_all")])
    for row in grouped.to_pylist():
        counts.setdefault((row["ledger"], row["bookie"]), {})[row["holding"]] = row["count_all"]
    return counts


def _rank(counts: Counts, ledger: int) -> int:
    """Ledgers of which less is present come first."""
    said = [held for (one, _), held in counts.items() if one == ledger]
    total = sum(sum(held.values()) for held in said) or 1
    present = sum(held.get(Holding.PRESENT, 0) for held in said)
    return round(1000 * present / total)


def _row(ledger: int, bookies: list[int], counts: Counts, mode: StoredMode) -> Markup:
    cells = [el("td", _cell(counts.get((ledger, number), {}))) for number in bookies]
    return el("tr", el("th", mode.ledger_name(ledger), scope="row"), cells)


def _cell(held: Mapping[int, int]) -> Markup | str:
    total = sum(held.values())
    if not total:
        return "–"
    parts = [(one, held[one]) for one in _ORDER if held.get(one)]
    bar = [
        el("i", class_=f"held-{one.name.lower()}", style=f"width:{100 * number / total:.1f}%")
        for one, number in parts
    ]
    text = ", ".join(f"{number:,} {one.name.lower()}" for one, number in parts)
    return join(el("span", bar, class_="bar", aria_hidden="true"), el("span", text))


def _legend() -> Markup:
    return join(
        [
            el("span", el("i", class_=f"held-{one.name.lower()}"), one.name.lower(), class_="key")
            for one in _ORDER
        ]
    )
