"""Performing steps: each is recorded with its place in the plan, and a silent act may end unknown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence.codes import Outcome
from harness import perform as performing
from harness.perform import StepsOverError, perform
from harness.registry import CONDITIONS, Declared, Done
from harness.stage import Stage
from harness.steps.clients import Recover
from plans.executed import begins
from plans.names import Params
from plans.sequence import StepSpec, Together
from plans.steps import Quiet
from protocol.errors import NotReadyError


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The records while actions do nothing, and ``recover`` gets no reply."""

    def silent(stage: Stage, params: Any) -> Done:  # an act's arguments
        raise NotReadyError("no reply to 'opener open' within 20 s")

    nothing = Declared(Params, lambda stage, params: Done("done"))
    known = dict.fromkeys(("create", "kill", "start", "heal"), nothing)
    monkeypatch.setattr(performing, "STEPS", {**known, "recover": Declared(Recover, silent)})
    return []


def stage(records: list[dict[str, Any]]) -> Stage:
    """A stage that keeps what is recorded."""
    only = SimpleNamespace(
        assert_alive=lambda: None,
        narrator=SimpleNamespace(event=lambda text, style="": None),
        steps=SimpleNamespace(write=records.append),
        plan=SimpleNamespace(plan=SimpleNamespace(rounds=1)),
        round=1,
        ended_by=None,
    )
    return cast("Stage", only)


def spec(name: str) -> StepSpec:
    return StepSpec(name=name, params=Params())


def test_every_step_has_its_place_and_its_block(records: list[dict[str, Any]]) -> None:
    block = Together(together=((spec("kill"), spec("start")), (spec("kill"),)))
    perform((spec("create"), block, spec("heal")), stage(records))
    began = begins(records)
    assert sorted(began) == [(0,), (1, 0, 0), (1, 0, 1), (1, 1, 0), (2,)]
    assert began[(0,)].block_ns == began[(2,)].block_ns < began[(1, 0, 0)].block_ns
    assert began[(1, 0, 0)].block_ns == began[(1, 0, 1)].block_ns <= began[(1, 0, 0)].began_ns


def recovery(outcome: Any) -> StepSpec:
    return StepSpec(name="recover", params=Recover(client="opener", ledger="q1"), outcome=outcome)


@pytest.mark.parametrize("outcome", ["any", "unknown"])
def test_an_act_that_hears_nothing_has_ended_unknown_where_it_may(
    records: list[dict[str, Any]], outcome: str
) -> None:
    perform((recovery(outcome),), stage(records))
    assert records[0]["outcome"] == Outcome.UNKNOWN.name.lower()
    assert "no reply" in records[0]["text"]


@pytest.mark.parametrize(("otherwise", "kind"), [("finish", StepsOverError), ("error", NotReadyError)])
def test_a_cluster_that_is_not_quiet_ends_the_steps_or_the_run(
    records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, otherwise: Any, kind: type[NotReadyError]
) -> None:
    busy = Declared(Quiet, lambda stage, wanted: lambda: (False, "b1 is checking its entries"))
    monkeypatch.setitem(CONDITIONS, "quiet", busy)
    waiting = StepSpec(name="wait_for", params=Quiet(timeout_s=0.01, otherwise=otherwise))
    with pytest.raises(NotReadyError, match="b1 is checking") as raised:
        perform((waiting, spec("kill")), stage(records))
    assert raised.type is kind
    assert [record["step"] for record in records] == ["wait_for"]


def test_an_act_that_must_succeed_and_hears_nothing_ends_the_run(records: list[dict[str, Any]]) -> None:
    with pytest.raises(NotReadyError):
        perform((recovery("ok"),), stage(records))
    assert "no reply" in records[0]["error"]
