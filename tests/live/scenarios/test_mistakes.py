"""Mistakes of operators come out as stated, in a quick form: those that wait for nothing but processes."""

from __future__ import annotations

from collections.abc import Callable

from tests.live.running import Fencepost
from tests.live.scenarios.stating import as_stated


def test_mistakes_of_operators_truncate_as_stated(
    fencepost: Callable[..., Fencepost],
) -> None:
    run, _ = as_stated(
        fencepost, ["dead-bookie-brought-back", "index-rebuilt"], "journal", document="closing"
    )
    run.assert_nothing_left()
