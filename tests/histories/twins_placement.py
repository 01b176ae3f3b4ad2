"""``placement`` once more, in obvious lines over lists; shares nothing with the checker but the facts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.histories.twins import TwinResult


def placement(history: list[Any], run: Any) -> TwinResult:
    """Of a fragment its first entry."""
    if not run.racks:
        return Counter(), "unknown" if "placement" in run.required else "not judged"
    if run.damage:
        return Counter(), "unknown"
    rows = [row for table, row in history if table == "ledgers"]
    found, tried, doubts = set(), 0, 0
    for ledger in {row["ledger"] for row in rows}:
        mine = [row for row in rows if row["ledger"] == ledger]
        last = max(mine, key=lambda row: row["zxid"])
        if last["state"] == 0:
            continue
        for fragment in last["fragments"]:
            names = [name.split(":")[0] for name in fragment["bookies"]]
            if any(name not in run.racks for name in names) or len(names) != last["ensemble"]:
                doubts += 1
                continue
            tried += 1
            for entry in range(last["ensemble"]):
                write_set = [names[(entry + at) % len(names)] for at in range(last["write_quorum"])]
                wanted = min(run.min_racks, last["write_quorum"])
                if len({run.racks[name] for name in write_set}) < wanted:
                    found.add(("too_few_racks", ledger, fragment["first_entry"]))
    if found:
        return Counter(found), "anomaly"
    return Counter(), "valid" if tried and not doubts else "unknown"
