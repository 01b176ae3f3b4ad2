"""The scenarios of the repository load, with the faults and workloads that there are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cluster.releases.versions import DEFAULT_VERSION
from harness import preparing, vocabulary
from plans.defects import ordered
from plans.expected.controls import effect
from plans.expected.expectations import Breaks
from plans.grammar.sequence import dump
from plans.load import find, load, scenarios
from plans.models import Plan
from plans.reading.schema import json_schema
from plans.resolve import from_json, resolve
from plans.versions import within


def scenario(name: str, **settings: Any) -> Plan:
    return load(find(name), vocabulary.words(), settings=settings)


@pytest.mark.parametrize("name", scenarios())
def test_it_loads_resolves_and_comes_back(name: str) -> None:
    plan = scenario(name)
    assert plan.name == name
    assert plan.title, "one line for `fencepost list scenarios`"
    preparing.require_known_names(plan)
    for mode in plan.expect:
        resolved = resolve(plan, 1, mode)
        tree = json.loads(json.dumps(resolved.as_json()))
        assert from_json(tree, vocabulary.words()) == resolved
        assert from_json(tree).as_json() == tree


@pytest.mark.parametrize("name", scenarios())
def test_each_control_breaks_something_on_the_release_that_is_run(name: str) -> None:
    plan = scenario(name)
    version = plan.cluster.version or DEFAULT_VERSION
    for control in plan.control:
        if control.settings is not None:
            other = scenario(name, **control.settings)
            assert any(effect(other, control, mode, version) for mode in other.modes), control
        elif control.defect is not None:
            assert within(version, ordered(control.defect).releases), control
        elif control.nothing is None:
            shown = [effect(plan, control, mode, version) for mode in plan.modes]
            assert all(shown) if control.step else any(shown), control


def test_truncation_states_what_was_measured() -> None:
    plan = scenario("bp46/truncation")
    assert set(plan.modes) == {"unprotected", "protected", "journal"}
    stated = plan.expect["unprotected"]
    broken = {(one.property, one.kind, one.ledger) for one in stated if isinstance(one, Breaks)}
    assert broken == {("durability", "lost", "main"), ("closing", "closed_below", "main")}
    assert plan.cluster.client_conf["delayEnsembleChange"] == "true"


def test_the_soak_is_as_long_as_it_is_told_and_kills_nobody_twice() -> None:
    resolved = resolve(scenario("soak/kill9", for_s="20"), 3, "protected")
    text = json.dumps([dump(step) for step in resolved.plan.steps])
    assert '"for_s": 20.0' in text
    assert '"kill"' in text
    assert "any-bookie" not in text


def test_the_schema_speaks_of_every_step_and_workload() -> None:
    text = json.dumps(json_schema(vocabulary.words()))
    for name in [*vocabulary.words().single, *vocabulary.words().conditions, *vocabulary.words().workloads]:
        assert f'"{name}"' in text
