"""Operators' mistakes have the expected results, in a quick form: scenarios that wait only for processes."""

from __future__ import annotations

import pytest

from tests.live.length import quick_and_long
from tests.live.running import Start
from tests.live.scenarios.stating import as_stated

MISTAKES = {
    "an empty disk, a rebuilt index": ("dead-bookie-brought-back", "index-rebuilt"),
    "the other ways to rebuild an index": (
        "index-rebuilt-read-only",
        "ledger-index-rebuilt",
        "ledger-index-refused",
    ),
    "another storage, a conversion": ("storage-changed", "storage-converted"),
}
LONG = ("the other ways to rebuild an index", "another storage, a conversion")


@pytest.mark.parametrize("about", quick_and_long(MISTAKES, LONG))
def test_mistakes_of_operators_truncate_as_stated(
    about: str,
    fencepost: Start,
) -> None:
    run, _ = as_stated(fencepost, MISTAKES[about], "journal", document="closing")
    run.assert_nothing_left()
