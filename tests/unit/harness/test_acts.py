"""Every step that a plan may name has an action; a step that is only in the vocabulary could not run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.commands import Commands
from evidence.codes import Outcome
from harness.registry import STEPS, Done, step
from harness.steps.clients import Read, read
from harness.vocabulary import words
from nemesis.registry import FAULTS
from plans.names import Params, name_of
from plans.sequence import Recorded
from plans.steps import Condition, Elapsed


def test_every_step_can_run() -> None:
    assert set(words().single) - set(STEPS) - set(FAULTS) == set()
    assert "load" in STEPS


def test_a_condition_has_the_name_under_which_it_is_registered() -> None:
    for name, model in words().conditions.items():
        assert name == name_of(model)
        assert issubclass(model, Condition | Elapsed)


def test_a_name_stands_for_one_step() -> None:
    class Create(Params):
        pass

    with pytest.raises(ValueError, match="step 'create' is registered twice"):
        step(Create)(lambda stage, params: Done("made"))


def test_a_step_that_was_read_without_its_model_cannot_run() -> None:
    with pytest.raises(TypeError, match="create is given Recorded"):
        STEPS["create"].run(cast("Any", None), Recorded())


REFUSED = {"ok": False, "outcome": "unknown", "error": "ReadException", "code": -1}


@pytest.mark.parametrize(
    ("lac", "outcome", "said"),
    [
        ({"ok": True, "lac": 4}, Outcome.OK, "reads 5 entries"),
        ({"ok": True, "lac": -1}, Outcome.OK, "finds nothing to read in main (LAC -1)"),
        (REFUSED, Outcome.UNKNOWN, "asks for the LAC of main"),
    ],
)
def test_a_read_up_to_a_lac_that_nobody_told_is_not_ok(
    lac: dict[str, Any], outcome: Outcome, said: str
) -> None:
    replies = {"lac": lac, "read": {"ok": True, "entries": 5}}
    asked: Any = SimpleNamespace(name="reader", submit=lambda do, **_: replies[do])
    ledgers = SimpleNamespace(handle=lambda client, ledger: "h")
    stage: Any = SimpleNamespace(
        ledgers=ledgers, client=lambda name: Commands(asked, lambda reply, do: reply)
    )
    done = read(stage, Read(client="reader", ledger="main"))
    assert done.outcome is outcome
    assert said in done.text
