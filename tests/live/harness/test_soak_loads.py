"""The soaks of the other loads in their quick form: nothing is lost under protection, and work was done."""

from __future__ import annotations

import re

import pytest

from tests.live.length import quick_and_long
from tests.live.running import Start

DONE = {
    "recovery": (10, "agreed"),
    "failover": (10, "ledgers"),
    "striped": (25, "changes"),  # not every fault meets a bookie of an ensemble
    "forced": (10, "forces"),
    "chain": (10, "passes"),
}
LONG = ("failover", "striped", "forced")


@pytest.mark.parametrize("load", quick_and_long(DONE, LONG))
def test_a_protected_cluster_keeps_what_a_load_was_promised(fencepost: Start, load: str) -> None:
    for_s, what = DONE[load]
    run = fencepost("run", f"soak/{load}", "--mode", "protected", "--seed", "3", "--set", f"for_s={for_s}")
    code, text = run.finish()
    assert code == 0, text
    (totals,) = re.findall(r"load \w+ ends: (.*)", run.log())
    done = {name: int(number.replace(",", "")) for number, name in re.findall(r"(\d[\d,]*) (\w+)", totals)}
    assert done["acked"] > 0
    assert done[what] > 0, totals
    assert not done.get("disagreed") and not done.get("late_acked"), totals
    run.assert_nothing_left()
