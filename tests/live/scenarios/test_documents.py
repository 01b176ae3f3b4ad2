"""Every scenario of the documents on closing, fencing and the protocol comes out as it states.

In a quick form: one round, in the mode that must break (or the only one). The series with their
bounds are those of ``scripts/bench scenarios``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.harness.conftest import Fencepost, fencepost  # noqa: F401  # the fixture

SCENARIOS = Path(__file__).parents[3] / "scenarios"


@pytest.mark.parametrize("document", ["closing", "fencing", "protocol"])
def test_the_scenarios_of_a_document_come_out_as_stated(
    document: str,
    fencepost: Callable[..., Fencepost],  # noqa: F811  # the fixture
) -> None:
    names = [f"{document}/{path.stem}" for path in sorted((SCENARIOS / document).glob("*.yaml"))]
    run = fencepost("run", *names, "--mode", "unprotected", "--json")
    run.look()
    code, text = run.finish()
    runs = json.loads(text[text.index("{") :])["runs"]
    wrong = {
        one["scenario"]: mode["comparison"]["reasons"]
        for one in runs
        for mode in one["modes"].values()
        if not mode["comparison"]["met"]
    }
    assert (code, wrong) == (0, {}), text
    assert [one["scenario"] for one in runs] == names
    run.assert_nothing_left()
