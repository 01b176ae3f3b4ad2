"""Disks that were emptied, replaced or moved live: what cookies refuse, stamp, and do not detect.

In a quick form: each once, in the most informative mode. ``scripts/bench scenarios`` runs the series
with their bounds.
"""

from __future__ import annotations

import pytest

from tests.live.length import quick_and_long
from tests.live.running import Start
from tests.live.scenarios.stating import as_stated

VARIANTS = {
    "refused and stamped": ("protected", ("cookie-refused", "cookie-stamped", "disk-replaced")),
    "disks of another": ("protected", ("cookie-identity",)),
    "taken for a new one": ("protected", ("wiped-bookie",)),
    "replaced during a recovery": ("protected", ("wiped-during-recovery",)),
    "taken for a new one while a stale writer appends": ("protected", ("stale-writer-after-wipe",)),
    "journals that do not help": ("journal", ("directories", "replace")),
}
LONG = (
    "refused and stamped",
    "taken for a new one while a stale writer appends",
    "journals that do not help",
)


@pytest.mark.parametrize("about", quick_and_long(VARIANTS, LONG))
def test_each_comes_out_as_stated(
    about: str,
    fencepost: Start,
) -> None:
    mode, names = VARIANTS[about]
    run, runs = as_stated(fencepost, names, mode)
    if "directories" in names:
        denied = runs["directories"]["judgements"]["answers"]["findings"]
        assert {one["kind"] for one in denied} == {"denied_held"}
    run.assert_nothing_left()
