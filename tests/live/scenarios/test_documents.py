"""Every scenario of the documents on closing, fencing and the protocol has the expected result.

In a quick form: one round, in the mode that must break (or the only one). Scenarios without such a mode
have separate tests (``test_mistakes``). ``scripts/bench scenarios`` runs the series with their bounds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.vocabulary import words
from plans.load import load
from tests.live.length import quick_and_long
from tests.live.running import Start
from tests.live.scenarios.stating import as_stated

SCENARIOS = Path(__file__).parents[3] / "scenarios"


@pytest.mark.parametrize(
    "document", quick_and_long(["closing", "fencing", "protocol"], ["fencing", "protocol"])
)
def test_the_scenarios_of_a_document_come_out_as_stated(
    document: str,
    fencepost: Start,
) -> None:
    plans = [(path, load(path, words())) for path in sorted(SCENARIOS.glob(f"{document}/*.yaml"))]
    names = [path.stem for path, plan in plans if "unprotected" in plan.modes]
    run, _ = as_stated(fencepost, names, "unprotected", document=document)
    run.assert_nothing_left()


def test_an_ensemble_change_leaves_acknowledged_entries_behind(fencepost: Start) -> None:
    """The only scenario in which journaled entries are lost without a crash."""
    run, verdicts = as_stated(fencepost, ["ensemble-change-in-flight"], "journal", document="protocol")
    (lost,) = verdicts["ensemble-change-in-flight"]["judgements"]["durability"]["findings"]
    assert (lost["first_entry"], lost["last_entry"], lost["loss"]) == (4, 6, "unexplained")
    run.assert_nothing_left()
