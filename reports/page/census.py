"""The last census: of how many entries each bookie said what, a row for each ledger."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from evidence.codes import Holding
from reports.page.stored import StoredMode

MOST_LEDGERS = 60
_ORDER = (Holding.PRESENT, Holding.ABSENT, Holding.DAMAGED, Holding.UNKNOWN)

Counts = Mapping[tuple[int, int], Mapping[int, int]]


def census(mode: StoredMode) -> dict[str, object]:
    """What ``templates/census.html`` shows; no rows where no bookie was asked."""
    table = mode.table("census", columns=["ledger", "pass_number", "bookie", "holding"])
    if not table.num_rows:
        return {"rows": []}
    last = pc.max(table["pass_number"]).as_py()
    counts = _counted(table.filter(pc.equal(table["pass_number"], last)))
    bookies = {number: name for name, number in mode.run["bookies"].items()}
    asked = [number for number in bookies if any(bookie == number for _, bookie in counts)]
    ledgers = sorted({ledger for ledger, _ in counts}, key=lambda one: (_rank(counts, one), one))
    return {
        "words": [one.name.lower() for one in _ORDER],
        "last": last,
        "bookies": [bookies[number] for number in asked],
        "rows": [
            (mode.ledger_name(ledger), [_cell(counts.get((ledger, number), {})) for number in asked])
            for ledger in ledgers[:MOST_LEDGERS]
        ],
        "more": len(ledgers) - MOST_LEDGERS,
    }


def _counted(table: pa.Table) -> dict[tuple[int, int], dict[int, int]]:
    counts: dict[tuple[int, int], dict[int, int]] = {}
    grouped = table.group_by(["ledger", "bookie", "holding"]).aggregate([([], "count_all")])
    for row in grouped.to_pylist():
        counts.setdefault((row["ledger"], row["bookie"]), {})[row["holding"]] = row["count_all"]
    return counts


def _rank(counts: Counts, ledger: int) -> int:
    """Ledgers of which less is present come first."""
    held_by_bookie = [held for (one, _), held in counts.items() if one == ledger]
    total = sum(sum(held.values()) for held in held_by_bookie) or 1
    present = sum(held.get(Holding.PRESENT, 0) for held in held_by_bookie)
    return round(1000 * present / total)


def _cell(held: Mapping[int, int]) -> list[tuple[str, int, float]]:
    """Each answer with its number of entries and its share in percent."""
    total = sum(held.values())
    return [(one.name.lower(), held[one], 100 * held[one] / total) for one in _ORDER if held.get(one)]
