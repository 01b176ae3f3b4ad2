"""Records become rows: whose link, which boot; and what a whole log lacks."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.codes import NEVER, FrameFlag, Status
from evidence.collect.frames import BootTimes, WireNames, frames
from evidence.collect.wirelogs import (
    LINKS,
    WireFile,
    count_frames,
    damage_to_log,
    is_logged,
    link_ends,
    wire_files,
)
from evidence.raw.wirelog import CRC_AT, RECORD, RECORD_BYTES, RECORDS, WireSegment, decode
from evidence.recorders import Lines
from evidence.schemas import FRAMES
from tests.unit.evidence.wire_records import RUN_ID, Fields, answer, request, segment

WRITER = 101
LIVES = BootTimes(((1, 100, 500), (2, 700, NEVER)))
"""Boot 1 from 100 to 500, boot 2 from 700 on."""


def rows(*records: Fields, stamped: bool = True, links: Any = None) -> list[dict[str, Any]]:
    names = WireNames({1: (WRITER, 1)} if links is None else links, {1: LIVES})
    found = decode(bytes(segment(*records, closed=True)), run_id=RUN_ID)
    table = frames(found.records, names, stamped=stamped)
    assert table.schema == FRAMES
    return table.to_pylist()


def boot_of_answer(asked_ns: int, received_ns: int, **fields: Any) -> int:
    (row,) = rows(answer(0, asked_ns=asked_ns, received_ns=received_ns, forwarded_ns=received_ns, **fields))
    return int(row["boot"])


def boot_of_request(received_ns: int, forwarded_ns: int) -> int:
    (row,) = rows(request(0, received_ns=received_ns, forwarded_ns=forwarded_ns))
    return int(row["boot"])


@pytest.mark.parametrize(
    ("asked_ns", "received_ns", "boot"),
    [
        (200, 300, 1),
        (499, 501, 1),  # given before the end, on its way at the end
        (499, 650, 1),  # no other process ran meanwhile
        (499, 701, 0),  # the old or the new one
        (501, 502, 0),  # asked when no process ran
        (650, 701, 0),
        (700, 10**9, 2),
        (99, 200, 0),
        (50, 60, 0),
        (0, 200, 0),  # uncorrelated
    ],
)
def test_an_answer_is_of_the_boot_that_alone_can_have_given_it(
    asked_ns: int, received_ns: int, boot: int
) -> None:
    assert boot_of_answer(asked_ns, received_ns) == boot


def test_a_forged_answer_to_a_swallowed_request_is_of_no_boot() -> None:
    assert boot_of_answer(200, 300, status=Status.NONE, delivered=403) == 0


@pytest.mark.parametrize(
    ("received_ns", "forwarded_ns", "boot"),
    [(200, 300, 1), (200, 0, 1), (200, 650, 1), (501, 0, 0), (200, 701, 0), (800, 801, 2)],
)
def test_a_request_is_of_the_boot_to_which_its_connection_led(
    received_ns: int, forwarded_ns: int, boot: int
) -> None:
    assert boot_of_request(received_ns, forwarded_ns) == boot


def test_times_that_there_are_not_compare_later_than_any() -> None:
    one, two = rows(request(0, forwarded_ns=0), answer(0, asked_ns=0))
    assert (one["forwarded_ns"], one["asked_ns"], two["asked_ns"]) == (NEVER, NEVER, NEVER)


def test_a_stamp_that_nothing_vouches_for_is_the_earliest_there_can_be() -> None:
    results = [row["forwarded_ns"] for row in rows(request(0), request(1, forwarded_ns=0), stamped=False)]
    assert results == [1000, NEVER]


def test_each_link_has_its_own_ends_and_an_unnamed_one_has_none() -> None:
    links = {1: (WRITER, 1), 2: (1, 3)}
    found = rows(request(0), request(1, link=2), request(2, link=9), links=links)
    assert [(row["source"], row["bookie"], row["boot"]) for row in found] == [
        (WRITER, 1, 2),
        (1, 3, 0),
        (0, 0, 0),
    ]


def test_links_are_named_source_and_destination() -> None:
    lines = [{"link": 1, "name": "writer-b1"}, {"link": 2, "name": "b1-b2"}, {"link": 1, "name": "writer-b1"}]
    sources, bookies = {"writer": WRITER, "b1": 1, "b2": 2}, {"b1": 1, "b2": 2}
    assert link_ends(Lines(tuple(lines)), sources, bookies) == ({1: (WRITER, 1), 2: (1, 2)}, [])
    wrong = (
        {"link": 1, "name": "writer-b1"},
        {"link": 1, "name": "writer-b2"},
        {"link": 3, "name": "stranger-b1"},
        {"link": 4, "name": "writer-zk1"},
        {"name": "writer-b1"},
    )
    ends, damage = link_ends(Lines(wrong, ("links.jsonl line 6 is damaged",)), sources, bookies)
    assert ends == {1: (WRITER, 1)}
    assert damage == [
        "frames: links.jsonl line 6 is damaged",
        "frames: links.jsonl: link 1 has two names",
        "frames: links.jsonl: 'stranger-b1' (number 3) is no link of this run",
        "frames: links.jsonl: 'writer-zk1' (number 4) is no link of this run",
        "frames: links.jsonl: 'writer-b1' (number None) is no link of this run",
    ]


def test_files_are_found_in_order_and_count_their_records(tmp_path: Path) -> None:
    for name in ("frames-000002.wire", "frames-000001.wire", "frames-000003.wire.new", "links.jsonl"):
        (tmp_path / name).write_bytes(segment(request(0), answer(0), request(1)))
    files = wire_files(tmp_path)
    assert [(file.number, file.records) for file in files] == [(1, 3), (2, 3)]
    assert wire_files(tmp_path / "nowhere") == []
    assert is_logged(tmp_path, None)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / LINKS).touch()  # all segments are gone, and the proxy reported nothing
    assert is_logged(tmp_path / "links", {"complete": True})
    assert is_logged(tmp_path / "nowhere", {"wire": {"log": {}}})
    assert not is_logged(tmp_path / "nowhere", {"complete": True})
    assert not is_logged(tmp_path / "nowhere", None)


@given(content=st.lists(st.binary(min_size=RECORD_BYTES, max_size=RECORD_BYTES), max_size=5))
def test_whatever_a_sealed_record_says_is_a_row(content: list[bytes]) -> None:
    data = bytes(segment(closed=True)) + b"".join(
        resealed(seq, record) for seq, record in enumerate(content, 1)
    )
    found = decode(data, run_id=RUN_ID)
    table = frames(found.records, WireNames({1: (WRITER, 1)}, {1: LIVES}))
    assert table.num_rows == len(found.records) == len(content)
    assert found.damage == ()


def resealed(seq: int, record: bytes) -> bytes:
    """A record of any bytes, with its number, its checksum and no time of passing on."""
    covered = seq.to_bytes(8, "little") + record[8:CRC_AT]
    return covered + zlib.crc32(covered).to_bytes(4, "little") + bytes(12)


def file(number: int = 1) -> WireFile:
    return WireFile(number, Path(f"frames-{number:06d}.wire"))


def log(*used: int, **fields: Any) -> dict[WireFile, WireSegment]:
    """Segments 1, 2, ... with these numbers of records; -1: it is missing."""
    return {
        file(at): WireSegment(at, count, np.empty(0, dtype=RECORD), **fields)
        for at, count in enumerate(used, start=1)
        if count >= 0
    }


@pytest.mark.parametrize(
    ("segments", "damage"),
    [
        (log(0), []),
        (log(RECORDS, RECORDS, 5), []),
        (log(RECORDS, 0), []),
        (log(RECORDS, -1, 5), ["frames-000002.wire is missing"]),
        (log(-1, 5), ["frames-000001.wire is missing"]),
        (log(7, 5), ["frames-000001.wire ends after 7 records, yet another segment follows"]),
        (log(5, damage=("record 2 is damaged",)), ["frames-000001.wire: record 2 is damaged"]),
    ],
)
def test_what_the_files_lack_is_named(segments: dict[WireFile, WireSegment], damage: list[str]) -> None:
    assert damage_to_log(segments, None) == [f"frames: {what}" for what in damage]


@pytest.mark.parametrize(
    ("number", "wrong", "frames"),
    [
        (
            1,
            ("frames before record 3 could not be recorded", "link 8 has no name"),
            {(1, 0): 1, (1, 1): 1, (8, 0): 1},
        ),
        (4, ("it is segment 1, so its records are not used",), {}),
    ],
)
def test_frames_are_counted_by_link_and_way(
    number: int, wrong: tuple[str, ...], frames: dict[tuple[int, int], int]
) -> None:
    records = request(0), answer(0), request(1, flags=FrameFlag.GAP, link=8)
    found = count_frames(decode(bytes(segment(*records)), run_id=RUN_ID), file(number), {1})
    assert (found.damage, found.frames, found.used) == (wrong, frames, 3)
    assert len(found.records) == sum(frames.values())


def test_a_log_that_went_on_after_the_proxy_was_asked_is_whole() -> None:
    held = log(9, frames={(1, 0): 5, (1, 1): 4})
    wire = {
        "log": {"records": 8, "lost": 0, "links": {"writer-b1": 1, "idle-b1": 2}},
        "links": {"writer-b1": {"requests": 4, "answers": 4}},
    }
    assert damage_to_log(held, {"wire": wire}) == []
    wire["links"] = {"writer-b1": {"requests": 6, "answers": 4}}
    assert damage_to_log(held, {"wire": wire}) == [
        "frames: link writer-b1: 6 requests passed, 5 are recorded"
    ]


def test_frames_that_the_log_cannot_show_are_named_once() -> None:
    held = log(9, frames={(1, 0): 5, (1, 1): 4})
    reported: dict[str, Any] = {"records": 9, "links": {"writer-b1": 1}}
    links = {"writer-b1": {"requests": 7, "answers": 4}}
    for lost, message in (
        ({"lost": 2}, "the proxy could not record 2 frames"),
        ({"unlogged": 2}, "2 frames passed before the log was opened"),
    ):
        assert damage_to_log(held, {"wire": {"log": reported | lost, "links": links}}) == [
            f"frames: {message}"
        ]
    hidden = {"writer-b1": {"requests": 5, "answers": 4, "oversize": 1, "unparsed": 2, "untracked": 3}}
    assert damage_to_log(held, {"wire": {"log": reported, "links": hidden}}) == [
        "frames: link writer-b1: 1 frames were above the limit, so they were passed on and not recorded",
        "frames: link writer-b1: 2 frames had no readable header",
        "frames: link writer-b1: 3 requests were too many to be remembered, so their answers count for none",
    ]


def test_a_proxy_that_could_not_be_asked_leaves_the_log_unproven() -> None:
    for end in ({}, {"wire": {}}, {"wire": {"log": None}}):
        assert damage_to_log(log(5), end) == [
            "frames: the proxy did not report at the end what it had recorded"
        ]
