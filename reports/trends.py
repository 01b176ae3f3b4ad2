"""Trends as text, JSON and CSV: small rows, put together with pandas by release, scenario and mode.

Only counts and sums here; which runs there are and what they say is :mod:`pipeline.trends`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from pipeline.trends import LOSSES, LeftOut, Trend
from protocol.wording import counted

_SHOWN = 3
"""Paths that are named for one reason; JSON has them all."""
_BY = ["release", "scenario", "mode"]
_LOST = [f"lost_{name}" for name in LOSSES]
_HEADINGS = (
    "release", "scenario", "mode", "runs", "verdicts", "acknowledged", "gone",
    "available", "stall s", "adds/s", "p99 ms",
)  # fmt: skip
_SUMMED = ["acknowledged", *_LOST, "corrupt", "vanished", "unavailable", "acked", "waiting_s", "served_s"]


def frame(trends: Sequence[Trend]) -> pd.DataFrame:
    """One row for each mode of each run, with a separate column for the losses of each class."""
    table = pd.json_normalize([asdict(one) for one in trends], sep="_")
    # Not a number where no client waited: no median counts it.
    table["adds_per_s"] = (table["acked"] / table["waiting_s"].where(table["waiting_s"] > 0)).round(1)
    return table


def groups(trends: Sequence[Trend]) -> list[dict[str, Any]]:
    """The runs of one release, scenario and mode together: sums, medians, the worst stall."""
    if not trends:
        return []
    table = frame(trends)
    grouped = table.groupby(_BY, sort=True)
    sums = grouped[_SUMMED].sum()
    sums["runs"] = grouped.size()
    sums["damaged"] = grouped["damaged"].sum()
    sums["stall_s"] = grouped["stall_s"].max()
    sums["adds_per_s"] = grouped["adds_per_s"].median().round(1)
    for name in ("p50_ms", "p99_ms"):
        sums[name] = table[table["acked"] > 0].groupby(_BY)[name].median().round(3)
    sums["available"] = (sums["served_s"] / sums["waiting_s"].where(sums["waiting_s"] > 0)).round(4)
    for verdict in ("valid", "anomaly", "unknown"):
        sums[verdict] = (table["verdict"] == verdict).groupby([table[name] for name in _BY]).sum()
    text = sums.reset_index().to_json(orient="records")
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


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


def _by_reason(what: str, left_out: Sequence[tuple[str, str]]) -> Iterator[str]:
    """A line for each reason: how many runs it concerns, and which come first."""
    reasons: dict[str, list[str]] = {}
    for path, why in left_out:
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
    return frame(trends).to_csv(index=False) if trends else ""


def _cells(group: dict[str, Any]) -> tuple[str, ...]:
    verdicts = [f"{group[name]} {name}" for name in ("valid", "anomaly", "unknown") if group[name]]
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
