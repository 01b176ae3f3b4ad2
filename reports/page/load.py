"""What clients did over time: rates, latencies, and the operations that are drawn as points.

A million operations become some hundred kilobytes: counts and quantiles for each of at most ``BINS``
intervals of time, and points for operations that are few, slow or not ok. Times are seconds since the
run began, latencies are milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evidence.codes import NEVER, Kind, Outcome

BINS = 1500
MOST_POINTS = 4000
_NARROWEST_S = 0.001
COLUMNS = ("kind", "client", "outcome", "invoked_ns", "completed_ns")

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]
Total: TypeAlias = tuple[str, int, float | None, float | None, float | None, float | None]
"""Name, number, per second; median, 99th percentile and maximum in milliseconds."""


class LoadTree(TypedDict, total=False):
    """Lists for the page, a value for each interval of ``width`` seconds from ``first`` on."""

    first: float
    width: float
    added: list[int]
    failed: list[int]
    read: list[int]
    add_ms: Mapping[str, list[float | None]]
    read_ms: Mapping[str, list[float | None]]
    points: list[list[float | int | None]]
    totals: list[Total]


def load_over_time(operations: pa.Table, began_ns: int, observer: int) -> LoadTree:
    """Empty if no client except the observer added or read anything.

    ``operations`` has at least ``COLUMNS``.
    """
    columns = {name: np.asarray(operations.column(name)) for name in COLUMNS}
    work = (columns["client"] != observer) & np.isin(columns["kind"], (Kind.ADD, Kind.READ))
    columns = {name: column[work] for name, column in columns.items()}
    if not work.any():
        return {}
    ended = columns["completed_ns"] != NEVER
    end_ns = np.where(ended, columns["completed_ns"], columns["invoked_ns"])
    at_s = (end_ns - began_ns) / 1e9
    took_ms = np.where(ended, (end_ns - columns["invoked_ns"]) / 1e6, np.nan)
    first_s = float(((columns["invoked_ns"] - began_ns) / 1e9).min())
    width_s = max((float(at_s.max()) - first_s) / BINS, _NARROWEST_S)
    bins = np.minimum(((at_s - first_s) / width_s).astype(np.int64), BINS - 1)
    used = int(bins.max()) + 1
    is_add, is_ok = columns["kind"] == Kind.ADD, columns["outcome"] == Outcome.OK
    adds, reads = is_add & is_ok, ~is_add & is_ok
    return {
        "first": round(first_s, 6),
        "width": width_s,
        "added": _counts(bins[adds], used),
        "failed": _counts(bins[~is_ok], used),
        "read": _counts(bins[reads], used),
        "add_ms": _quantiles(bins[adds], took_ms[adds], used),
        "read_ms": _quantiles(bins[reads], took_ms[reads], used),
        "points": _points(at_s, took_ms, is_add, is_ok),
        "totals": _totals(at_s, took_ms, {"adds": adds, "reads": reads, "not ok": ~is_ok}),
    }


def _counts(bins: Places, used: int) -> list[int]:
    counted: list[int] = np.bincount(bins, minlength=used).tolist()
    return counted


def _quantiles(bins: Places, took_ms: Numbers, used: int) -> Mapping[str, list[float | None]]:
    """Median, 99th percentile and maximum of each bin; None for an empty bin."""
    order = np.lexsort((took_ms, bins))
    bins, took_ms = bins[order], took_ms[order]
    counts = np.bincount(bins, minlength=used)
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    found: dict[str, list[float | None]] = {}
    for name, share in (("p50", 0.5), ("p99", 0.99), ("most", 1.0)):
        places = starts + np.maximum(np.ceil(counts * share).astype(np.int64) - 1, 0)
        values = took_ms[np.minimum(places, max(len(took_ms) - 1, 0))] if len(took_ms) else np.zeros(used)
        found[name] = [_short(value) if count else None for value, count in zip(values, counts, strict=True)]
    return found


def _points(at_s: Numbers, took_ms: Numbers, is_add: Mask, is_ok: Mask) -> list[list[float | int | None]]:
    """``[at, took, 0 add or 1 read, 0 ok or 1 not]`` of operations: not ok, slowest, a sample of the rest."""
    chosen = np.zeros(len(at_s), dtype=bool)
    bad = np.flatnonzero(~is_ok)
    chosen[bad[_evenly(len(bad), MOST_POINTS // 2)]] = True
    slowest = np.argsort(np.nan_to_num(took_ms))[::-1][: MOST_POINTS // 4]
    chosen[slowest] = True
    rest = np.flatnonzero(~chosen)
    chosen[rest[_evenly(len(rest), MOST_POINTS - int(chosen.sum()))]] = True
    order = np.flatnonzero(chosen)[np.argsort(at_s[chosen], kind="stable")]
    return [
        [round(float(at_s[one]), 6), _short(took_ms[one]), int(not is_add[one]), int(not is_ok[one])]
        for one in order
    ]


def _evenly(count: int, most: int) -> Places:
    """At most ``most`` of ``count`` positions, evenly spread."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, max(most, 0)).astype(np.int64))


def _totals(at_s: Numbers, took_ms: Numbers, groups: Mapping[str, Mask]) -> list[Total]:
    """A row for each group that has any."""
    rows: list[Total] = []
    for name, group in groups.items():
        if not group.any():
            continue
        span_s = max(float(np.ptp(at_s[group])), _NARROWEST_S)
        took = took_ms[group & ~np.isnan(took_ms)]
        p50, p99, most = (_short(np.quantile(took, share)) if len(took) else None for share in (0.5, 0.99, 1))
        number = int(group.sum())
        rows.append((name, number, round(number / span_s, 1) if number > 1 else None, p50, p99, most))
    return rows


def _short(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{float(value):.4g}")
