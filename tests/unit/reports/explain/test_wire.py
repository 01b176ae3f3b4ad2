"""The line about one frame: the request, the bookie's answer, and a fault's effect on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evidence.codes import NEVER, Direction, FrameFlag, Message, Status
from reports.explain.moments import Moment, format_moments
from reports.explain.rows import Names
from reports.explain.wire import frame_moments

RUN = {"clients": {"writer": 101, "observer": 250}, "bookies": {"b1": 1, "b2": 2}}
SERVERS = [{"server": "b1", "boot": 1}, {"server": "b1", "boot": 2}, {"server": "b2", "boot": 1}]
FAULTS = [
    {
        "fault": 5,
        "kind": "drop",
        "target": "writer-b1",
        "params": "{}",
        "proof": json.dumps({"healed": {"rule": "drop-1", "number": 4}}),
    },
    {
        "fault": 6,
        "kind": "hold",
        "target": "writer-b2",
        "params": json.dumps({"as": "late"}),
        "proof": json.dumps({"injected": {"rule": "late", "number": [7, 8]}, "healed": {}}),
    },
]
NAMES = Names.of(RUN, SERVERS, FAULTS)


def request(**fields: Any) -> dict[str, Any]:
    between = {"seq": 1, "source": 101, "bookie": 1, "boot": 1, "way": Direction.REQUEST, "entry": 7}
    passed_on = {"lac": 6, "flags": 0, "rule": 0, "received_ns": 1000, "forwarded_ns": 1010}
    unanswered = {"status": Status.NONE, "delivered": Status.NONE}
    return {**between, "kind": Message.ADD, **passed_on, **unanswered, **fields}


def answer(**fields: Any) -> dict[str, Any]:
    usual = {"way": Direction.ANSWER, "status": Status.EOK, "delivered": Status.EOK, "lac": -1}
    return request(**(usual | fields))


def line(row: dict[str, Any], entry: int | None = 7) -> str:
    (moment,) = frame_moments([row], NAMES, entry)
    return f"{moment.subject}: {moment.what}"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (request(), "writer -> b1: add (LAC 6)"),
        (answer(), "b1 boot 1 -> writer: add: EOK"),
        (answer(bookie=2, status=504, delivered=504), "b2 -> writer: add: EFENCED"),
        (request(entry=3), "writer -> b1: add of entry 3 (LAC 6)"),
        (request(kind=Message.RECOVERY_READ), "writer -> b1: recovery read"),
        (
            request(kind=Message.FENCING_LAC_READ, entry=-1, source=1, bookie=2),
            "b1 -> b2: fencing read of the LAC",
        ),
        (
            answer(kind=Message.FENCING_LAC_READ, entry=-1, lac=41),
            "b1 boot 1 -> writer: fencing read of the LAC: EOK, LAC 41",
        ),
        (
            request(flags=FrameFlag.DROPPED, rule=4, forwarded_ns=NEVER),
            "writer -> b1: add (LAC 6), dropped by fault 5 (drop writer-b1)",
        ),
        (
            answer(flags=FrameFlag.HELD, rule=8, forwarded_ns=2_000_001_000),
            "b1 boot 1 -> writer: add: EOK, held by fault 6 (hold writer-b2, late), passed on 2.0000 s later",
        ),
        (
            answer(flags=FrameFlag.HELD, rule=7, forwarded_ns=NEVER),
            "b1 boot 1 -> writer: add: EOK, kept back by fault 6 (hold writer-b2, late) and never passed on",
        ),
        (
            request(flags=FrameFlag.DUPLICATED, rule=99),
            "writer -> b1: add (LAC 6), passed on twice by rule 99",
        ),
        (request(forwarded_ns=NEVER), "writer -> b1: add (LAC 6), never passed on: the connection ended"),
        (
            answer(flags=FrameFlag.FORGED, rule=4, delivered=403),
            "b1 boot 1 -> writer: add: EOK, but ENOENTRY is delivered, forged by fault 5 (drop writer-b1)",
        ),
        (
            answer(flags=FrameFlag.FORGED, rule=4, status=Status.NONE, delivered=504, boot=0),
            "b1 boot unknown -> writer: add: EFENCED, forged by fault 5 (drop writer-b1): "
            "the bookie was never asked",
        ),
        (
            request(flags=FrameFlag.FORGED | FrameFlag.DROPPED, rule=4, forwarded_ns=NEVER),
            "writer -> b1: add (LAC 6): swallowed, fault 5 (drop writer-b1) answers in the bookie's place",
        ),
        (
            answer(flags=FrameFlag.AMBIGUOUS, status=100_009, delivered=100_009),
            "b1 boot 1 -> writer: add: code 9 of V2 (V2: to one of several requests in flight)",
        ),
        (
            answer(flags=FrameFlag.UNCORRELATED, status=999, delivered=999),
            "b1 boot 1 -> writer: add: status 999 (to no request that was seen)",
        ),
        (request(forwarded_ns=60_001_000), "writer -> b1: add (LAC 6), passed on 0.0600 s later"),
        (request(kind=Message.OTHER, source=77), "number 77 -> b1: another message"),
        (request(kind=40), "writer -> b1: message of kind 40"),
    ],
)
def test_a_frame_is_one_line(row: dict[str, Any], text: str) -> None:
    assert line(row) == text


@pytest.mark.parametrize(
    ("row", "tone"),
    [
        (request(), "plain"),
        (request(flags=FrameFlag.DROPPED, forwarded_ns=NEVER), "fault"),
        (answer(), "good"),
        (answer(status=Status.ENOENTRY, delivered=Status.ENOENTRY), "bad"),
        (answer(flags=FrameFlag.FORGED, delivered=Status.ENOLEDGER), "bad"),
        (answer(flags=FrameFlag.FORGED, delivered=Status.EIO), "fault"),
        (answer(status=Status.EIO, delivered=Status.EIO), "doubt"),
        (answer(status=100_005, delivered=100_005), "plain"),
    ],
)
def test_a_frame_has_the_colour_of_its_answer_or_of_what_a_fault_did_to_it(
    row: dict[str, Any], tone: str
) -> None:
    assert [one.tone for one in frame_moments([row], NAMES, 7)] == [tone]


def test_what_one_sends_to_several_at_a_time_is_one_line() -> None:
    rows = [request(seq=seq, bookie=bookie) for seq, bookie in ((1, 1), (2, 2))]
    late = request(seq=4, bookie=1, received_ns=3000)
    lines = list(format_moments(frame_moments([*rows, answer(seq=3, received_ns=2000), late], NAMES, 7), 0))
    assert lines == [
        "      0.0000 s  writer -> b1, b2     add (LAC 6)",
        "      0.0000 s  b1 boot 1 -> writer  add: EOK",
        "      0.0000 s  writer -> b1         add (LAC 6)",
    ]


def test_lines_come_in_order_of_time_since_the_run_began() -> None:
    moments = [Moment(3_500_000_000, 0, "b", "late"), Moment(1_000_000_000, 0, "a", "early")]
    assert list(format_moments(moments, 500_000_000)) == [
        "      0.5000 s  a  early",
        "      3.0000 s  b  late",
    ]
    assert list(format_moments([], 0)) == []
