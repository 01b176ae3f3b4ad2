"""A fence is in the journal when a record of some journal file says so, and not because it was answered."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from evidence.journal import FENCE, KEY, MAGIC
from harness.conditions.storage import FenceJournaled, fence_journaled

STEP = FenceJournaled(target="b2", ledger="main")
MAIN = 7


def journal(*marks: tuple[int, int]) -> bytes:
    """A file of format 5 with these (ledger, mark) records, and zeros written ahead."""
    records = b"".join(struct.pack(">iqq", 16, ledger, mark) for ledger, mark in marks)
    return (MAGIC + struct.pack(">i", 5)).ljust(512, b"\0") + records + bytes(64)


def seen(folder: Path, **files: bytes) -> bool:
    current = folder / "current"
    current.mkdir()
    for name, data in files.items():
        (current / f"{name}.txn").write_bytes(data)
    bookie = SimpleNamespace(places=lambda: {"journal": folder})
    cluster = SimpleNamespace(bookie=lambda name: bookie)
    stage: Any = SimpleNamespace(cluster=cluster, ledgers=SimpleNamespace(id=lambda name: MAIN))
    return fence_journaled(stage, STEP)[0]


def test_an_empty_journal_has_no_fence(tmp_path: Path) -> None:
    assert not seen(tmp_path)


def test_the_fence_of_another_ledger_and_a_key_are_no_fence_of_this_one(tmp_path: Path) -> None:
    assert not seen(tmp_path, a1=journal((MAIN, KEY), (8, FENCE)))


def test_any_file_of_the_journal_may_have_it(tmp_path: Path) -> None:
    assert seen(tmp_path, a1=journal((MAIN, KEY)), a2=journal((8, FENCE), (MAIN, FENCE)))
