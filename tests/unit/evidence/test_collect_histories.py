"""Which history files a run has, and what is missing between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evidence.collect.histories import SegmentFile, damage_to_histories, segment_files
from evidence.raw.history import SLOT, SLOT_BYTES, Segment, decode
from evidence.raw.history import SLOTS as FULL
from tests.unit.evidence.history_slots import RUN_ID, add, history


def used(client: str, **segments: int) -> dict[SegmentFile, Segment]:
    """``b1s2=7``: boot 1, segment 2 uses 7 slots."""
    found = {}
    for name, slots in segments.items():
        boot, segment = (int(part) for part in name[1:].split("s"))
        content = Segment(101, 1, slots, np.empty(0, dtype=SLOT))
        found[SegmentFile(client, boot, segment, Path())] = content
    return found


def test_files_are_found_in_order_and_count_their_slots(tmp_path: Path) -> None:
    for name in ("writer-001-000002.hist", "writer-001-000001.hist", "b-002-000001.hist", "notes.txt"):
        (tmp_path / name).write_bytes(bytes(SLOT_BYTES) + b"\x01" * 3 * SLOT_BYTES + bytes(5 * SLOT_BYTES))
    files = segment_files(tmp_path)
    assert [(file.client, file.boot, file.segment) for file in files] == [
        ("b", 2, 1),
        ("writer", 1, 1),
        ("writer", 1, 2),
    ]
    assert files[0].slots == 3
    assert segment_files(tmp_path / "nowhere") == []


def test_whole_chains_are_whole_whatever_their_last_file_holds() -> None:
    chains = used("w", b1s1=FULL, b1s2=5, b1s3=0, b2s1=0) | used("observer", b1s1=9)
    ended = {"w": {"slots": FULL + 5, "ended": "killed"}, "observer": {"slots": 9}, "idle": {"slots": None}}
    assert damage_to_histories(chains, {"histories": ended}) == []
    assert damage_to_histories(chains, None) == []


@pytest.mark.parametrize(
    ("chains", "what"),
    [
        (used("w", b1s1=FULL, b1s3=5), "operations: w-001-000002.hist is missing"),
        (used("w", b1s2=5), "operations: w-001-000001.hist is missing"),
        (used("w", b2s1=5), "operations: no history of w, boot 1"),
        (
            used("w", b1s1=7, b1s2=5),
            "operations: w-001-000001.hist ends after 7 slots, yet another segment follows",
        ),
        (used("observer", b1s1=FULL, b1s3=5), "histories: observer-001-000002.hist is missing"),
    ],
)
def test_a_gap_is_named_after_the_table_that_suffers(chains: dict[SegmentFile, Segment], what: str) -> None:
    assert damage_to_histories(chains, None) == [what]


@pytest.mark.parametrize("stored", [8, 24])
@pytest.mark.parametrize("lost", [0, 1])
def test_a_last_invocation_that_was_cut_off_is_no_loss(tmp_path: Path, stored: int, lost: int) -> None:
    """A run's end counts it as used, if its first bytes were stored."""
    data = history(add(0), add(1), add(2, result={}))
    data[3 * SLOT_BYTES + stored : 4 * SLOT_BYTES] = bytes(SLOT_BYTES - stored)
    path = tmp_path / "w-001-000001.hist"
    path.write_bytes(data)
    (file,) = segment_files(tmp_path)
    assert file.slots == 3
    content = {file: decode(bytes(data), run_id=RUN_ID)}
    assert content[file].slots == 2
    end = {"histories": {"w": {"slots": file.slots + lost}}}
    expected = f"operations: w recorded {3 + lost} slots, its files hold 3"
    assert damage_to_histories(content, end) == [expected] * lost


def test_fewer_slots_than_the_client_counted_are_a_loss() -> None:
    end = {"histories": {"w": {"slots": 9, "ended": "exit"}}}
    assert damage_to_histories({}, end) == ["operations: w recorded 9 slots, its files hold 0"]
