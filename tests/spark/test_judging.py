"""Collection and judging on Spark: known losses are found, and the folder alone decides."""

from __future__ import annotations

import json
import pickle
import signal
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from checkers.judging.contract import Batch
from checkers.judging.judge import judge as judge_here
from cluster.servers import offline
from evidence.collection import read_collection
from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder, read_json, write_json
from evidence.raw.history import SLOT_BYTES
from evidence.schemas import BLOCKED
from evidence.seal import resealed
from pipeline import collect as collecting
from pipeline.blocks import BLOCKS, Bucket, batches
from pipeline.collect import collect
from pipeline.facts import run_facts
from pipeline.judge import judge
from pipeline.session import Session
from pipeline.tables import read_table
from protocol.errors import EvidenceError, JudgementError
from tests.inline import INLINE, Inline
from tests.spark.rawfolder import MS, Story, make

LOSSES = Story({7: 50, 8: 3000, 9: 20}, lost={7: (3, 5)}, closed_below={8: 2990})
LARGE = Story({7: 50, 9: 66_000}, lost={9: (65_530, 65_540)}, closed_below={7: 10})
CLEAN = Story({7: 50, 8: 300})


def judged(session: Session, folder: RunFolder) -> RunVerdict:
    collect(session, folder)
    return judge(session, folder)


def found(verdict: RunVerdict) -> set[tuple[str, str, int, int, int]]:
    return {
        (f.property, f.kind, f.ledger, f.first_entry, f.last_entry)
        for judgement in verdict.judgements.values()
        for f in judgement.findings
    }


def content(folder: RunFolder) -> Mapping[str, bytes]:
    files = [folder.verdict_json, *folder.tables.rglob("*.*")]
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in files if path.is_file()}


def in_process(folder: RunFolder) -> RunVerdict:
    whole = Batch({name: read_table(folder.tables, name) for name in (*BLOCKED, "ledgers")})
    return judge_here([whole], run_facts(folder, read_collection(folder)))


def test_checkers_know_what_the_folder_says_of_the_run(tmp_path: Path) -> None:
    """What is left out here would be judged as nothing: no racks, no allowance, a run that ended well."""
    racks = {"b1": "r1", "b2": "r1", "b3": "r2"}
    plan = {"cluster": {"racks": racks, "min_racks": 2}, "allowance": {"protected": {"main": 3}}}
    folder = make(
        tmp_path, Story({7: 5}, names={7: "main"}), required=("order",), plan=plan, silent=("reader",)
    )
    collection = collect(INLINE, folder)
    end = read_json(folder.end_json) | {"left_out": "b1 is not ready", "complete": False}
    write_json(folder.end_json, resealed(end, end["files"]))
    clock = {"wall_ns": 1_000_000 * MS, "monotonic_ns": 5}
    write_json(folder.run_json, read_json(folder.run_json) | {"clock": clock})
    run = run_facts(folder, collection)
    assert (run.scenario, run.mode, run.required, run.ledger_names) == (
        "made/up",
        "protected",
        ("order",),
        {7: "main"},
    )
    assert (run.complete, run.left_out, run.began_ns) == (False, "b1 is not ready", 5)
    assert (run.racks, run.min_racks, run.allowance[7]) == (racks, 2, 3)
    assert run.damage == ("operations: no history of reader",)
    assert run.guarded == set(run.least_loss) == set(run.bookies) == {"b1", "b2", "b3"}
    assert ([one["kind"] for one in run.faults], len(run.servers), run.chains) == (["kill"], 6, ())


def test_a_list_of_findings_that_is_cut_is_whole_in_a_file(session: Session, tmp_path: Path) -> None:
    lost = range(0, 300, 2)
    folder = make(tmp_path, Story({7: 300, 8: 20}, lost={7: lost, 8: (3, 5)}))
    kept = judged(session, folder).judgements["durability"]
    assert (len(kept.findings), kept.counts["lost"]) == (101, 153)
    rows = [row for row in pq.read_table(folder.findings).to_pylist() if row["property"] == "durability"]
    assert [row["first_entry"] for row in rows if row["ledger"] == 7] == list(lost)
    assert sum(row["count"] for row in rows) == 153
    assert rows[:2] == [asdict(finding) | {"proof": list(finding.proof)} for finding in kept.findings[:2]]
    before = folder.findings.read_bytes()
    judge(session, folder)
    assert folder.findings.read_bytes() == before


def test_a_verdict_is_there_only_when_all_of_its_findings_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path, Story({7: 300}, lost={7: range(0, 300, 2)}))
    judged(INLINE, folder)
    before = content(folder)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.judge.write_findings", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            judge(INLINE, folder)
    assert not folder.verdict_json.exists()
    assert not folder.findings.exists()
    judge(INLINE, folder)
    assert content(folder) == before


def test_a_list_of_findings_that_is_not_cut_has_no_file(session: Session, tmp_path: Path) -> None:
    folder = make(tmp_path, LOSSES)
    folder.findings.write_bytes(b"of an earlier verdict")
    judged(session, folder)
    assert not folder.findings.exists()


def test_the_known_losses_are_found_and_no_other(session: Session, tmp_path: Path) -> None:
    folder = make(tmp_path, LOSSES)
    verdict = judged(session, folder)
    assert verdict.verdict is Verdict.ANOMALY
    assert found(verdict) == {
        ("durability", "lost", 7, 3, 5),
        ("durability", "lost", 8, 2991, 2999),
        ("closing", "closed_below", 8, 2991, 2999),
    }
    assert verdict.damage == ()
    assert verdict == in_process(folder)
    assert json.loads(folder.verdict_json.read_text())["verdict"] == "anomaly"


def test_what_tasks_find_does_not_pass_through_spark(session: Session, tmp_path: Path) -> None:
    """The rows of a log may be more than its JVM holds."""

    class Watched(Inline):
        def map(self, what: str, function: Any, tasks: Any) -> list[Any]:
            answers = super().map(what, function, tasks)
            sizes[what] = max(len(pickle.dumps(answer)) for answer in answers)
            return answers

    sizes: dict[str, int] = {}
    folder = make(tmp_path, LOSSES)
    collect(session, folder)
    watched: Any = Watched()
    assert judge(watched, folder) == judge(session, folder)
    assert sizes["judging protected"] < 1_000
    assert not list(folder.tables.glob(".*"))


def test_many_segments_in_many_buckets_give_the_same_verdict(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "ROWS_IN_BUCKET", 100_000)
    folder = make(tmp_path, LARGE)
    verdict = judged(session, folder)
    assert found(verdict) == {
        ("durability", "lost", 7, 11, 49),
        ("durability", "lost", 9, 65_530, 65_540),
        ("closing", "closed_below", 7, 11, 49),
    }
    assert verdict == in_process(folder)
    assert len(list(folder.operations.iterdir())) > 3
    assert len(list((folder.tables / "census").iterdir())) == 5


def test_twice_gives_the_same_bytes(session: Session, tmp_path: Path) -> None:
    folder = make(tmp_path, LOSSES)
    judged(session, folder)
    first = content(folder)
    folder.verdict_json.unlink()
    judged(session, folder)
    assert content(folder) == first
    assert not [path for path in folder.path.iterdir() if path.name.startswith(".")]
    assert str(tmp_path) not in folder.verdict_json.read_text()


def test_a_clean_run_is_valid(session: Session, tmp_path: Path) -> None:
    assert judged(session, make(tmp_path, CLEAN)).verdict is Verdict.VALID


@pytest.mark.parametrize(("client", "slot"), [("writer", 20), ("observer", 400)])
def test_a_damaged_slot_is_named_and_nothing_is_valid_any_more(
    session: Session, tmp_path: Path, client: str, slot: int
) -> None:
    folder = make(tmp_path, CLEAN)
    with (folder.operations / f"{client}-001-000001.hist").open("r+b") as file:
        file.seek((1 + slot) * SLOT_BYTES + 17)
        file.write(b"\xff")
    verdict = judged(session, folder)
    assert verdict.verdict is Verdict.UNKNOWN
    assert any(f"{client}-001-000001.hist" in damage for damage in verdict.damage)


def test_a_history_under_another_name_is_named(session: Session, tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    first = folder.operations / "writer-001-000001.hist"
    first.rename(folder.operations / "writer-002-000001.hist")
    (folder.operations / "stranger-001-000001.hist").write_bytes(
        (folder.operations / "observer-001-000001.hist").read_bytes()
    )
    damage = judged(session, folder).damage
    assert "operations: no history of writer, boot 1" in damage
    assert any("writer-002-000001.hist: it begins with slot number" in text for text in damage)
    assert any("stranger-001-000001.hist: it is of client number 250" in text for text in damage)


def test_a_missing_history_is_named(session: Session, tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    (folder.operations / "writer-001-000001.hist").unlink()
    verdict = judged(session, folder)
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.damage == (
        "operations: writer recorded 354 slots, its files hold 0",
        "operations: writer-001-000001.hist: it is missing",
    )


def test_evidence_that_was_never_closed_is_unknown(session: Session, tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    folder.end_json.unlink()
    assert judged(session, folder).verdict is Verdict.UNKNOWN


def test_transactions_of_a_killed_run_are_read_offline(tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    saved = folder.transactions.read_text()
    folder.transactions.unlink()
    folder.end_json.unlink()
    missing, unmade = collect(INLINE, folder).damage
    assert missing.startswith("ledgers: transactions.jsonl is missing")
    assert unmade.startswith("ledgers: versions of metadata that must have been there are in no transaction")
    assert collect(INLINE, folder, transactions=lambda run: _write(run.transactions, saved)).damage == ()


def test_transactions_that_a_closed_run_has_lost_are_damage(tmp_path: Path) -> None:
    """The servers' folders of such a run are gone, and nothing may be added to its evidence."""
    folder = make(tmp_path, CLEAN)
    saved = folder.transactions.read_text()
    folder.transactions.unlink()
    raw = folder.raw_files()
    missing, unmade = collect(INLINE, folder, transactions=offline.transactions).damage
    assert missing == "ledgers: transactions.jsonl: it is missing"
    assert unmade.startswith("ledgers: versions of metadata that must have been there are in no transaction")
    assert judge(INLINE, folder).verdict is Verdict.UNKNOWN
    with pytest.raises(EvidenceError, match=r"is gone and .* was never written"):
        offline.transactions(folder)
    assert folder.raw_files() == raw
    _write(folder.transactions, saved)
    assert judged(INLINE, folder).verdict is Verdict.VALID


def test_tables_that_are_missing_or_spoiled_are_no_verdict(session: Session, tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    with pytest.raises(EvidenceError, match="has no tables"):
        judge(session, folder)
    collect(session, folder)
    (part,) = (folder.tables / "census").rglob("*.parquet")
    whole = part.read_bytes()
    part.write_bytes(whole[:100] + bytes(100) + whole[200:])
    with pytest.raises(JudgementError, match=r"^judging protected failed: "):
        judge(session, folder)
    part.unlink()
    with pytest.raises(EvidenceError, match=r"census .* has 0 rows, 2100 were collected"):
        judge(session, folder)
    assert not folder.verdict_json.exists()


@pytest.mark.parametrize(
    "lost",
    [
        "faults/faults.parquet",
        "ledgers/ledgers.parquet",
        "facts/0000.arrow",
        "blocks/bucket=0/blocks.parquet",
    ],
)
def test_a_small_table_an_index_or_facts_that_are_missing_are_no_verdict(tmp_path: Path, lost: str) -> None:
    folder = make(tmp_path, CLEAN)
    collect(INLINE, folder)
    (folder.tables / lost).unlink()
    with pytest.raises(EvidenceError, match="is not as it was collected"):
        judge(INLINE, folder)


def test_a_block_that_the_index_lacks_is_no_verdict(tmp_path: Path) -> None:
    """Its rows would not be judged."""
    folder = make(tmp_path, CLEAN)
    collect(INLINE, folder)
    index = Bucket(folder.tables, 0).file(BLOCKS)
    blocks = pq.read_table(index, partitioning=None)
    pq.write_table(blocks.slice(0, blocks.num_rows - 1), index)
    with pytest.raises(EvidenceError, match=r"operations.* has \d+ rows, its blocks have \d+"):
        judge(INLINE, folder)


def test_tables_made_by_other_code_are_no_verdict(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The facts of ledgers are in them, and may rest on other rules."""
    folder = make(tmp_path, CLEAN)
    collect(session, folder)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.judge.code_stamp", lambda: "of today")
        with pytest.raises(EvidenceError, match="were made by other code") as error:
            judge(session, folder)
    assert error.value.remedy == f"`fencepost check {folder.path}` makes them again"
    assert judge(session, folder).verdict is Verdict.VALID


def test_a_collection_that_fails_leaves_the_former_tables(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path, CLEAN)
    judged(session, folder)
    before = content(folder)
    monkeypatch.setattr(collecting, "neighbours", lambda *_: [None])
    with pytest.raises(JudgementError, match="collecting protected failed"):
        collect(session, folder)
    assert content(folder) == before


def test_batches_are_bounded_and_hold_every_row_once(session: Session, tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    collect(session, folder)
    whole = sum(read_collection(folder).rows[name] for name in BLOCKED)
    for rows, number in ((10**6, 1), (600, 2), (1, 4)):
        parts = list(batches(Bucket(folder.tables, 0), rows))
        sizes = [sum(table.num_rows for table in batch.tables.values()) for batch in parts]
        assert sum(sizes) == whole
        assert len(sizes) == number, sizes  # 2401 rows are one block


def _write(path: Path, text: str) -> None:
    path.write_text(text)
