"""What a bookie remembers, answers and repairs after a crash live: replay, limbo, the copying of entries.

In a quick form: each once, under protection. ``scripts/bench scenarios`` runs the series with their
bounds.
"""

from __future__ import annotations

from tests.live.running import Start
from tests.live.scenarios.stating import as_stated

NAMES = ("replay", "limbo-answers", "repair")


def test_a_protected_bookie_remembers_fences_answers_unknown_and_repairs_itself(
    fencepost: Start,
) -> None:
    run, _ = as_stated(fencepost, NAMES, "protected")
    run.assert_nothing_left()
