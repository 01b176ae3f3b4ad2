"""Crashes in the middle of boots and repairs live, and boots that cannot protect.

In a quick form: each once, under protection. ``scripts/bench scenarios`` runs the series with their
bounds.
"""

from __future__ import annotations

import pytest

from tests.live.length import quick_and_long
from tests.live.running import Start
from tests.live.scenarios.stating import as_stated

VARIANTS = {
    "crashes on the way": ("crash-while-booting", "crash-while-repairing", "crash-after-stamping"),
    "boots that cannot protect": ("wrong-storage", "protection-off"),
}
LONG = ("crashes on the way",)


@pytest.mark.parametrize("about", quick_and_long(VARIANTS, LONG))
def test_each_comes_out_as_stated(
    about: str,
    fencepost: Start,
) -> None:
    run, _ = as_stated(fencepost, VARIANTS[about], "protected")
    run.assert_nothing_left()
