"""Loads under random kills, in their quick form: protection loses nothing; a release without it does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.length import quick_and_long
from tests.live.running import Start, assert_as_stated

pytestmark = pytest.mark.usefixtures("without_spark")


def only_mode(code: int, text: str) -> dict[str, Any]:
    modes = assert_as_stated(code, text)[0]["modes"]
    assert len(modes) == 1
    mode: dict[str, Any] = next(iter(modes.values()))
    return mode


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
    mode = only_mode(*fencepost("run", "bp46/truncation", *arguments).finish())
    assert mode["verdict"] == "anomaly"
    assert "50 of 50 acknowledged entries lost" in str(mode["headline"])


DONE = {
    "recovery": (10, "agreed"),
    "failover": (10, "ledgers"),
    "striped": (25, "changes"),
    "forced": (10, "forces"),
    "chain": (10, "passes"),
}
LONG = ("recovery", "failover", "striped", "forced")


@pytest.mark.parametrize("load", quick_and_long(DONE, LONG))
def test_a_protected_cluster_keeps_what_a_load_was_promised(
    fencepost: Start, load: str, tmp_path: Path
) -> None:
    for_s, what = DONE[load]
    done = {what: 0}
    for seed in range(3, 7):  # a slow machine does little in the time, and not every fault meets an ensemble
        words = ("--mode", "protected", "--seed", f"{seed}", "--set", f"for_s={for_s}")
        run = fencepost("run", f"soak/{load}", *words, results=tmp_path / f"{seed}")
        run.ends(0)
        (totals,) = re.findall(r"load \w+ ends: (.*)", run.log())
        done = {
            name: int(number.replace(",", "")) for number, name in re.findall(r"(\d[\d,]*) (\w+)", totals)
        }
        assert done["acked"] > 0
        assert not done.get("disagreed") and not done.get("late_acked"), totals
        run.assert_nothing_left()
        if done[what] > 0:
            break
        for_s *= 2
    assert done[what] > 0, totals
