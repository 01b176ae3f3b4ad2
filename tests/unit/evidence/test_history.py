"""History files, decoded: what is whole, what was torn by a kill, what is damaged."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.codes import NEVER, Holding, Kind, Outcome, Proof
from evidence.raw.history import (
    COMPLETED,
    FILE_BYTES,
    HALF_BYTES,
    INVOKED,
    SLOT,
    SLOT_BYTES,
    SLOTS,
    Segment,
    decode,
    rows_at,
)
from evidence.schemas import CENSUS, OPERATIONS
from tests.unit.evidence.history_slots import CLIENT, FIRST_SEQ, RUN_ID, add, census, history, seq, watched


def decoded(data: bytes | bytearray) -> Segment:
    return decode(bytes(data), run_id=RUN_ID)


def rows(segment: Segment) -> list[dict[str, Any]]:
    return [row for name in ("operations", "census", "watched") for row in segment.table(name).to_pylist()]


def at_slot(index: int, half: int = 0, byte: int = 0) -> int:
    return SLOT_BYTES * (1 + index) + HALF_BYTES * half + byte


def test_the_layout_is_that_of_the_format() -> None:
    assert (INVOKED.itemsize, COMPLETED.itemsize, SLOT.itemsize) == (64, 64, 128)
    assert INVOKED.fields is not None and COMPLETED.fields is not None
    assert [INVOKED.fields[name][1] for name in ("handle", "kind", "crc")] == [48, 56, 60]
    assert [COMPLETED.fields[name][1] for name in ("digest", "error", "outcome", "crc")] == [40, 48, 56, 60]


def test_an_acknowledged_add_is_one_row() -> None:
    segment = decoded(history(add(0), add(1)))
    assert segment.table("operations").schema == OPERATIONS
    assert (segment.slots, segment.client, segment.first_seq) == (2, CLIENT, FIRST_SEQ)
    assert segment.table("operations").to_pylist()[1] == {
        "ledger": 5,
        "entry": 1,
        "client": CLIENT,
        "seq": seq(1),
        "handle": 7,
        "kind": 2,
        "flags": 0,
        "outcome": Outcome.OK,
        "error": 0,
        "invoked_ns": 1010,
        "completed_ns": 1015,
        "last": -1,
        "lac_before": 0,
        "lac": 1,
        "result": 1,
        "expected": 1,
        "size_bytes": 100,
        "digest": 0,
        "origin": 0,
        "proof": 0,
    }
    assert segment.damage == ()


def test_an_add_without_outcome_is_pending_and_never_ended() -> None:
    (row,) = rows(decoded(history(add(4, result={}))))
    assert (row["outcome"], row["completed_ns"], row["entry"]) == (Outcome.PENDING, NEVER, 4)
    assert (row["lac"], row["result"], row["expected"]) == (-1, -1, -1)


def test_the_id_that_was_assigned_wins_over_the_one_expected() -> None:
    fields = {"ledger": 5, "entry": 9, "outcome": Outcome.OK, "lac": 9, "expected": 4}
    (row,) = rows(decoded(history(add(4, result=fields))))
    assert (row["entry"], row["result"], row["expected"]) == (9, 9, 4)


def test_a_refused_add_keeps_the_id_it_would_have_had() -> None:
    (row,) = rows(decoded(history(add(4, result={"ledger": 5, "entry": -1, "error": -11, "outcome": 2}))))
    assert (row["entry"], row["outcome"], row["error"]) == (4, Outcome.FAIL, -11)


def test_a_force_tells_the_highest_id_that_was_acknowledged_before_it() -> None:
    asked = {"kind": Kind.FORCE, "ledger": 5, "entry": 41, "last": -1, "handle": 7}
    done = asked, {"ledger": 5, "entry": 41, "lac": 41, "outcome": Outcome.OK}
    assert [row["entry"] for row in rows(decoded(history(done, (asked, {}))))] == [41, 41]


def test_a_create_is_known_by_the_ledger_it_made() -> None:
    asked = {"kind": 1, "ledger": -1, "entry": -1, "last": -1}
    (row,) = rows(decoded(history((asked, {"ledger": 77, "entry": -1, "outcome": 1}))))
    assert (row["ledger"], row["entry"]) == (77, -1)


@pytest.mark.parametrize(
    ("error", "proof", "holding"),
    [
        (0, Proof.PROVES_ITSELF, Holding.PRESENT),
        (0, Proof.NONE, Holding.DAMAGED),
        (0, Proof.DAMAGED, Holding.DAMAGED),
        (0, Proof.FOREIGN, Holding.DAMAGED),
        (-13, Proof.NONE, Holding.ABSENT),
        (-7, Proof.NONE, Holding.ABSENT),
        (-108, Proof.NONE, Holding.UNKNOWN),
        (-8, Proof.NONE, Holding.UNKNOWN),
    ],
)
def test_a_bookies_answer_tells_what_it_holds(error: int, proof: Proof, holding: Holding) -> None:
    segment = decoded(history(add(0), census(3, 2, error=error, proof=proof)))
    assert segment.table("census").schema == CENSUS
    (row,) = segment.table("census").to_pylist()
    assert (row["holding"], row["error"], row["bookie"], row["entry"]) == (holding, error, 2, 3)
    assert (row["asked_ns"], row["answered_ns"], row["digest"]) == (1010, 1015, -(2**63))
    assert segment.table("operations").num_rows == 1


def test_a_negative_that_no_bookie_gave_is_no_absence() -> None:
    asked, result = census(3, 2, error=-13)
    (row,) = rows(decoded(history((asked, result | {"outcome": Outcome.UNKNOWN}))))
    assert row["holding"] == Holding.UNKNOWN


def test_versions_that_were_watched_are_apart() -> None:
    segment = decoded(history(watched(3, state=1), add(0)))
    (row,) = segment.table("watched").to_pylist()
    assert (row["ledger"], row["last"], row["lac"]) == (5, 3, 1)
    assert segment.table("operations").num_rows == 1


def test_a_file_that_was_only_prepared_holds_nothing() -> None:
    for data in (b"", bytes(1000), bytes(FILE_BYTES), history()[:10] + bytes(FILE_BYTES - 10), history()):
        segment = decoded(data)
        assert (segment.slots, rows(segment), segment.damage) == (0, [], ())


@pytest.mark.parametrize("stored", [8, 24, 63])
def test_a_last_invocation_that_was_cut_off_is_no_slot(stored: int) -> None:
    data = history(add(0), add(1), add(2, result={}))
    data[at_slot(2, byte=stored // 8 * 8) : at_slot(3)] = bytes(SLOT_BYTES - stored // 8 * 8)
    segment = decoded(data)
    assert (segment.slots, segment.torn, segment.damage) == (2, 1, ())
    assert [row["entry"] for row in rows(segment)] == [0, 1]


def test_only_the_last_invocation_can_have_been_cut_off() -> None:
    data = history(add(0), add(1))
    data[at_slot(50_000, byte=9)] = 1
    segment = decoded(data)
    assert [row["entry"] for row in rows(segment)] == [0, 1]
    assert segment.damage[0] == "slot 2:3 is missing"
    assert segment.damage[-1] == f"{50_000 - 2 - 20} more, up to slot 2:50000: is missing"


def test_an_outcome_that_was_cut_off_is_none() -> None:
    data = history(add(0), add(1), add(2))
    data[at_slot(1, half=1, byte=32) : at_slot(2)] = bytes(32)
    segment = decoded(data)
    assert (segment.slots, segment.torn, segment.damage) == (3, 1, ())
    assert [row["outcome"] for row in rows(segment)] == [Outcome.OK, Outcome.PENDING, Outcome.OK]
    assert rows(segment)[1]["completed_ns"] == NEVER


def test_a_slot_that_is_missing_in_the_middle_is_named() -> None:
    data = history(add(0), add(1), add(2))
    data[at_slot(1) : at_slot(2)] = bytes(SLOT_BYTES)
    segment = decoded(data)
    assert segment.damage == ("slot 2:2 is missing",)
    assert [row["entry"] for row in rows(segment)] == [0, 2]


def test_a_slot_in_another_slots_place_is_damage() -> None:
    data = history(add(0), add(1), add(2))
    data[at_slot(1) : at_slot(2)] = data[at_slot(0) : at_slot(1)]
    assert decoded(data).damage == ("slot 2:2 has a damaged invocation",)


def test_many_damages_are_counted_and_the_first_named() -> None:
    data = history(*(add(entry) for entry in range(100)))
    for index in range(10, 90):
        data[at_slot(index, byte=20)] ^= 1
    damage = decoded(data).damage
    assert damage[0] == "slot 2:11 has a damaged invocation"
    assert damage[-1] == "60 more, up to slot 2:90: has a damaged invocation"


def test_a_file_that_is_cut_short_is_damage_and_its_whole_slots_are_used() -> None:
    segment = decoded(history(add(0), add(1))[: at_slot(1, byte=50)])
    assert segment.damage == (f"the file has {at_slot(1, byte=50)} bytes instead of {FILE_BYTES}",)
    assert [row["entry"] for row in rows(segment)] == [0]


def test_a_file_that_is_too_long_has_no_slot_behind_its_last() -> None:
    asked, result = add(0)
    behind = history((asked | {"seq": seq(SLOTS)}, result))[at_slot(0) : at_slot(1)]
    segment = decoded(history() + behind)
    assert (segment.slots, rows(segment)) == (0, [])
    assert segment.damage == (f"the file has {FILE_BYTES + SLOT_BYTES} bytes instead of {FILE_BYTES}",)


@pytest.mark.parametrize("table", ["operations", "census"])
def test_rows_are_found_again_by_their_places(tmp_path: Path, table: str) -> None:
    """In two files of which the first has an outcome that was cut off and a slot that is damaged."""
    hurt = history(add(0), watched(1, 1), add(1), add(2), census(3, 2), add(4))
    hurt[at_slot(2, half=1, byte=32) : at_slot(3)] = bytes(32)
    hurt[at_slot(3, byte=20)] ^= 1
    files = [tmp_path / "1.hist", tmp_path / "2.hist"]
    for file, data in zip(files, (hurt, history(add(5), census(6, 1))), strict=True):
        file.write_bytes(data)
    segments = [decode(file.read_bytes(), run_id=RUN_ID) for file in files]
    keys = [segment.keys(place * SLOTS)[table] for place, segment in enumerate(segments)]
    whole = pa.concat_tables([segment.table(table) for segment in segments])
    ledger, entry, places = np.concatenate(keys, axis=1)
    assert rows_at(table, CLIENT, files, places).equals(whole)
    assert rows_at(table, CLIENT, files, places[-1:]).equals(whole.slice(len(whole) - 1))
    assert (ledger.tolist(), entry.tolist()) == (whole["ledger"].to_pylist(), whole["entry"].to_pylist())


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        ({"run_id": 3}, f"it is a history of run 3, not of run {RUN_ID}"),
        ({"version": 2}, "the layout (version, slot size, slots) is (2, 128, 65536), not (1, 128, 65536)"),
        ({"magic": b"OTHER"}, "the header is damaged"),
    ],
)
def test_a_file_with_another_header_gives_no_rows(header: dict[str, Any], wrong: str) -> None:
    segment = decoded(history(add(0), header=header))
    assert (rows(segment), segment.damage) == ([], (wrong,))


WHOLE = history(add(0), add(1, result={}), census(0, 1), watched(0, 1), add(2), add(3))
SOUND = {(row.get("seq"), row.get("bookie")): row for row in rows(decoded(WHOLE))}
USED_BYTES = at_slot(6)


@settings(max_examples=100)
@given(at=st.integers(0, USED_BYTES - 1), flipped=st.integers(1, 255))
def test_any_damage_in_one_byte_is_found(at: int, flipped: int) -> None:
    data = bytearray(WHOLE)
    data[at] ^= flipped
    segment = decoded(data)
    found = {(row.get("seq"), row.get("bookie")): row for row in rows(segment)}
    assert all(SOUND[key] == row for key, row in found.items()), "a row that was never recorded"
    if len(found) < len(SOUND):
        assert segment.damage, "a row is missing and nothing is said"
    else:
        # Only the place of an outcome that never came may be hurt without loss.
        assert at_slot(1, half=1) <= at < at_slot(2)
        assert segment.torn == 1


@settings(max_examples=40)
@given(count=st.integers(0, 30), cut=st.integers(0, 15))
def test_a_kill_loses_at_most_the_last_slot(count: int, cut: int) -> None:
    """A process that ends in the middle of a sweep over the file leaves all before it whole."""
    data = history(*(add(entry) for entry in range(count + 1)))
    data[at_slot(count) + 8 * cut :] = bytes(len(data) - at_slot(count) - 8 * cut)
    segment = decoded(data)
    assert segment.damage == ()
    assert [row["entry"] for row in rows(segment)][:count] == list(range(count))
    assert segment.slots == count + (cut >= 8)


def test_a_full_file_is_decoded_at_once(tmp_path: Path) -> None:
    slot = np.frombuffer(bytes(history(add(0))), dtype=np.uint8)[SLOT_BYTES : 2 * SLOT_BYTES]
    data = bytes(history())[:SLOT_BYTES] + np.tile(slot, SLOTS).tobytes()
    path = tmp_path / "writer-002-000001.hist"
    path.write_bytes(data)
    decode(path.read_bytes(), run_id=RUN_ID)
    began = time.process_time()
    segment = decode(path.read_bytes(), run_id=RUN_ID)
    assert segment.slots == SLOTS
    assert segment.table("operations").num_rows == 1  # all others claim the first one's number
    assert time.process_time() - began < 0.5
