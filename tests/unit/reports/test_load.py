"""A million operations become a small tree that is still correct."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from evidence.codes import NEVER, Kind, Outcome
from reports.page.load import BINS, MOST_POINTS, load_over_time

OBSERVER = 250
Operation = tuple[int, int, int, int, int | None]


def table(operations: list[Operation]) -> pa.Table:
    """Rows of (kind, client, outcome, invoked, how long or None)."""
    columns = list(zip(*operations, strict=True)) or [[]] * 5
    ended = [
        NEVER if took is None else begun + took for begun, took in zip(columns[3], columns[4], strict=True)
    ]
    arrays = [pa.array(list(column), pa.int64()) for column in (*columns[:4], ended)]
    return pa.table(
        dict(zip(("kind", "client", "outcome", "invoked_ns", "completed_ns"), arrays, strict=True))
    )


def add(invoked_ms: float, took_ms: float | None, outcome: int = Outcome.OK, client: int = 1) -> Operation:
    took = None if took_ms is None else int(took_ms * 1e6)
    return Kind.ADD, client, outcome, int(invoked_ms * 1e6), took


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from([Kind.ADD, Kind.READ, Kind.ENTRY, Kind.CENSUS]),
        st.sampled_from([1, OBSERVER]),
        st.sampled_from(list(Outcome)),
        st.integers(0, 10**11),
        st.integers(0, 10**10) | st.none(),
    ),
    min_size=1,
    max_size=60,
)


@given(OPERATIONS)
def test_every_operation_of_a_client_is_counted_once(operations: list[Operation]) -> None:
    load = load_over_time(table(operations), 0, OBSERVER)
    ours = [one for one in operations if one[0] in (Kind.ADD, Kind.READ) and one[1] != OBSERVER]
    if not ours:
        assert load == {}
        return
    assert sum(map(sum, (load["added"], load["read"], load["failed"]))) == len(ours)
    assert sum(load["failed"]) == sum(one[2] != Outcome.OK for one in ours)
    assert len(load["added"]) <= BINS
    assert len(load["points"]) == len(ours)
    json.dumps(load, allow_nan=False)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=200))
def test_quantiles_of_one_moment_are_those_of_its_latencies(latencies: list[int]) -> None:
    adds = [(Kind.ADD, 1, Outcome.OK, 5 * 10**9 - took, took) for took in latencies]
    load = load_over_time(table(adds), 0, OBSERVER)
    results = {name: [one for one in values if one is not None] for name, values in load["add_ms"].items()}
    ordered = sorted(latencies)
    assert len(results["most"]) == 1
    for name, share in (("p50", 0.5), ("p99", 0.99), ("most", 1.0)):
        place = max(int(np.ceil(len(ordered) * share)) - 1, 0)
        assert results[name][0] == float(f"{ordered[place] / 1e6:.4g}")


def test_an_add_without_an_end_is_shown_where_it_was_invoked_and_has_no_latency() -> None:
    load = load_over_time(table([add(0, 1), add(10, None, Outcome.PENDING)]), 0, OBSERVER)
    assert load["failed"][-1] == 1
    assert load["points"][-1] == [0.01, None, 0, 1]


def test_a_million_operations_stay_small_and_keep_what_went_wrong() -> None:
    rows = 1_000_000
    number = np.arange(rows, dtype=np.int64)
    outcome = np.where(number == 777_777, Outcome.UNKNOWN, Outcome.OK)
    columns = {
        "kind": np.full(rows, Kind.ADD),
        "client": np.full(rows, 1),
        "outcome": outcome,
        "invoked_ns": number * 30_000,
        "completed_ns": number * 30_000 + 1_000_000,
    }
    load = load_over_time(pa.table(columns), 0, OBSERVER)
    assert len(json.dumps(load)) < 300_000
    assert len(load["points"]) <= MOST_POINTS
    assert sum(bad for *_, bad in load["points"]) == 1
    assert sum(load["added"]) == rows - 1
