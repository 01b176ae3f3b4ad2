"""A rolling upgrade and a downgrade live, with an active writer and no entry in any journal."""

from __future__ import annotations

import pytest

from tests.live.running import Start
from tests.live.scenarios.stating import as_stated


@pytest.mark.long
def test_what_one_release_wrote_the_other_serves(
    fencepost: Start,
) -> None:
    run, runs = as_stated(fencepost, ("upgrade",), "protected")
    assert runs["upgrade"]["judgements"]["durability"]["verdict"] == "valid"
    run.assert_nothing_left()
