"""A control that cannot run, or whose effect nothing states, is refused with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plans.expected.controls import effect
from plans.load import load, load_tree
from plans.models import Control, Plan, plan_tree
from protocol.errors import PlanError

PLAN = """\
name: try/it
source: {document: BP-46}
about: A plan for tests.
clients: [writer]
modes: [protected, journal]
control: CONTROL
vary: {wide: false, long: false}
steps:
  - create: {client: writer, ledger: main}
    note: main is made
  - together:
      - - kill: {target: b1}
          note: b1 dies
  - create: {client: writer, ledger: other}
    note: other is made
  - create: {client: writer, ledger: bare}
    note: bare is made
expect:
  protected:
    - breaks: {property: durability, ledger: main}
    - defect: {property: order, ledger: main, reference: a, rate: sometimes}
    - defect: {property: lac, reference: a}
    - measures: {property: replicas, figure: repair_ms, at_most: 1, document: a}
    - decides: {ledger: other, step: create, outcome: ok, document: a}
    - breaks: {property: fencing, versions: "==4.15.0"}
    - breaks: {property: closing}
      only: {wide: true, long: false}
  journal:
    - breaks: {property: durability, ledger: main}
    - decides: {ledger: other, step: create, outcome: ok, document: a}
  unprotected: [{breaks: {property: durability}}]
"""
Try = Callable[[str], Plan]


@pytest.fixture
def controlled(tmp_path: Path, words: dict[str, Any]) -> Try:
    def load_it(control: str) -> Plan:
        path = tmp_path / "plan.yaml"
        path.write_text(PLAN.replace("CONTROL", control))
        return load(path, words)

    return load_it


@pytest.mark.parametrize(
    "control",
    [
        "{mode: protected}",
        "{mode: protected, property: durability}",
        "{mode: protected, property: lac}",
        "{version: 4.15.0, property: fencing}",
        "{set: {wide: true, long: false}, property: closing}",
        "{step: main is made}",
        "{step: other is made}",
        "{step: b1 dies, ledger: main}",
        "{step: b1 dies, property: durability}",
        "{defect: add-not-stored, property: durability}",
        "[{mode: journal}, {defect: 'close-drops-last-entry,every=1', property: closing}]",
        "{nothing: a search}",
        "[{mode: journal}, {nothing: no fault does it, property: order}]",
        "{nothing: no fault does it, property: order}\nrequired: [durability]",
    ],
)
def test_a_control_that_runs_is_read_and_comes_back(controlled: Try, control: str) -> None:
    plan = controlled(control)
    assert load_tree(plan_tree(plan)).control == plan.control


@pytest.mark.parametrize(
    ("control", "message"),
    [
        ("{mode: unprotected}", "plan.yaml:6:17: the control never runs: `unprotected` is not"),
        ("{mode: protected, property: order}", "nothing under `protected` states that it breaks `order`"),
        ("{mode: protected, property: content}", "nothing under `protected` states that it breaks `content`"),
        ("{version: 4.16.4, property: fencing}", "no mode states that 4.16.4 breaks `fencing` in each run"),
        ("{set: {wide: false}}", "these are the plan's own values"),
        ("{set: {wide: true}, property: content}", "no mode states that these values break `content`"),
        ("{set: {wdie: true}}", "wdie"),
        ("{step: nobody dies}", "no step has the note `nobody dies`"),
        ("{step: b1 dies, property: replicas}", "nothing under `protected` states that it breaks `replicas`"),
        ("{step: bare is made}", "nothing under `protected` states what it does on `bare`"),
        ("{step: b1 dies}", "the step names no ledger; say with `ledger` or `property`"),
        ("{step: b1 dies, ledger: third}", "unknown ledger `third`"),
        ("{step: b1 dies, ledger: other, property: durability}", "breaks `durability` on `other`"),
        ("{step: other is made, property: order}", "nothing under `protected` states that it breaks `order`"),
        ("{mode: protected, ledger: main}", "`ledger` belongs to a control by step, not by mode"),
        (
            "{mode: protected, version: 4.15.0}",
            "one of mode, version, set, step, defect, nothing; given: mode, version",
        ),
        ("{defect: lac-goes-back}", "`property` must say what lac-goes-back breaks"),
        ("{defect: lac-goes-bakc, property: lac}", "lac-goes-back"),
        ("{defect: lac-goes-back, property: lac}\nrequired: [durability]", "the plan does not require `lac`"),
        ("{defect: lac-goes-back, mode: journal, property: lac}", "given: mode, defect"),
        ("[{mode: protected}, {mode: unprotected}]", "plan.yaml:6:37: the control never runs"),
        (
            "[{defect: lac-goes-back, property: lac}, {defect: lac-goes-back, property: closing}]",
            "the defect `lac-goes-back` is a control already",
        ),
        ("[]", "at least one"),
    ],
)
def test_a_control_that_cannot_run_is_refused(controlled: Try, control: str, message: str) -> None:
    with pytest.raises(PlanError) as error:
        controlled(control)
    assert message in str(error.value)


SOMETIMES = "    - defect: {property: order, ledger: main, reference: a, rate: sometimes}\n"
OK = "    - decides: {ledger: other, step: create, outcome: ok, document: aDIFFERS}\n"


@pytest.mark.parametrize(
    ("entry", "differs", "refused"),
    [
        (SOMETIMES, "", True),
        (SOMETIMES.replace("sometimes", "always"), "", False),
        (SOMETIMES, ", differs: a", False),
    ],
)
def test_a_step_is_no_control_where_a_run_without_any_failure_is_as_expected(
    entry: str, differs: str, refused: bool, tmp_path: Path, words: dict[str, Any]
) -> None:
    plan = PLAN.replace("CONTROL", "{step: other is made}").replace("[protected, journal]", "[protected]")
    path = tmp_path / "plan.yaml"
    path.write_text(
        f"{plan[: plan.index('expect')]}expect:\n  protected:\n{entry}{OK.replace('DIFFERS', differs)}"
    )
    if not refused:
        assert load(path, words).control[0].step == "other is made"
        return
    with pytest.raises(PlanError, match="a run in which every promise is kept meets each mode"):
        load(path, words)


def test_a_recorded_plan_is_read_whatever_its_control_was(controlled: Try) -> None:
    tree = plan_tree(controlled("{mode: protected}"))
    assert load_tree(tree | {"control": {"mode": "unprotected"}}).control[0].mode == "unprotected"


def test_what_a_control_does_depends_on_mode_and_release(controlled: Try) -> None:
    plan = controlled("[{mode: protected}, {version: 4.15.0, property: fencing}]")
    by_mode, by_release = plan.control
    assert [entry.says for entry in effect(plan, by_mode, "protected", "4.18.0")] == ["breaks", "defect"]
    assert effect(plan, by_mode, "journal") == effect(plan, Control(nothing="a search"), "protected") == ()
    assert len(effect(plan, by_mode, "protected", "4.15.0")) == 3
    assert len(effect(plan, by_release, "protected", "4.18.0")) == 1
    assert effect(plan, by_release, "journal", "4.15.0") == ()
