"""BP-46's scenario 2 through the command line: three modes, judged, judged again, explained, and damaged.

All tests read one run. Those of damage change copies of it: a part is removed, and the evidence closed again,
as if the part was lost before.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from evidence.codes import ErrorCode, Kind, Outcome, Proof
from evidence.findings import Verdict
from evidence.folder import RunFolder
from evidence.raw.history import CRC_AT, HALF_BYTES, SLOT, SLOT_BYTES
from evidence.raw.segments import crc32
from evidence.seal import FILES, SEAL
from harness.judging import compare_with_plan
from tests.doctoring import Doctor, cut_behind, no_faults, torn
from tests.inline import judged
from tests.live.running import Start, assert_as_stated, begun, no_spark
from tests.published import outcome_of, published


class Ran(NamedTuple):
    """The scenario's run: where it is stored, and what the command printed of each mode."""

    results: Path
    modes: dict[str, Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """It ran as stated, and left no process."""
    call = begun("run", "bp46/truncation", "--json", results=tmp_path_factory.mktemp("run") / "results")
    try:
        call.look()
        modes = assert_as_stated(*call.finish())[0]["modes"]
        call.assert_nothing_left()
        yield Ran(call.results, modes)
    finally:
        call.end()


def mode_of(run: Ran, mode: str) -> Path:
    return next(run.results.rglob(mode))


def test_unprotected_loses_acknowledged_entries_and_the_others_do_not(run: Ran) -> None:
    found = {mode: printed["judgements"] for mode, printed in run.modes.items()}
    assert {mode: one["durability"]["verdict"] for mode, one in found.items()} == {
        "unprotected": "anomaly",
        "protected": "valid",
        "journal": "valid",
    }
    lost = [one for one in found["unprotected"]["durability"]["findings"] if one["kind"] == "lost"]
    assert [(one["first_entry"], one["last_entry"], one["count"]) for one in lost] == [(0, 49, 50)]
    # b3 acknowledged them too and never died: the close cut them off, no crash explains that.
    assert all(one["loss"] == "unexplained" for one in lost)
    closed = found["unprotected"]["closing"]["findings"]
    assert [one["kind"] for one in closed] == ["closed_below"]
    assert {mode: outcome_of(one) for mode, one in found.items()} == {mode: published(mode) for mode in found}


def test_the_verdict_is_the_same_again(run: Ran, fencepost: Start) -> None:
    before = {path: path.read_bytes() for path in run.results.rglob("verdict.json")}
    assert len(before) == 4
    fencepost("check", "latest", "--quiet", results=run.results).ends(0)
    assert {path: path.read_bytes() for path in before} == before


def test_the_life_of_a_lost_entry_is_explained(run: Ran, fencepost: Start) -> None:
    text = fencepost("explain", str(mode_of(run, "unprotected")), "main:49").ends(0)
    for result in ("add: ok", "CLOSED at -1, below this entry", "kill b1", "census 2: absent"):
        assert result in text


def test_the_page_is_there_and_a_bundle_brings_the_same_verdicts_without_our_paths(
    run: Ran, fencepost: Start, tmp_path: Path
) -> None:
    assert "50 of 50 acknowledged entries lost" in (run.results / "latest" / "report.html").read_text()
    bundle = tmp_path / "given.zip"
    fencepost("bundle", "latest", "-o", str(bundle), results=run.results).ends(0)
    with zipfile.ZipFile(bundle) as archive:
        traitors = [name for name in archive.namelist() if bytes(run.results) in archive.read(name)]
    assert traitors == []
    with no_spark():
        fencepost("check", str(bundle)).ends(0, "byte for byte")
    fencepost("explain", str(bundle), "main:49").ends(0, "CLOSED at -1, below this entry")
    fencepost("report", str(bundle)).ends(0)
    assert "50 of 50 acknowledged entries lost" in bundle.with_suffix(".html").read_text()


def no_frames(folder: RunFolder) -> None:
    for path in folder.frames.glob("*.wire"):
        content = path.read_bytes()
        path.write_bytes(content[:128] + bytes(len(content) - 128))


@pytest.mark.parametrize(
    ("doctor", "damage"),
    [
        (torn(range(51)), "operations: writer boot 1 exited with 0, and 51 halves of its slots are torn"),
        (cut_behind(30), "operations: writer boot 1 reported 51 slots at its end, its files hold 30"),
        (no_faults, "faults: b1 boot 1 ended with signal 9, and the fault log does not say why"),
        (no_frames, "frames: "),
    ],
    ids=["torn", "cut", "no faults", "no frames"],
)
def test_no_part_of_a_run_can_go_unnoticed(doctor: Doctor, damage: str, run: Ran, tmp_path: Path) -> None:
    """The copy names its damage, meets nothing, and says so before all else."""
    folder = copied(run, "unprotected", tmp_path)
    doctor(folder)
    resealed(folder)
    verdict = judged(folder)
    assert any(one.startswith(damage) for one in verdict.damage), verdict.damage
    assert verdict.judgements["evidence"].verdict is Verdict.UNKNOWN
    assert "unknown: evidence" in verdict.headline
    comparison = compare_with_plan(verdict, folder)
    assert (comparison.met, comparison.unexpected) == (False, False), comparison.reasons


def test_what_every_bookie_denies_after_it_was_read_is_lost(run: Ran, tmp_path: Path) -> None:
    """The last census denies 40 of 50 entries on all bookies; the final read before it returned them."""
    folder = copied(run, "journal", tmp_path)
    assert denied(folder, census_pass=2, entries=40) == 120
    resealed(folder)
    verdict = judged(folder)
    assert verdict.judgements["durability"].verdict is Verdict.ANOMALY
    assert verdict.headline.startswith("40 of 50 acknowledged entries lost")
    assert {one.kind for one in verdict.judgements["durability"].findings} == {"lost"}


def copied(run: Ran, mode: str, place: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(mode_of(run, mode), place / "run" / mode, symlinks=True)))


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


def resealed(folder: RunFolder) -> None:
    """Close the evidence again: the seal and the count of slots match the remaining files."""
    end = json.loads(folder.end_json.read_text())
    folder.end_json.unlink()
    end["histories"] = {}
    folder.write_end({key: value for key, value in end.items() if key not in (FILES, SEAL)})
