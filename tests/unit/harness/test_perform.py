"""Performing steps, in rounds: each is recorded with its place, and a silent act may end unknown."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from cluster.commands import Commands
from evidence.codes import Outcome
from evidence.folder import RunFolder
from evidence.recorders import Recorder, ledger_names
from harness.recording import perform as performing
from harness.recording.context import Ledgers, RunContext
from harness.recording.perform import StepsOverError, perform
from harness.registry import CONDITIONS, STEPS, Declared, Done, step
from harness.steps.clients import Create, Read, Recover, create, read
from harness.vocabulary import words
from nemesis.registry import FAULTS
from plans.executed import begins
from plans.grammar.names import Params, name_of
from plans.grammar.sequence import Recorded, StepSpec, Together
from plans.grammar.steps import Condition, Elapsed, Quiet
from protocol.errors import ClientError, NotReadyError, UnplannedDeathError, UsageError


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
        step(Create)(lambda context, params: Done("made"))


def test_a_step_that_was_read_without_its_model_cannot_run() -> None:
    with pytest.raises(TypeError, match="create is given Recorded"):
        STEPS["create"].run(cast("Any", None), Recorded())


REFUSED = {"ok": False, "outcome": "unknown", "error": "ReadException", "code": -1}


@pytest.mark.parametrize(
    ("lac", "outcome", "message"),
    [
        ({"ok": True, "lac": 4}, Outcome.OK, "reads 5 entries"),
        ({"ok": True, "lac": -1}, Outcome.OK, "finds nothing to read in main (LAC -1)"),
        (REFUSED, Outcome.UNKNOWN, "asks for the LAC of main"),
    ],
)
def test_a_read_up_to_a_lac_that_nobody_told_is_not_ok(
    lac: dict[str, Any], outcome: Outcome, message: str
) -> None:
    replies = {"lac": lac, "read": {"ok": True, "entries": 5}}
    asked: Any = SimpleNamespace(name="reader", submit=lambda do, **_: replies[do])
    ledgers = SimpleNamespace(handle=lambda client, ledger: "h")
    context: Any = SimpleNamespace(
        ledgers=ledgers, client=lambda name: Commands(asked, lambda reply, do: reply)
    )
    done = read(context, Read(client="reader", ledger="main"))
    assert done.outcome is outcome
    assert message in done.text


def test_a_read_asks_for_as_many_entries_at_once_as_the_plan_says() -> None:
    asked: list[dict[str, Any]] = []

    def submit(do: str, **parameters: Any) -> dict[str, Any]:  # a command's parameters
        asked.append({"do": do, **parameters})
        return {"ok": True, "entries": 5}

    client: Any = SimpleNamespace(name="reader", submit=submit)
    ledgers = SimpleNamespace(handle=lambda client, ledger: "h")
    context: Any = SimpleNamespace(
        ledgers=ledgers, client=lambda name: Commands(client, lambda reply, do: reply)
    )
    read(context, Read(client="reader", ledger="main", last=4, at_once=2))
    assert asked == [{"do": "read", "handle": "h", "first": 0, "last": 4, "batch": 2}]


@pytest.mark.parametrize("began", [("b4", "b1", "b3"), ("b1", "b2", "b3")])
def test_a_ledger_that_begins_with_other_bookies_than_the_plan_names_ends_the_run(
    began: tuple[str, ...],
) -> None:
    created = {"ok": True, "ledger": 7, "bookies": list(began)}
    asked: Any = SimpleNamespace(name="writer", submit=lambda do, **_: created)
    named: list[int] = []
    ledgers = SimpleNamespace(
        new_handle=lambda client, ledger: "h", name=lambda name, ledger, writer: named.append(ledger)
    )
    context: Any = SimpleNamespace(
        ledgers=ledgers, client=lambda name: Commands(asked, lambda reply, do: reply)
    )
    step = {"client": "writer", "ledger": "main", "ensemble": 3, "write_quorum": 3, "ack_quorum": 2}
    create(context, Create(**step, bookies=began))
    with pytest.raises(
        UsageError, match=f"main began with {', '.join(began)}, but the plan names b3, b1, b2"
    ):
        create(context, Create(**step, bookies=("b3", "b1", "b2")))
    assert named == [7]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The records while acts do nothing, and ``recover`` gets no reply: for ``q2`` its client was killed."""

    def silent(context: RunContext, params: Any) -> Done:  # an act's arguments
        if params.ledger == "q2":
            raise ClientError("no reply, for opener (boot 1) ended with SIGKILL")
        raise NotReadyError("no reply to 'opener open' within 20 s")

    nothing = Declared(Params, lambda context, params: Done("done"))
    known = dict.fromkeys(("create", "kill", "start", "heal"), nothing)
    monkeypatch.setattr(performing, "STEPS", {**known, "recover": Declared(Recover, silent)})
    return []


def context(records: list[dict[str, Any]]) -> RunContext:
    """A context that keeps what is recorded."""
    only = SimpleNamespace(
        assert_alive=lambda: None,
        narrator=SimpleNamespace(event=lambda text, style="": None),
        steps=SimpleNamespace(write=records.append),
        plan=SimpleNamespace(plan=SimpleNamespace(rounds=1)),
        round=1,
        ended_by=None,
    )
    return cast("RunContext", only)


def spec(name: str, **timing: Any) -> StepSpec:
    return StepSpec(name=name, params=Params(), **timing)


def test_every_step_has_its_place_and_its_block(records: list[dict[str, Any]]) -> None:
    block = Together(together=((spec("kill"), spec("start")), (spec("kill"),)))
    perform((spec("create"), block, spec("heal")), context(records))
    began = begins(records)
    assert sorted(began) == [(0,), (1, 0, 0), (1, 0, 1), (1, 1, 0), (2,)]
    assert began[(0,)].block_ns == began[(2,)].block_ns < began[(1, 0, 0)].block_ns
    assert began[(1, 0, 0)].block_ns == began[(1, 0, 1)].block_ns <= began[(1, 0, 0)].began_ns


def test_a_step_waits_for_its_time_and_then_for_its_condition(
    records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[Any] = []
    monkeypatch.setattr(performing, "await_condition", lambda context, wanted: waits.append(wanted))
    monkeypatch.setattr(
        performing, "_sleep_until", lambda context, until: waits.append(until - time.monotonic())
    )
    quiet = Quiet()
    perform((spec("create", at_s=100, when=Elapsed(for_s=300)), spec("kill", when=quiet)), context(records))
    assert waits == [pytest.approx(100, abs=30), pytest.approx(300, abs=30), quiet]


def recovery(outcome: Any, ledger: str = "q1") -> StepSpec:
    return StepSpec(name="recover", params=Recover(client="opener", ledger=ledger), outcome=outcome)


@pytest.mark.parametrize("ledger", ["q1", "q2"])
@pytest.mark.parametrize("outcome", ["any", "unknown"])
def test_an_act_that_hears_nothing_has_ended_unknown_where_it_may(
    records: list[dict[str, Any]], outcome: str, ledger: str
) -> None:
    perform((recovery(outcome, ledger),), context(records))
    assert records[0]["outcome"] == Outcome.UNKNOWN.name.lower()
    assert "no reply" in records[0]["text"]


@pytest.mark.parametrize(("otherwise", "kind"), [("finish", StepsOverError), ("error", NotReadyError)])
def test_a_cluster_that_is_not_quiet_ends_the_steps_or_the_run(
    records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, otherwise: Any, kind: type[NotReadyError]
) -> None:
    busy = Declared(Quiet, lambda context, wanted: lambda: (False, "b1 is checking its entries"))
    monkeypatch.setitem(CONDITIONS, "quiet", busy)
    waiting = StepSpec(name="wait_for", params=Quiet(timeout_s=0.01, otherwise=otherwise))
    with pytest.raises(NotReadyError, match="b1 is checking") as raised:
        perform((waiting, spec("kill")), context(records))
    assert raised.type is kind
    assert [record["step"] for record in records] == ["wait_for"]


def test_an_act_that_must_succeed_and_hears_nothing_ends_the_run(records: list[dict[str, Any]]) -> None:
    with pytest.raises(NotReadyError):
        perform((recovery("ok"),), context(records))
    assert "no reply" in records[0]["error"]


def test_an_act_whose_client_ended_by_itself_ends_the_run(records: list[dict[str, Any]]) -> None:
    acting = context(records)
    died: Any = Mock(side_effect=[None, UnplannedDeathError("opener died")])
    acting.assert_alive = died  # type: ignore[method-assign]
    with pytest.raises(UnplannedDeathError):
        perform((recovery("any", "q2"),), acting)


CREATE, KILL = spec("create"), spec("kill")


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plays steps in rounds on a context that only notes what happens to it."""

    def play(steps: tuple[StepSpec, ...], number: int) -> list[str]:
        results: list[str] = []
        context = SimpleNamespace(
            plan=SimpleNamespace(plan=SimpleNamespace(steps=steps, rounds=number)),
            nemesis=SimpleNamespace(heal=lambda: results.append("heal") or ["kill b1"]),
            ledgers=SimpleNamespace(begin_round=lambda one: results.append(f"begin {one}")),
            narrator=SimpleNamespace(event=lambda text, style="": None),
            round=0,
        )
        monkeypatch.setattr(performing, "perform", lambda steps, on: results.append(f"perform {on.round}"))
        monkeypatch.setattr(performing, "FAULTS", {"kill": "a fault"})
        monkeypatch.setattr(performing, "await_quiet", lambda on: results.append("quiet") or "quiet")
        performing.run_rounds(cast("RunContext", context))
        return results

    return play


def test_faults_are_healed_and_the_cluster_waited_for_between_rounds(played: Any) -> None:
    assert played((CREATE, KILL), 3) == [
        *("begin 1", "perform 1"),
        *("heal", "quiet", "begin 2", "perform 2"),
        *("heal", "quiet", "begin 3", "perform 3"),
    ]


def test_without_faults_nothing_is_waited_for(played: Any) -> None:
    assert played((CREATE,), 2) == ["begin 1", "perform 1", "heal", "begin 2", "perform 2"]
    assert played((CREATE, KILL), 1) == ["begin 1", "perform 1"]


def test_a_step_that_says_it_is_over_leaves_out_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over(steps: object, on: object) -> None:
        raise StepsOverError("waited 90 s for condition 'quiet'")

    context = SimpleNamespace(
        plan=SimpleNamespace(plan=SimpleNamespace(steps=(KILL,), rounds=3)),
        ledgers=SimpleNamespace(begin_round=lambda one: None),
        narrator=SimpleNamespace(event=lambda text, style="": results.append(text)),
        ended_by=None,
        folder=RunFolder(tmp_path),
        cluster=SimpleNamespace(unplanned=list),
    )
    results: list[str] = []
    monkeypatch.setattr(performing, "perform", over)
    performing.run_rounds(cast("RunContext", context))
    assert context.left_out == "waited 90 s for condition 'quiet'"
    assert results == ["round 1 of 3", "the remaining steps are skipped: waited 90 s for condition 'quiet'"]


def test_each_round_has_its_own_ledgers_and_handles(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "protected")
    with Recorder(folder.steps) as steps:
        ledgers = Ledgers(steps, rounds=2)
        ledgers.begin_round(1)
        first = ledgers.new_handle("writer", "main")
        ledgers.name("main", 4)
        assert (ledgers.id("main"), ledgers.handle("writer", "main")) == (4, first)
        ledgers.begin_round(2)
        with pytest.raises(UsageError, match="not created yet"):
            ledgers.id("main")
        with pytest.raises(UsageError, match="no handle"):
            ledgers.handle("writer", "main")
        assert ledgers.new_handle("writer", "main") != first
        ledgers.name("main", 5)
    assert ledger_names(folder) == {4: "main.1", 5: "main.2"}


def test_one_round_leaves_names_as_they_are(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "protected")
    with Recorder(folder.steps) as steps:
        ledgers = Ledgers(steps)
        ledgers.begin_round(1)
        ledgers.name("main", 4)
    assert ledger_names(folder) == {4: "main"}
