"""Chrome trace events: each has the form that Perfetto reads, and nothing in a lane overlaps."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Annotated, Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from evidence.codes import NEVER, Kind, Outcome
from evidence.exchange.trace import Event, Tracing, trace_lines

BEGAN_NS, END_NS = 1_000, 100_000
CLIENTS = {101: "writer", 250: "observer"}
TRACING = Tracing(BEGAN_NS, END_NS, CLIENTS)


class Strict(BaseModel):
    """The *Trace Event Format*'s fields of every event."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: str = Field(min_length=1)
    pid: int = Field(ge=0)
    tid: int = Field(ge=0)
    args: dict[str, Any]


class Complete(Strict):
    ph: Literal["X"]
    cat: str
    ts: float
    dur: float = Field(ge=0)


class Instant(Strict):
    ph: Literal["i"]
    s: Literal["g", "p", "t"]
    cat: str
    ts: float


class Metadata(Strict):
    ph: Literal["M"]
    name: Literal["process_name", "thread_name"]


class Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    displayTimeUnit: Literal["ms", "ns"]  # noqa: N815  # the format's name
    traceEvents: list[Annotated[Complete | Instant | Metadata, Field(discriminator="ph")]]  # noqa: N815


def operation(invoked_ns: int, completed_ns: int | None, **columns: Any) -> dict[str, Any]:
    usual = {"ledger": 4, "entry": 7, "client": 101, "kind": Kind.ADD, "flags": 0, "error": 0}
    ended = {"outcome": Outcome.OK, "completed_ns": completed_ns}
    pending = {"outcome": Outcome.PENDING, "completed_ns": NEVER}
    return {**usual, "invoked_ns": invoked_ns, **(pending if completed_ns is None else ended), **columns}


def fault(number: int, injected_ns: int, healed_ns: int = NEVER) -> dict[str, Any]:
    return {
        "fault": number,
        "kind": "kill",
        "target": "b1",
        "params": '{"target": "b1"}',
        "proof": "",
        "injected_ns": injected_ns,
        "confirmed_ns": injected_ns,
        "healed_ns": healed_ns,
    }


def happened(event: str, at_ns: int, boot: int = 1) -> dict[str, Any]:
    times = {"earliest_ns": at_ns, "latest_ns": at_ns}
    return {"server": "b1", "boot": boot, "event": event, "detail": '{"pid": 3}', **times}


def spans(events: list[Event], category: str) -> list[Event]:
    return [event for event in events if event["ph"] == "X" and event["cat"] == category]


OPERATIONS = [
    operation(2_000, 5_000),
    operation(3_000, 4_000, kind=Kind.OPEN, ledger=-1, entry=-1, flags=2, error=-13),
    operation(4_500, None, client=250),
    operation(5_000, 6_000, kind=Kind.ENTRY),
]
SERVERS = [happened("started", 1_500), happened("exit", 9_000), happened("started", 10_000, boot=2)]


def test_the_document_has_the_form_of_trace_events() -> None:
    events = TRACING.events(OPERATIONS, [fault(1, 8_000, 9_500), fault(2, 20_000)], SERVERS)
    document = json.loads("\n".join(trace_lines(events)))
    TypeAdapter(Document).validate_python(document)


def test_each_client_has_lanes_for_what_is_under_way_at_once_and_no_row_of_a_read_entry() -> None:
    events = list(TRACING.events(OPERATIONS, [], []))
    shown = spans(events, "operation")
    assert [event["name"] for event in shown] == ["add 4:7", "open", "add 4:7"]
    assert [event["tid"] for event in shown] == [0, 1, 0]
    assert shown[0]["pid"] != shown[2]["pid"]
    assert shown[1]["args"] == {"ledger": -1, "entry": -1, "outcome": "ok", "error": -13, "flags": "recovery"}


def test_times_are_microseconds_of_the_run_and_what_never_ended_lasts_to_its_end() -> None:
    first, _, last = spans(list(TRACING.events(OPERATIONS, [], [])), "operation")
    assert (first["ts"], first["dur"]) == (1.0, 3.0)
    assert last["ts"] + last["dur"] == (END_NS - BEGAN_NS) / 1000
    assert last["args"]["outcome"] == "pending"


def test_a_boot_lasts_to_its_exit_and_a_fault_to_its_healing() -> None:
    events = list(TRACING.events([], [fault(1, 8_000, 9_500), fault(2, 20_000), fault(3, NEVER)], SERVERS))
    assert [(one["name"], one["ts"], one["dur"]) for one in spans(events, "boot")] == [
        ("boot 1", 0.5, 7.5),
        ("boot 2", 9.0, 90.0),
    ]
    assert [(one["dur"], one["args"]["healed"]) for one in spans(events, "fault")] == [
        (1.5, True),
        (80.0, False),
    ]
    assert sum(event["ph"] == "i" for event in events) == 3


@given(st.lists(st.tuples(st.integers(1_000, 50_000), st.integers(0, 9_000))))
def test_in_a_lane_nothing_overlaps_and_there_are_no_more_lanes_than_needed(
    times: list[tuple[int, int]],
) -> None:
    rows = [operation(begin, begin + lasts) for begin, lasts in sorted(times)]
    shown = spans(list(TRACING.events(rows, [], [])), "operation")
    lanes: dict[int, list[tuple[float, float]]] = {}
    for event in shown:
        lanes.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for lane in lanes.values():
        assert all(one[1] <= other[0] + 1e-6 for one, other in pairwise(lane))
    taken = [(begin, begin + max(lasts, 1)) for begin, lasts in times]
    busiest = max((sum(begin <= at < end for begin, end in taken) for at, _ in taken), default=0)
    assert len(lanes) <= busiest
