"""The wire log of a run becomes its table of frames, and what the log lacks is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bench.raw.folder import write_log
from evidence.codes import NEVER
from evidence.collection import read_collection
from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from evidence.raw.wirelog import RECORDS
from pipeline import collect as collecting
from pipeline.collect import collect
from pipeline.facts import run_facts
from pipeline.judge import judge
from pipeline.session import Session
from pipeline.tables import read_table
from tests.inline import INLINE, judged
from tests.spark.rawfolder import (
    MS,
    OBSERVER,
    RUN_ID,
    WRITER,
    Story,
    make,
    observer_slots,
    write_history,
)
from tests.spark.rawwire import Records, adds

CLEAN = Story({7: 50, 8: 300})
NAMES = {1: "writer-b1", 2: "writer-b2", 3: "writer-b3"}


def logged(
    path: Path,
    story: Story = CLEAN,
    records: Records | None = None,
    *,
    change: Callable[[dict[str, Any]], None] = lambda _: None,
    names: dict[int, str] = NAMES,
) -> RunFolder:
    """A run with a wire log of all its adds; ``change`` alters what the proxy reported at the end."""

    def write(folder: RunFolder) -> dict[str, Any]:
        rows = adds(story.ledgers) if records is None else records
        wire = write_log(folder.frames, [rows], names, run_id=RUN_ID)
        change(wire)
        return wire

    return make(path, story, logged=write)


def table(folder: RunFolder) -> pa.Table:
    return read_table(folder.tables, "frames").sort_by("seq")


def first(folder: RunFolder) -> Path:
    return folder.frames / "frames-000001.wire"


def test_every_frame_is_a_row(session: Session, tmp_path: Path) -> None:
    folder = logged(tmp_path)
    collection = collect(session, folder)
    assert (collection.damage, collection.rows["frames"]) == ((), 6 * 350)
    add = {"ledger": 7, "entry": 1, "connection": 1, "source": WRITER, "bookie": 1, "boot": 1}
    add |= {"protocol": 3, "kind": 1, "flags": 0, "txn": 1, "rule": 0}
    asked = {"seq": 7, "way": 0, "status": -1, "delivered": -1, "lac": 0, "size_bytes": 1100}
    asked |= {"asked_ns": NEVER, "received_ns": 1_000_006_000, "forwarded_ns": 1_000_006_300}
    fields = {"seq": 10, "way": 1, "status": 0, "delivered": 0, "lac": -1, "size_bytes": 40}
    fields |= {"asked_ns": 1_000_006_000, "received_ns": 1_000_009_000, "forwarded_ns": 1_000_009_300}
    rows = table(folder).to_pylist()
    assert (rows[6], rows[9]) == (add | asked, add | fields)
    assert judge(session, folder).verdict is Verdict.VALID
    assert run_facts(folder, collection).wire


def test_a_run_without_a_log_is_no_damage(tmp_path: Path) -> None:
    folder = make(tmp_path, CLEAN)
    verdict = judged(folder)
    assert (verdict.verdict, verdict.damage) == (Verdict.VALID, ())
    collection = read_collection(folder)
    assert collection.rows["frames"] == 0
    assert not run_facts(folder, collection).wire


def test_many_segments_lie_sorted_in_many_buckets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "ROWS_IN_BUCKET", 60_000)
    story = Story({7: 30_000, 9: 100})
    folder = logged(tmp_path, story)
    collection = collect(INLINE, folder)
    assert collection.damage == ()
    assert collection.rows["frames"] == 6 * 30_100 > RECORDS
    # 30,100 adds, their close, create and watch, census twice of three bookies and all read back.
    assert collection.buckets == -(-sum(collection.rows.values()) // 60_000)
    files = sorted((folder.tables / "frames").rglob("*.parquet"))
    assert {file.stem for file in files} == {"blocks"}
    assert 1 < len({file.parent for file in files}) == len(files)  # both segments are merged in each bucket
    seen = table(folder)
    assert seen["seq"].to_pylist() == list(range(1, 6 * 30_100 + 1))
    judge(INLINE, folder)


def test_a_run_whose_log_is_damaged_is_unknown_and_says_so(tmp_path: Path) -> None:
    folder = logged(tmp_path, change=lambda wire: wire["log"].update(lost=5))
    verdict = judged(folder)
    assert verdict.damage == ("frames: the proxy could not record 5 frames",)
    assert verdict.verdict is verdict.judgements["evidence"].verdict is Verdict.UNKNOWN
    assert "unknown: evidence" in verdict.headline
    assert verdict.judgements["durability"].verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("change", "damage"),
    [
        (lambda wire: wire["log"].update(unlogged=3), "3 frames passed before the log was opened"),
        (lambda wire: wire["log"].update(error="disk full"), "the proxy's log failed: disk full"),
        (
            lambda wire: wire["log"].update(records=2101),
            "the proxy had recorded 2101 frames, its files hold 2100",
        ),
        (
            lambda wire: wire["links"]["writer-b2"].update(raw_streams=1),
            "link writer-b2: 1 streams spoke no protocol of BookKeeper's, so nothing of theirs was looked at",
        ),
        (
            lambda wire: wire["links"]["writer-b3"].update(answers=351),
            "link writer-b3: 351 answers passed, 350 are recorded",
        ),
        (lambda wire: wire.clear(), "the proxy did not report at the end what it had recorded"),
    ],
)
def test_what_the_proxy_says_it_lacks_is_damage(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], damage: str
) -> None:
    folder = logged(tmp_path, change=change)
    assert collect(INLINE, folder).damage == (f"frames: {damage}",)
    assert run_facts(folder, read_collection(folder)).wire


def test_a_change_anywhere_in_a_closed_log_is_named(tmp_path: Path) -> None:
    folder = logged(tmp_path)
    for path in (first(folder), folder.frames / "links.jsonl"):
        whole = path.read_bytes()
        for at in range(0, len(whole), len(whole) // 9):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            damage = collect(INLINE, folder).damage
            assert f"frames: {path.name}: it is not what it was when the evidence was closed" in damage, at
        path.write_bytes(whole)


def test_a_segment_that_is_gone_or_cut_or_another_ones_is_named(tmp_path: Path) -> None:
    folder = logged(tmp_path)
    whole = first(folder).read_bytes()
    first(folder).write_bytes(whole[: 128 + 112 * 2000])
    assert "frames: the proxy had recorded 2100 frames, its files hold 2000" in collect(INLINE, folder).damage
    first(folder).rename(first(folder).with_name("frames-000002.wire"))
    collection = collect(INLINE, folder)
    assert collection.rows["frames"] == 0
    assert {
        "frames: frames-000001.wire: it is missing",
        "frames: frames-000001.wire is missing",
        "frames: frames-000002.wire: it is segment 1, so its records are not used",
    } <= set(collection.damage)


def test_a_stamp_that_was_changed_after_the_end_is_not_believed(tmp_path: Path) -> None:
    folder = logged(tmp_path)
    whole = bytearray(first(folder).read_bytes())
    whole[128 + 104] ^= 4
    first(folder).write_bytes(whole)
    collect(INLINE, folder)
    rows = table(folder)
    assert rows["forwarded_ns"].to_pylist() == rows["received_ns"].to_pylist()


def test_a_log_that_a_kill_cut_off_is_whole_up_to_its_last_record(tmp_path: Path) -> None:
    records = adds(CLEAN.ledgers)
    folder = logged(tmp_path, records=records)
    folder.end_json.unlink()
    whole = first(folder).read_bytes()
    first(folder).write_bytes(whole[: 128 + 112 * 2099 + 48] + bytes(64 + 112 * 5000))
    (folder.frames / "frames-000003.wire.new").write_bytes(bytes(1000))
    collection = collect(INLINE, folder)
    assert (collection.rows["frames"], collection.damage) == (2099, ())


def test_frames_of_a_bookie_that_was_started_again_are_of_its_boots(tmp_path: Path) -> None:
    records = adds({7: 50})
    folder = logged(tmp_path, Story({7: 50}), records)
    middle = int(records["received_ns"][150])
    line = '{"server": "b1", "boot": %d, "event": "%s", "at_ns": %d, "signal": 9, "code": null}\n'
    others = [one for one in folder.events.read_text().splitlines(True) if '"exit"' not in one]
    others += [line % (1, "exit", middle), line % (2, "started", middle + 10_500)]
    folder.events.write_text("".join(others))
    collect(INLINE, folder)
    answers = [row for row in table(folder).to_pylist() if row["bookie"] == 1 and row["way"] == 1]
    boots = [row["boot"] for row in answers]
    assert boots == sorted(boots, key=lambda boot: (1, 0, 2).index(boot))
    assert set(boots) == {0, 1, 2}
    assert {row["boot"] for row in table(folder).to_pylist() if row["bookie"] == 2} == {1}


def test_frames_that_could_not_be_recorded_are_named_where_they_are_missing(tmp_path: Path) -> None:
    records = adds({7: 50})
    records["flags"][100] = 2048
    folder = logged(tmp_path, Story({7: 50}), records, names={1: "writer-b1", 2: "writer-b2"})
    assert collect(INLINE, folder).damage == (
        "frames: frames-000001.wire: frames before record 101 could not be recorded",
        "frames: frames-000001.wire: link 3 has no name",
    )


def lac_findings(verdict: RunVerdict) -> set[tuple[str, int, int, int]]:
    return {
        (one.kind, one.ledger, one.first_entry, one.last_entry) for one in verdict.judgements["lac"].findings
    }


def test_a_lac_that_a_client_received_before_the_acknowledgements_is_found(tmp_path: Path) -> None:
    """The copy differs from the lawful run in one file: its observer opened the ledgers too early."""

    def early(folder: RunFolder) -> dict[str, Any]:
        write_history(folder, "observer", OBSERVER, observer_slots(CLEAN), began_ns=MS)
        return write_log(folder.frames, [adds(CLEAN.ledgers)], NAMES, run_id=RUN_ID)

    lawful = judged(logged(tmp_path / "lawful"))
    doctored = judged(make(tmp_path / "doctored", CLEAN, logged=early))
    assert doctored.damage == ()
    assert lac_findings(doctored) - lac_findings(lawful) == {
        ("covers_unacked", 7, 0, 49),
        ("covers_unacked", 8, 0, 299),
    }
    assert not any(kind == "covers_unacked" for kind, *_ in lac_findings(lawful))
