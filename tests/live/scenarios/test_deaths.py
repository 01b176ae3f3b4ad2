"""What disks held at deaths, live: losses that deaths explain, and entries that a journal brought back."""

from __future__ import annotations

import json
from typing import Any

from tests.live.running import Start
from tests.live.scenarios.conftest import Stated


def test_what_all_holders_lost_at_once_is_explained_and_a_truncation_is_not_excused(stated: Stated) -> None:
    [verdict] = stated("unprotected lost-together").values()
    assert verdict["headline"].startswith(
        "valid within allowance: 40 lost of 40 acknowledged entries; "
        "40 promised entries of deleted ledgers left out; closing"
    )
    assert losses(verdict) == [("explained", 0, 39)]
    lines = (verdict["folder"] / "raw/servers/events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    results = {(one["server"], one["boot"]): one["conf"] for one in events if one["event"] == "configured"}
    assert set(results) == {(bookie, boot) for bookie in ("b1", "b2", "b3") for boot in (1, 2)}
    assert all(conf == {"journalWriteData": "false", "journalSyncData": "true"} for conf in results.values())


def test_what_was_journaled_comes_back_and_what_was_not_is_explained(
    stated: Stated, fencepost: Start
) -> None:
    [verdict] = stated("protected migration").values()
    assert losses(verdict) == [("explained", 0, 29)]
    for subject, row in (
        ("before:29", "its disk held it (journal)"),
        ("during:29", "its disk held it (index)"),
        ("control:29", "its disk did not hold it"),
    ):
        code, story = fencepost("explain", str(verdict["folder"]), subject).finish()
        assert code == 0 and row in story, story


def losses(verdict: dict[str, Any]) -> list[tuple[str, int, int]]:
    findings = verdict["judgements"]["durability"]["findings"]
    return [(one["loss"], one["first_entry"], one["last_entry"]) for one in findings if one["kind"] == "lost"]
