"""BP-46's boot live: an unclean end is seen, a clean one is not, and what `servers` saw of it.

In a quick form: each once, under protection. ``scripts/bench scenarios`` runs the series with their
bounds.
"""

from __future__ import annotations

from plans.expected.expectations import STANDING
from tests.live.running import Start
from tests.live.scenarios.stating import as_stated

NAMES = ("unclean-detected", "limbo-late")


def test_a_protected_bookie_sees_how_it_ended_and_serves_too_early(
    fencepost: Start,
) -> None:
    run, runs = as_stated(fencepost, NAMES, "protected")
    seen, late = (runs[name]["judgements"]["servers"] for name in NAMES)
    assert {one["kind"] for one in seen["findings"]} <= {defect.kind for defect in STANDING["protected"]}
    assert seen["seen"]["suspicious"] == 1
    assert (seen["seen"]["tried_unclean_unseen"], seen["seen"]["tried_clean_seen_unclean"]) == (1, 1)
    assert seen["seen"]["marked"] == seen["seen"]["tried_unmarked"] == 2
    # Asked in time, b1 denies what it lost; asked late, its marks show that it had served before them.
    assert (
        late["counts"]["available_unchecked"] == 1
        or runs["limbo-late"]["judgements"]["durability"]["findings"]
    )
    run.assert_nothing_left()
