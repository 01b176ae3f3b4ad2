"""The append load under random kills, in its quick form; and a release without the protection."""

from __future__ import annotations

import json
from typing import Any

from tests.live.running import Start, assert_as_stated


def only_mode(code: int, text: str) -> dict[str, Any]:
    modes = assert_as_stated(code, text)[0]["modes"]
    assert len(modes) == 1
    said: dict[str, Any] = next(iter(modes.values()))
    return said


def test_a_protected_cluster_keeps_everything_while_bookies_are_killed(fencepost: Start) -> None:
    run = fencepost("run", "soak/kill9", "--mode", "protected", "--seed", "3", "--set", "for_s=15", "--json")
    run.wait_for("load writers begins")
    judged = only_mode(*run.finish())["judgements"]
    assert {judged[name]["verdict"] for name in ("durability", "closing", "fencing", "order")} == {"valid"}
    faults = [json.loads(line) for line in (run.folder / "raw/faults/faults.jsonl").read_text().splitlines()]
    assert sum(fault["kind"] == "kill" and fault["phase"] == "healed" for fault in faults) >= 2
    run.assert_nothing_left()


def test_a_release_that_ignores_the_protection_is_found_out(fencepost: Start) -> None:
    arguments = ("--mode", "protected", "--bookkeeper", "4.14.7", "--json")
    said = only_mode(*fencepost("run", "bp46/truncation", *arguments).finish())
    assert said["verdict"] == "anomaly"
    assert "50 of 50 acknowledged entries lost" in str(said["headline"])
