"""Closed evidence that was changed afterwards, in any file and at any place, is never ``valid``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evidence import seal
from evidence.findings import Verdict
from evidence.folder import RunFolder, json_text
from protocol.errors import EvidenceError
from tests.inline import judged
from tests.spark.rawfolder import Story, make

CLEAN = Story({4: 20, 9: 5})
LOST = Story({4: 20}, closed_below={4: 9})
FILES = (
    "raw/faults/faults.jsonl",
    "raw/servers/events.jsonl",
    "raw/ledgers/transactions.jsonl",
    "raw/steps/steps.jsonl",
    "raw/end.json",
    "raw/operations/writer-001-000001.hist",
    "raw/operations/observer-001-000001.hist",
    "servers/b1/boot-1.log",
)
LOG = "5 1795279280923 INFO  [main] ComponentStarter - Started component {component=bookie-server}\n"
LINES = FILES[:4]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    made = make(tmp_path_factory.mktemp("sealed"), CLEAN, logs={"b1": LOG * 8, "writer": "no evidence"})
    assert judged(made).verdict is Verdict.VALID
    return made


@pytest.fixture
def rewritten(folder: RunFolder, request: pytest.FixtureRequest) -> Path:
    path: Path = folder.path / request.param
    whole = path.read_bytes()
    request.addfinalizer(lambda: path.write_bytes(whole))
    return path


@pytest.mark.parametrize("rewritten", FILES, indirect=True)
def test_a_file_that_is_gone_or_cut_is_missed(folder: RunFolder, rewritten: Path) -> None:
    whole = rewritten.read_bytes()
    for other in (None, b"", whole[: len(whole) // 2], whole[:-3], whole + b"x"):
        rewritten.unlink()
        if other is not None:
            rewritten.write_bytes(other)
        verdict = judged(folder)
        assert verdict.verdict is Verdict.UNKNOWN
        assert other is None or any(rewritten.name in damage for damage in verdict.damage)
        rewritten.write_bytes(whole)


@pytest.mark.parametrize("rewritten", FILES, indirect=True)
def test_a_changed_bit_anywhere_is_seen(folder: RunFolder, rewritten: Path) -> None:
    whole = rewritten.read_bytes()
    for at in (0, min(len(whole) // 2, 150 * 128), len(whole) - 1):
        rewritten.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        assert judged(folder).verdict is Verdict.UNKNOWN, at


@pytest.mark.parametrize("rewritten", LINES, indirect=True)
def test_a_line_that_is_gone_or_comes_twice_is_seen(folder: RunFolder, rewritten: Path) -> None:
    lines = rewritten.read_bytes().splitlines(keepends=True)
    for number in {0, len(lines) - 1}:
        for times in (0, 2):
            other = lines[:number] + lines[number : number + 1] * times + lines[number + 1 :]
            rewritten.write_bytes(b"".join(other))
            assert judged(folder).verdict is Verdict.UNKNOWN


def test_a_history_that_came_later_is_named(tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    (folder.operations / "writer-001-000002.hist").write_bytes(b"")
    verdict = judged(folder)
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.damage == (
        "operations: writer-001-000002.hist: it was not there when the evidence was closed",
    )


@pytest.mark.parametrize("other", ["writer-001-000002", "writer-0001-000001", "reader-001-000001"])
def test_a_history_that_is_there_twice_leaves_the_verdict_unknown(tmp_path: Path, other: str) -> None:
    folder = make(tmp_path, CLEAN, silent=("reader",))
    whole = (folder.operations / "writer-001-000001.hist").read_bytes()
    (folder.operations / f"{other}.hist").write_bytes(whole)
    verdict = judged(folder)
    assert verdict.verdict is Verdict.UNKNOWN
    assert any(other in damage for damage in verdict.damage)


def test_changed_transactions_leave_the_verdict_unknown(tmp_path: Path) -> None:
    folder = make(tmp_path, LOST)
    assert judged(folder).verdict is Verdict.ANOMALY
    with folder.transactions.open("a") as file:
        file.write("\n")
    assert judged(folder).verdict is Verdict.UNKNOWN


def test_another_plan_than_the_one_that_ran_is_not_judged_by(tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    tree = json.loads(folder.run_json.read_text())
    folder.run_json.write_text(json.dumps(tree | {"plan": {"required": ["order"]}}))
    with pytest.raises(EvidenceError, match="is not the one with which the evidence was closed"):
        judged(folder)


def test_a_client_without_any_history_is_named(tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN, silent=("reader",))
    assert judged(folder).damage == ("operations: no history of reader",)


def test_a_log_that_nothing_rests_on_may_change(folder: RunFolder) -> None:
    (folder.server("writer") / "boot-1.log").write_text("tidied up")
    assert judged(folder).verdict is Verdict.VALID


def test_a_run_whose_seal_lists_no_log_is_judged_as_ever(tmp_path: Path) -> None:
    made = make(tmp_path, CLEAN)
    end = json.loads(made.end_json.read_text())
    sums = {name: known for name, known in end[seal.FILES].items() if not name.startswith("servers/")}
    made.end_json.write_text(json_text(seal.resealed(end, sums)))
    (made.server("b1") / "boot-1.log").write_text(LOG)
    assert judged(made).verdict is Verdict.VALID
