"""Trends as text, JSON and CSV: small rows, put together by release, scenario and mode.

Only counts and sums here; which runs there are and what they say is :mod:`pipeline.trends`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from checkers.facts.wording import counted
from pipeline.trends import LOSSES, LeftOut, Trend

_SHOWN = 3
"""Paths that are named for one reason; JSON has them all."""
_BY = ["release", "scenario", "mode"]
_LOST = [f"lost_{name}" for name in LOSSES]
_VERDICTS = ("valid", "anomaly", "unknown")
_HEADINGS = (
    *("release", "scenario", "mode", "runs", "verdicts", "acknowledged", "gone"),
    *("available", "stall s", "adds/s", "p99 ms"),
)
_SUMMED = ["acknowledged", *_LOST, "corrupt", "vanished", "unavailable", "acked", "waiting_s", "served_s"]


def groups(trends: Sequence[Trend]) -> list[dict[str, Any]]:
    """The runs of one release, scenario and mode together: sums, medians, the worst stall."""
    of: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in _rows(trends):
        of.setdefault(tuple(row[name] for name in _BY), []).append(row)
    return [_group(rows) for _, rows in sorted(of.items())]


def _rows(trends: Sequence[Trend]) -> list[dict[str, Any]]:
    """One row for each mode of each run, with a separate column for the losses of each class."""
    rows = []
    for one in trends:
        row = asdict(one)
        lost = row.pop("lost")
        rows.append({**row, **{f"lost_{name}": lost[name] for name in LOSSES}, "adds_per_s": _rate(one)})
    return rows


def _group(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    total = {name: sum(row[name] for row in rows) for name in (*_SUMMED, "damaged")}
    acked = [row for row in rows if row["acked"]]
    waiting_s = total["waiting_s"]
    return {
        **{name: rows[0][name] for name in _BY},
        **total,
        "runs": len(rows),
        "stall_s": max(row["stall_s"] for row in rows),
        "adds_per_s": _median([row["adds_per_s"] for row in rows if row["waiting_s"]], 1),
        "p50_ms": _median([row["p50_ms"] for row in acked], 3),
        "p99_ms": _median([row["p99_ms"] for row in acked], 3),
        "available": round(total["served_s"] / waiting_s, 4) if waiting_s else None,
        **{name: sum(row["verdict"] == name for row in rows) for name in _VERDICTS},
    }


def _median(values: Sequence[float], digits: int) -> float | None:
    return round(median(values), digits) if values else None


def trend_lines(trends: Sequence[Trend], left_out: Sequence[LeftOut]) -> Iterator[str]:
    """A table in Markdown, what was left out and why, and what the columns mean."""
    if trends:
        yield f"| {' | '.join(_HEADINGS)} |"
        yield "|---|---|---|---:|---|---:|---|---:|---:|---:|---:|"
        for group in groups(trends):
            yield f"| {' | '.join(_cells(group))} |"
        yield ""
        yield (
            "available: share of the seconds in which a client waited for an add and one was acknowledged; "
            "stall: the longest stretch of them without; adds/s and p99: medians over the runs"
        )
    named = "its verdict names what; what is left of it is counted"
    damaged = [(one.path, named) for one in trends if one.damaged]
    without = [(one.path, one.no_load) for one in trends if one.no_load]
    out = [(one.path, one.why) for one in left_out]
    yield from _by_reason("damaged", damaged)
    yield from _by_reason("only its verdict is counted", without)
    yield from _by_reason("left out", out)
    if without or out:
        yield "`fencepost check RUN` judges a run again and makes its tables"
    runs, kinds = counted(len(trends), "mode run"), counted(len(groups(trends)), "group")
    yield (
        f"{runs} in {kinds}: {len(damaged)} damaged, {len(without)} without operations; {len(out)} left out"
    )


def _by_reason(what: str, told: Sequence[tuple[str, str]]) -> Iterator[str]:
    """A line for each reason: how many runs it concerns, and which come first."""
    reasons: dict[str, list[str]] = {}
    for path, why in told:
        reasons.setdefault(why, []).append(path)
    for why, paths in reasons.items():
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        yield f"{what}: {why}: {', '.join(paths[:_SHOWN])}{more}"


def json_text(trends: Sequence[Trend], left_out: Sequence[LeftOut]) -> str:
    """Groups, runs and what was left out, as one document."""
    tree = {
        "groups": groups(trends),
        "runs": [asdict(one) for one in trends],
        "left_out": [asdict(one) for one in left_out],
    }
    return json.dumps(tree, indent=1, sort_keys=True) + "\n"


def csv_text(trends: Sequence[Trend]) -> str:
    """One line for each mode of each run, with a heading; the paths sort by time within a scenario."""
    text, rows = io.StringIO(), _rows(trends)
    if rows:
        table = csv.DictWriter(text, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return text.getvalue()


def _rate(one: Trend) -> float | None:
    """Acknowledged adds per second of waiting; None where no client waited, which no median counts."""
    return round(one.acked / one.waiting_s, 1) if one.waiting_s else None


def _cells(group: dict[str, Any]) -> tuple[str, ...]:
    verdicts = [f"{group[name]} {name}" for name in _VERDICTS if group[name]]
    return (
        group["release"],
        f"`{group['scenario']}`",
        group["mode"],
        str(group["runs"]),
        ", ".join(verdicts),
        f"{group['acknowledged']:,}",
        _gone(group),
        "-" if group["available"] is None else f"{100 * group['available']:.1f} %",
        str(group["stall_s"]) if group["waiting_s"] else "-",
        "-" if group["adds_per_s"] is None else f"{group['adds_per_s']:,.0f}",
        "-" if group["p99_ms"] is None else f"{group['p99_ms']:.1f}",
    )


def _gone(group: dict[str, Any]) -> str:
    """``30 unexplained, 2 corrupt``, or 0."""
    lost = [(group[f"lost_{name}"], name.replace("_", " ")) for name in LOSSES]
    others = [(group[name], name) for name in ("corrupt", "vanished", "unavailable")]
    return ", ".join(f"{number:,} {what}" for number, what in (*lost, *others) if number) or "0"
