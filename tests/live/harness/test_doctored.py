"""A recorded run with a part removed, then resealed, as if it was lost before the evidence was closed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from evidence.codes import ErrorCode, Kind, Outcome, Proof
from evidence.findings import Verdict
from evidence.folder import RunFolder
from evidence.raw.history import CRC_AT, HALF_BYTES, SLOT, SLOT_BYTES
from evidence.raw.segments import crc32
from evidence.seal import FILES, SEAL
from harness.judging import compare_with_plan
from tests.doctoring import Doctor, cut_behind, no_faults, torn
from tests.inline import judged
from tests.live.running import Start, assert_as_stated


def test_no_part_of_a_run_can_go_unnoticed(fencepost: Start, tmp_path: Path) -> None:
    run = fencepost("run", "bp46/truncation", "--mode", "unprotected", "--json")
    (outcome,) = assert_as_stated(*run.finish())
    mode = Path(outcome["folder"]) / "unprotected"
    doctored: list[tuple[Doctor, str]] = [
        (torn(range(51)), "operations: writer boot 1 exited with 0, and 51 halves of its slots are torn"),
        (cut_behind(30), "operations: writer boot 1 reported 51 slots at its end, its files hold 30"),
        (no_faults, "faults: b1 boot 1 ended with signal 9, and the fault log does not say why"),
        (no_frames, "frames: "),
    ]
    for number, (doctor, damage) in enumerate(doctored):
        assert_missed(mode, tmp_path / str(number) / "unprotected", doctor, damage)


def test_what_every_bookie_denies_after_it_was_read_is_lost(fencepost: Start, tmp_path: Path) -> None:
    """The last census denies 40 of 50 entries on all bookies; the final read before it returned them."""
    run = fencepost("run", "bp46/truncation", "--mode", "journal", "--json")
    (outcome,) = assert_as_stated(*run.finish())
    folder = RunFolder(
        Path(shutil.copytree(Path(outcome["folder"]) / "journal", tmp_path / "run" / "journal"))
    )
    assert denied(folder, census_pass=2, entries=40) == 120
    resealed(folder)
    verdict = judged(folder)
    assert verdict.judgements["durability"].verdict is Verdict.ANOMALY
    assert verdict.headline.startswith("40 of 50 acknowledged entries lost")
    assert {one.kind for one in verdict.judgements["durability"].findings} == {"lost"}


def denied(folder: RunFolder, census_pass: int, entries: int) -> int:
    """Turn the answers of a census about the first entries into denials; their number."""
    path = folder.operations / "observer-001-000001.hist"
    content = bytearray(path.read_bytes())
    slots = np.frombuffer(content, SLOT, offset=SLOT_BYTES)
    asked, result = slots["invoked"], slots["completed"]
    chosen = (asked["kind"] == Kind.CENSUS) & (asked["last"] == census_pass) & (asked["entry"] < entries)
    answers = result[chosen]
    for name, value in (("error", ErrorCode.NO_SUCH_ENTRY), ("outcome", Outcome.OK), ("proof", Proof.NONE)):
        answers[name] = value
    answers["crc"] = crc32(answers.view(np.uint8).reshape(len(answers), HALF_BYTES)[:, :CRC_AT])
    result[chosen] = answers
    path.write_bytes(content)
    return len(answers)


def assert_missed(mode: Path, copy: Path, doctor: Doctor, damage: str) -> None:
    """The doctored copy names its damage, meets nothing, and says so before all else."""
    shutil.copytree(mode, copy, symlinks=True)
    folder = RunFolder(copy)
    doctor(folder)
    resealed(folder)
    verdict = judged(folder)
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


def no_frames(folder: RunFolder) -> None:
    for path in folder.frames.glob("*.wire"):
        content = path.read_bytes()
        path.write_bytes(content[:128] + bytes(len(content) - 128))
