"""Every value of a parameter that a scenario names in an ``only``, and each level of loss, makes a plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ruamel.yaml import YAML

from harness.vocabulary import words
from plans.load import find, load, scenarios


def conditions(value: Any) -> Iterator[dict[str, Any]]:
    """Every ``only`` in a scenario."""
    if isinstance(value, list):
        for item in value:
            yield from conditions(item)
    elif isinstance(value, dict):
        if isinstance(value.get("only"), dict):
            yield value["only"]
        for inner in value.values():
            yield from conditions(inner)


CASES = sorted(
    {
        (name, parameter, value)
        for name in scenarios()
        for only in conditions(YAML(typ="safe").load(find(name).read_text(encoding="utf-8")))
        for parameter, value in only.items()
    }
    | {
        (name, "loss", "power")
        for name in scenarios()
        if "{vary: loss}" in find(name).read_text(encoding="utf-8")
    },
    key=str,
)


@pytest.mark.parametrize(("name", "parameter", "value"), CASES)
def test_a_value_that_decides_something_makes_a_plan(name: str, parameter: str, value: object) -> None:
    load(find(name), words(), settings={parameter: value})
