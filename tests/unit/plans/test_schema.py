"""The JSON Schema for editors: complete, closed, and of one piece."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from plans.grammar.sequence import CHOSEN
from plans.reading.schema import json_schema


@pytest.fixture
def schema(words: Any) -> Any:
    return json.loads(json.dumps(json_schema(words)))


def every(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        schema = list(schema.values())
    for inner in schema if isinstance(schema, list) else ():
        yield from every(inner)


def alternatives(schema: Any) -> dict[str, Any]:
    """Each step's name with its schema."""
    return {one["required"][0]: one for one in schema["$defs"]["Step"]["oneOf"]}


def test_every_reference_leads_somewhere_and_every_definition_is_used(schema: Any) -> None:
    used = {one["$ref"].removeprefix("#/$defs/") for one in every(schema) if isinstance(one.get("$ref"), str)}
    assert used == set(schema["$defs"])


def test_every_step_is_one_alternative(schema: Any, words: Any) -> None:
    assert set(alternatives(schema)) == {*words.single, *CHOSEN, "together"}


def test_only_acts_of_clients_and_admin_commands_have_an_outcome(schema: Any) -> None:
    steps = alternatives(schema)
    assert "outcome" in steps["append"]["properties"]
    assert "outcome" in steps["admin"]["properties"]
    assert not {"outcome"} & (set(steps["kill"]["properties"]) | set(steps["heal"]["properties"]))


def test_keys_are_those_that_plans_write(schema: Any, words: Any) -> None:
    cut = schema["$defs"]["Cut"]
    assert set(cut["properties"]) == {"from", "to", "way"}
    assert set(cut["required"]) == {"from", "to"}
    assert cut["additionalProperties"] is False


def test_chosen_steps_offer_what_there_is(schema: Any, words: Any) -> None:
    steps = alternatives(schema)
    waits = steps["wait_for"]["properties"]["wait_for"]["oneOf"]
    assert {one["properties"]["condition"]["const"] for one in waits} == set(words.conditions)
    (load,) = steps["load"]["properties"]["load"]["oneOf"]
    assert set(load["properties"]) == {"workload", "as", "clients", "rate_per_s"}
    assert set(load["required"]) == {"workload", "as", "clients"}
    faults = steps["chaos"]["properties"]["chaos"]["properties"]["faults"]["items"]["oneOf"]
    assert {one["required"][0] for one in faults} == {"cut", "isolate", "kill", "pause", "slow", "stop"}


def test_a_single_value_may_be_a_reference_to_a_parameter(schema: Any) -> None:
    reference = {"$ref": "#/$defs/Vary"}
    start = schema["$defs"]["Start"]["properties"]
    assert start["timeout_s"]["anyOf"][-1] == reference
    assert start["version"]["anyOf"][-1] == reference
    assert reference not in start["conf"].get("anyOf", [])
    assert start["conf"]["additionalProperties"]["anyOf"][-1] == reference
    assert "anyOf" not in schema["properties"]["name"]


def test_modes_are_those_given(words: Any) -> None:
    schema = json_schema(words, modes=["mine"])
    assert schema["properties"]["modes"]["items"] == {"enum": ["mine"]}
    assert set(schema["properties"]["expect"]["properties"]) == {"mine"}
    assert {"steps", "expect", "control"} <= set(schema["required"])
