"""Every value of a parameter that a scenario names in an ``only``, and each level of loss, makes a plan."""

from __future__ import annotations

import pytest

from harness.vocabulary import words
from plans.load import find, load, scenarios
from plans.reading.document import everything, parse_file

PLANS = {name: parse_file(find(name)) for name in scenarios()}
CASES = sorted(
    {
        (name, parameter, value)
        for name, plan in PLANS.items()
        for _, part in everything(plan.tree)
        if isinstance(part, dict) and isinstance(part.get("only"), dict)
        for parameter, value in part["only"].items()
    }
    | {
        (name, "loss", "power")
        for name, plan in PLANS.items()
        if any(part == {"vary": "loss"} for _, part in everything(plan.tree))
    },
    key=str,
)


@pytest.mark.parametrize(("name", "parameter", "value"), CASES)
def test_a_value_that_decides_something_makes_a_plan(name: str, parameter: str, value: object) -> None:
    load(find(name), words(), settings={parameter: value})
