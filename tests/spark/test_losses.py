"""Losses in recorded runs, from the raw evidence to the comparison with what the plan states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.raw.folder import write_log
from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from harness.judging import compare_with_plan
from harness.vocabulary import words
from plans.load import find, load
from plans.resolve import resolve
from tests.inline import judged
from tests.spark.rawfolder import BOOKIES, RUN_ID, Story, make
from tests.spark.rawwire import adds
from tests.spark.test_frames import NAMES
from tests.unit.evidence.disks import ended, index

SEALED = Story({7: 40, 8: 40}, lost={7: (0, 39)}, names={7: "sealed", 8: "open"})
BOTH = Story({7: 40, 8: 40}, lost={7: (0, 39), 8: (0, 39)}, names={7: "sealed", 8: "open"})
KILLED_NS = 2_000_000_000


def plan_of(name: str, mode: str) -> dict[str, Any]:
    return resolve(load(find(name), words()), 7, mode).as_json()


def lost_together(path: Path, mode: str, *, story: Story = SEALED, configured: bool = True) -> RunFolder:
    """All bookies acknowledged everything, were killed at once, and came up without it."""

    def killed(folder: RunFolder) -> dict[str, Any]:
        faults, events = [], folder.events.read_text()
        for number, bookie in enumerate(BOOKIES, start=1):
            fault = {
                "fault": number,
                "kind": "kill",
                "target": bookie,
                "params": {"target": bookie},
                "proof": {},
            }
            faults += [
                fault | {"phase": phase, "at_ns": KILLED_NS + late}
                for phase, late in (("planned", -5), ("injected", 5), ("confirmed", 6), ("healed", 100))
            ]
            lives = [
                {"boot": 1, "event": "exit", "at_ns": KILLED_NS, "code": None, "signal": 9},
                {"boot": 2, "event": "started", "at_ns": KILLED_NS + 100},
            ]
            if configured:
                journal = {"journalWriteData": str(mode == "journal").lower()}
                lives += [
                    {"boot": boot, "event": "configured", "at_ns": at_ns, "conf": journal}
                    for boot, at_ns in ((1, 1), (2, KILLED_NS + 100))
                ]
            events += "".join(json.dumps({"server": bookie, **life}) + "\n" for life in lives)
            copy = folder.holdings / f"{bookie}-1"
            index(copy / "ledgers", [])
            (copy / "journal").mkdir()
            ended(copy, server=bookie, began_ns=KILLED_NS + 10, ended_ns=KILLED_NS + 20)
        folder.faults.write_text("".join(json.dumps(line) + "\n" for line in faults))
        folder.events.write_text(events)
        return write_log(folder.frames, [adds(story.ledgers)], NAMES, run_id=RUN_ID)

    return make(path, story, logged=killed, resolved=plan_of("bp46/lost-together", mode))


def classes(verdict: RunVerdict) -> set[tuple[int, str, int]]:
    durability = verdict.judgements["durability"]
    return {(one.ledger, one.loss, one.count) for one in durability.findings if one.kind == "lost"}


@pytest.mark.parametrize("configured", [True, False])
def test_entries_that_all_bookies_lost_at_once_are_excused_where_they_were_not_journaled(
    tmp_path: Path, configured: bool
) -> None:
    verdict = judged(lost_together(tmp_path, "unprotected", configured=configured))
    assert classes(verdict) == {(7, "explained", 40)}
    assert verdict.headline.startswith("valid within allowance: 40 lost of 80 acknowledged entries")
    assert verdict.judgements["durability"].counts["excused"] == 40


@pytest.mark.parametrize("configured", [True, False])
def test_the_same_loss_of_journaled_entries_is_unexplained_and_fails_the_run(
    tmp_path: Path, configured: bool
) -> None:
    folder = lost_together(tmp_path, "journal", configured=configured)
    verdict = judged(folder)
    assert classes(verdict) == {(7, "unexplained", 40)}
    assert verdict.verdict is Verdict.ANOMALY
    assert verdict.headline.startswith("40 of 80 acknowledged entries lost")
    comparison = compare_with_plan(verdict, folder)
    assert comparison.unexpected and not comparison.met
    assert "an anomaly that was not expected: durability (lost, unexplained) on sealed" in comparison.reasons


def test_an_allowance_for_one_ledger_excuses_no_other(tmp_path: Path) -> None:
    verdict = judged(lost_together(tmp_path, "unprotected", story=BOTH))
    assert classes(verdict) == {(7, "explained", 40), (8, "explained", 40)}
    assert verdict.verdict is Verdict.ANOMALY
    assert verdict.headline.startswith("80 of 80 acknowledged entries lost")


def test_what_the_last_census_does_not_find_is_lost_although_it_was_read_before(tmp_path: Path) -> None:
    story = Story({7: 50, 9: 20}, denied_later={7: (5, 44)}, names={7: "main"})
    folder = make(tmp_path, story, resolved=plan_of("bp46/truncation", "journal"))
    verdict = judged(folder)
    (finding,) = verdict.judgements["durability"].findings
    assert (finding.kind, finding.ledger, finding.first_entry, finding.last_entry) == ("lost", 7, 5, 44)
    assert verdict.headline.startswith("40 of 70 acknowledged entries lost")
    comparison = compare_with_plan(verdict, folder)
    assert comparison.unexpected and not comparison.met
