"""A recorded run with a part removed, then resealed, as if it was lost before the evidence was closed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evidence.findings import Verdict
from evidence.folder import RunFolder
from evidence.history import SLOT_BYTES
from evidence.seal import FILES, SEAL
from harness.judging import compare_with_plan
from pipeline.collect import collect
from pipeline.judge import judge
from tests.live.running import Fencepost, assert_as_stated
from tests.spark.test_sealed import Inline

Start = Callable[..., Fencepost]
Doctor = Callable[[RunFolder], None]


def test_no_part_of_a_run_can_go_unnoticed(fencepost: Start, tmp_path: Path) -> None:
    run = fencepost("run", "bp46/truncation", "--mode", "unprotected", "--json")
    (said,) = assert_as_stated(*run.finish())
    mode = Path(said["folder"]) / "unprotected"
    doctored: list[tuple[Doctor, str]] = [
        (torn, "operations: writer boot 1 exited with 0, and 51 halves of its slots are torn"),
        (cut, "operations: writer boot 1 reported 51 slots at its end, its files hold 30"),
        (no_faults, "faults: b1 boot 1 ended with signal 9, and the fault log does not say why"),
        (no_frames, "frames: "),
    ]
    for number, (doctor, damage) in enumerate(doctored):
        assert_missed(mode, tmp_path / str(number) / "unprotected", doctor, damage)


def assert_missed(mode: Path, copy: Path, doctor: Doctor, damage: str) -> None:
    """The doctored copy names its damage, meets nothing, and says so before all else."""
    shutil.copytree(mode, copy, symlinks=True)
    folder = RunFolder(copy)
    doctor(folder)
    resealed(folder)
    session: Any = Inline()
    collect(session, folder)
    verdict = judge(session, folder)
    assert any(one.startswith(damage) for one in verdict.damage), verdict.damage
    assert verdict.judgements["evidence"].verdict is Verdict.UNKNOWN
    assert "unknown: evidence" in verdict.headline
    comparison = compare_with_plan(verdict, folder)
    assert (comparison.met, comparison.unexpected) == (False, False), comparison.reasons


def resealed(folder: RunFolder) -> None:
    """Close the evidence again: the seal and the count of slots match the remaining files."""
    end = json.loads(folder.end_json.read_text())
    folder.end_json.unlink()
    end["histories"] = {}
    folder.write_end({key: value for key, value in end.items() if key not in (FILES, SEAL)})


def changed(folder: RunFolder, change: Callable[[bytearray], None]) -> None:
    path = folder.operations / "writer-001-000001.hist"
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)


def torn(folder: RunFolder) -> None:
    def without_the_last_words(content: bytearray) -> None:
        for slot in range(51):  # a create and 50 adds
            content[(2 + slot) * SLOT_BYTES - 8 : (2 + slot) * SLOT_BYTES] = bytes(8)

    changed(folder, without_the_last_words)


def cut(folder: RunFolder) -> None:
    def without_the_tail(content: bytearray) -> None:
        content[31 * SLOT_BYTES :] = bytes(len(content) - 31 * SLOT_BYTES)

    changed(folder, without_the_tail)


def no_faults(folder: RunFolder) -> None:
    folder.faults.write_text("")


def no_frames(folder: RunFolder) -> None:
    for path in folder.frames.glob("*.wire"):
        content = path.read_bytes()
        path.write_bytes(content[:128] + bytes(len(content) - 128))
