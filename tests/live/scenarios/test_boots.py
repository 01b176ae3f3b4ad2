"""BP-46's boot live: what bookies see, refuse, remember and repair, after crashes and upon other disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.tables import read_table
from plans.expected.expectations import STANDING
from tests.length import quick_and_long
from tests.live.scenarios.conftest import Stated

QUICK = (
    "protected replay limbo-answers repair",
    "protected wrong-storage protection-off",
    "protected wiped-bookie",
)
LONG = (
    # What cookies do not detect: the disks of another, a disk taken for a new one.
    "protected cookie-identity",
    "protected wiped-during-recovery",
    "protected crash-while-booting crash-while-repairing crash-after-stamping",
    "protected cookie-refused cookie-stamped disk-replaced",
    "protected stale-writer-after-wipe",
)


@pytest.mark.parametrize("row", quick_and_long(QUICK + LONG, LONG))
def test_each_comes_out_as_stated(stated: Stated, row: str) -> None:
    stated(row)


@pytest.mark.long
def test_journals_do_not_help(stated: Stated) -> None:
    runs = stated("journal directories replace")
    denied = runs["directories"]["judgements"]["answers"]["findings"]
    assert {one["kind"] for one in denied} == {"denied_held"}


def test_a_protected_bookie_sees_how_it_ended_and_serves_too_early(stated: Stated) -> None:
    runs = stated("protected unclean-detected limbo-late")
    seen, late = (one["judgements"]["servers"] for one in runs.values())
    assert {one["kind"] for one in seen["findings"]} <= {defect.kind for defect in STANDING["protected"]}
    for run in runs.values():
        early = available_before_its_check_ended(run["folder"])
        assert run["judgements"]["servers"]["counts"]["available_unchecked"] == early
    assert seen["seen"]["suspicious"] == 1
    assert (seen["seen"]["tried_unclean_unseen"], seen["seen"]["tried_clean_seen_unclean"]) == (1, 1)
    assert seen["seen"]["marked"] == seen["seen"]["tried_unmarked"] == 2
    # Asked in time, b1 denies what it lost; asked late, its marks show that it had served before them.
    lost = runs["limbo-late"]["judgements"]["durability"]["findings"]
    assert late["counts"]["available_unchecked"] == 1 or lost


def available_before_its_check_ended(folder: Path) -> bool:
    """Whether b1, started again, was registered or answered before its preboot check began or set a mark."""
    events = [
        row
        for row in read_table(folder / "tables", "servers").to_pylist()
        if row["server"] == "b1" and row["boot"] == 2
    ]
    up = [row["latest_ns"] for row in events if row["event"] in ("registered", "answering")]
    checking = [row["earliest_ns"] for row in events if row["event"] in ("preboot_start", "mark_limbo")]
    return min(up) < max(checking)


def test_a_bookie_that_boots_upon_old_metadata_never_marks_what_it_did_not_see(stated: Stated) -> None:
    judgements = stated("protected metadata-restored")["metadata-restored"]["judgements"]
    assert judgements["durability"]["counts"]["lost_put_back"] == 50
    assert judgements["metadata"]["seen"]["put_back"] >= 1


@pytest.mark.long
def test_what_one_release_wrote_the_other_serves(stated: Stated) -> None:
    """A rolling upgrade and a downgrade, with an active writer and no entry in any journal."""
    assert stated("protected upgrade")["upgrade"]["judgements"]["durability"]["verdict"] == "valid"


@pytest.mark.long
def test_very_many_open_ledgers_are_opened_crashed_recovered_and_read(stated: Stated) -> None:
    judgements = stated("protected many-ledgers", "--set", "ledgers=300")["many-ledgers"]["judgements"]
    assert judgements["durability"]["seen"]["ledgers"] >= 300
    assert judgements["durability"]["seen"]["acknowledged"] >= 600
    assert judgements["closing"]["seen"]["closed_ledgers"] >= 300
