"""Metadata under faults and under load, live and in a quick form: each once.

``scripts/bench scenarios`` runs the series with their bounds.
"""

from __future__ import annotations

import pytest

from tests.live.running import Start
from tests.live.scenarios.stating import as_stated


def test_a_bookie_that_boots_upon_old_metadata_never_marks_what_it_did_not_see(
    fencepost: Start,
) -> None:
    run, runs = as_stated(fencepost, ["metadata-restored"], "protected")
    judgements = runs["metadata-restored"]["judgements"]
    assert judgements["durability"]["counts"]["lost_put_back"] == 50
    assert judgements["metadata"]["seen"]["put_back"] >= 1
    run.assert_nothing_left()


@pytest.mark.long
def test_very_many_open_ledgers_are_opened_crashed_recovered_and_read(
    fencepost: Start,
) -> None:
    run, runs = as_stated(fencepost, ["many-ledgers"], "protected", "--set", "ledgers=300")
    judgements = runs["many-ledgers"]["judgements"]
    assert judgements["durability"]["seen"]["ledgers"] >= 300
    assert judgements["durability"]["seen"]["acknowledged"] >= 600
    assert judgements["closing"]["seen"]["closed_ledgers"] >= 300
    run.assert_nothing_left()
