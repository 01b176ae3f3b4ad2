"""Who ran under BP-46's protection: only bookies for which nothing says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.facts import changed_bookies, guarded_bookies, least_losses
from protocol.faults import Loses
from protocol.modes import MODES

ALL = {"b1", "b2", "b3"}


def run(*steps: dict[str, Any], versions: dict[str, str] | None = None, **conf: str) -> dict[str, Any]:
    return {
        "bookies": {"b1": 1, "b2": 2, "b3": 3},
        "versions": dict.fromkeys((*ALL, "writer"), "4.18.0") | (versions or {}),
        "conf": {"bookie": MODES["protected"].bookie | conf},
        "plan": {"steps": list(steps)},
    }


def test_the_protected_mode_protects() -> None:
    assert guarded_bookies(run()) == ALL


@pytest.mark.parametrize("mode", ["journal", "nosync", "unprotected"])
def test_no_other_mode_does(mode: str) -> None:
    assert guarded_bookies(run(**MODES[mode].bookie)) == frozenset()


@pytest.mark.parametrize(
    "conf",
    [
        {"dataIntegrityChecking": "false"},
        {"journalWriteData": "true"},
        {"ledgerStorageClass": "org.apache.bookkeeper.bookie.SortedLedgerStorage"},
    ],
)
def test_each_setting_is_needed(conf: dict[str, str]) -> None:
    assert guarded_bookies(run(**conf)) == frozenset()


@pytest.mark.parametrize(("version", "has"), [("4.14.7", False), ("4.15.0", True), ("4.16.6", True)])
def test_releases_have_it_from_4_15_on(version: str, has: bool) -> None:
    assert ("b2" in guarded_bookies(run(versions={"b2": version}))) is has


def test_a_version_that_nobody_recorded_protects_nobody() -> None:
    tree = run()
    del tree["versions"]["b3"]
    assert guarded_bookies(tree) == {"b1", "b2"}
    assert guarded_bookies({"bookies": {"b1": 1}}) == frozenset()


@pytest.mark.parametrize(
    "start",
    [
        {"conf": {"journalWriteData": "true"}},
        {"conf": {"dataIntegrityChecking": "false"}},
        {"version": "4.14.7"},
    ],
)
def test_a_start_that_changes_it_counts_wherever_it_stands(start: dict[str, Any]) -> None:
    step = {"start": {"target": "b1", "conf": {}} | start}
    assert guarded_bookies(run(step)) == {"b2", "b3"}
    assert guarded_bookies(run({"together": [[{"kill": {"target": "b1"}}, step], []]})) == {"b2", "b3"}


@pytest.mark.parametrize("roll", [{"conf": {"dataIntegrityChecking": "false"}}, {"version": "4.14.7"}])
def test_a_roll_starts_each_of_its_targets(roll: dict[str, Any]) -> None:
    assert guarded_bookies(run({"roll": {"targets": ["b1", "b3"], "how": "kill"} | roll})) == {"b2"}
    assert guarded_bookies(run({"roll": {"targets": ["b1", "b3"], "how": "kill"}})) == ALL


def test_a_start_that_changes_other_things_does_not() -> None:
    same = {"flushInterval": "1000", "journalWriteData": "false"}
    steps = ({"start": {"target": "b1", "conf": same, "version": "4.16.6"}}, {"start": {"target": "b2"}})
    assert guarded_bookies(run(*steps)) == ALL


@pytest.mark.parametrize(
    ("mode", "least"),
    [
        ("journal", Loses.STORED),
        ("nosync", Loses.UNSYNCED),
        ("unprotected", Loses.MEMORY),
        ("protected", Loses.MEMORY),
    ],
)
def test_what_may_take_an_acknowledged_entry_follows_from_the_settings(mode: str, least: Loses) -> None:
    assert least_losses(run(**MODES[mode].bookie)) == dict.fromkeys(ALL, least)


def test_what_may_take_it_is_not_known_of_a_bookie_that_is_started_otherwise() -> None:
    assert set(least_losses(run({"start": {"target": "b1", "conf": {"journalSyncData": "false"}}}))) == {
        "b2",
        "b3",
    }
    assert set(least_losses(run({"start": {"target": "b1", "conf": {"flushInterval": "1"}}}))) == ALL
    assert least_losses({"bookies": {"b1": 1}}) == {}


def test_other_settings_are_those_of_a_start_and_of_a_roll_anywhere_in_the_plan() -> None:
    start = {"start": {"target": "b1", "conf": {"ledgerDirectories": "more,ledgers"}}}
    roll = {"together": [[{"roll": {"targets": ["b3"], "conf": {"flushInterval": 1}}}]]}
    assert changed_bookies(run(start, roll)) == {"b1", "b3"}
    assert changed_bookies(run({"start": {"target": "b2", "conf": {}}})) == frozenset()
