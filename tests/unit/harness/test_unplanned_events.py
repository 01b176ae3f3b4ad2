"""What goes otherwise than planned ends the steps, not the run; faults of harness and machine do end it."""

from __future__ import annotations

import errno
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import nemesis.power  # noqa: F401  # registers its fault
from cluster.interface import Exit, ProcessState
from evidence.codes import Outcome
from evidence.folder import RunFolder
from evidence.recorders import Recorder
from evidence.shapes import EndTree
from harness.conditions.servers import Down
from harness.judging import who_deviated, with_deviations
from harness.narrator import Narrator
from harness.recording import finals
from harness.recording import perform as performing
from harness.recording.context import Ledgers, RunContext, RunningLoad, format_death, of_servers
from harness.recording.finals import heal_everything, observe
from harness.recording.perform import run_rounds
from harness.recording.record import _end
from harness.registry import CONDITIONS, Declared, Done, await_condition
from harness.steps.clients import Append
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from plans.expected.comparison import Comparison
from plans.grammar.names import Params
from plans.grammar.sequence import StepSpec, Together
from plans.grammar.steps import Elapsed
from plans.load import load_tree
from plans.resolve import resolve
from protocol.errors import (
    ClientError,
    ContradictedError,
    FaultError,
    FencepostError,
    LinkError,
    NotReadyError,
    ServerError,
    StepError,
    UnplannedDeathError,
)
from tests.unit.nemesis.fake_cluster import FakeCluster
from tests.unit.nemesis.fake_disks import give_disks

DEFECT = Exit("b1", 1, 1, None, 5)
FROM_OUTSIDE = Exit("b1", 1, None, 9, 5)
PROXY = Exit("proxy", 1, 2, None, 5)
PLAN = {
    "name": "test/otherwise",
    "source": {"document": "BP-46", "section": "Test Plan"},
    "about": "Steps that go otherwise.",
    "clients": ["writer"],
    "expect": {"journal": ["holds"]},
    "modes": ["journal"],
    "control": {"nothing": "only fakes run it"},
    "limits": {"quiet_s": 0.01},
    "steps": [{"create": {"client": "writer", "ledger": "main"}}],
}
Act = Callable[[RunContext, Any], Done]
Played = Callable[..., None]


class Dying(FakeCluster):
    """A fake cluster in which processes may end by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.deaths: list[Exit] = []
        self.bookies = {name: self.process(name) for name in ("b1", "b2", "b3")}

    def unplanned(self) -> list[Exit]:
        return self.deaths


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    """A context on a fake cluster, on which ``act`` does what a test wants."""
    cluster: Any = Dying()
    monkeypatch.setattr(finals, "await_quiet", lambda on: "all quiet")
    folder = RunFolder.create(tmp_path, "journal")
    steps = Recorder(folder.steps)
    plan = resolve(load_tree(PLAN), 1, "journal")
    return RunContext(
        cluster, Nemesis(cluster, lambda _: None), Ledgers(steps), Narrator(quiet=True), plan, folder, steps
    )


@pytest.fixture
def played(context: RunContext, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Does these steps, each as its act says."""

    def play(*steps: StepSpec | Together, **acts: Act) -> None:
        known = {name: Declared(Params, act) for name, act in acts.items()}
        monkeypatch.setattr(performing, "STEPS", known)
        object.__setattr__(context.plan.plan, "steps", steps)
        run_rounds(context)

    return play


def spec(name: str) -> StepSpec:
    return StepSpec(name=name, params=Params())


def raising(error: FencepostError) -> Act:
    def act(context: RunContext, step: Any) -> Done:
        raise error

    return act


@pytest.mark.parametrize(
    "error",
    [
        NotReadyError("waited 9 s for condition 'replicated'"),
        UnplannedDeathError("b1 ended on its own after rung 'started'"),
        StepError("b1 became ready"),
    ],
)
def test_what_the_servers_do_otherwise_ends_the_steps_and_is_noted(
    context: RunContext, played: Played, error: FencepostError
) -> None:
    played(spec("start"), spec("kill"), start=raising(error))
    assert context.left_out == str(error)
    assert context.deviations == [str(error)]


def test_steps_that_take_longer_than_the_run_may_end_and_the_run_is_judged(
    context: RunContext, played: Played
) -> None:
    context.steps_until = time.monotonic()
    played(spec("start"), start=raising(FaultError("nothing is begun any more")))
    assert context.deviations == ["the run's limit of time ended its steps"]
    context.assert_alive()  # what follows the steps has its own limits
    context.steps_until = time.monotonic() + 60
    played(spec("start"), start=lambda *_: Done("b1 is ready"))
    assert len(context.deviations) == 1


def test_a_step_with_another_outcome_ends_the_steps(context: RunContext, played: Played) -> None:
    append = StepSpec(
        name="append", params=Append(client="writer", ledger="main", entries=1), outcome="unknown"
    )
    played(append, append=lambda *_: Done("1 acknowledged", Outcome.OK))
    assert context.deviations == ["step 'append' ended ok, the plan expects unknown: 1 acknowledged"]
    assert who_deviated(context.folder) == "client"


@pytest.mark.parametrize(("kind", "who"), [(ContradictedError, "server"), (StepError, "")])
def test_a_server_decides_otherwise_when_it_was_seen_to(
    context: RunContext, played: Played, kind: type[StepError], who: str
) -> None:
    played(spec("start"), start=raising(kind("b1 became ready")))
    assert context.deviations == ["b1 became ready"]
    assert who_deviated(context.folder) == who


@pytest.mark.parametrize(
    "error", [LinkError("the proxy refused"), ClientError("writer ended"), FaultError("not confirmed")]
)
def test_a_fault_of_the_harness_ends_the_run(
    context: RunContext, played: Played, error: FencepostError
) -> None:
    with pytest.raises(type(error)):
        played(spec("start"), start=raising(error))
    assert not context.deviations


@pytest.mark.parametrize(("death", "judged"), [(DEFECT, True), (FROM_OUTSIDE, False), (PROXY, False)])
def test_a_death_is_the_servers_own_unless_it_came_from_outside(
    context: RunContext, death: Exit, judged: bool
) -> None:
    cluster: Any = context.cluster
    cluster.deaths = [death]
    assert of_servers(UnplannedDeathError("ended"), context) is judged
    assert of_servers(FaultError("kill b1: b1 is down"), context) is judged
    assert not of_servers(LinkError("the proxy does not answer"), context)


@pytest.mark.parametrize(
    ("death", "text"),
    [
        (DEFECT, "b1 (boot 1) ended on its own with exit code 1"),
        (Exit("b1", 1, None, 6, 5), "b1 (boot 1) ended on its own with signal 6"),
        (FROM_OUTSIDE, "b1 (boot 1) was killed by a SIGKILL that the harness did not send"),
    ],
)
def test_the_text_of_a_death_says_who_ended_the_process(death: Exit, text: str) -> None:
    assert format_death(death) == text


def test_the_end_of_a_run_has_the_keys_that_are_read_and_no_other(context: RunContext) -> None:
    context.left_out, context.not_asked = "b1 became ready", 1
    context.note("b1 became ready")
    sealing = {"files", "seal"}
    assert {*_end(context, {"log": {}}), "load", *sealing} == EndTree.__annotations__.keys()


def test_a_death_that_is_noted_ends_no_later_wait(context: RunContext) -> None:
    cluster: Any = context.cluster
    cluster.deaths = [DEFECT]
    with pytest.raises(UnplannedDeathError):
        context.assert_alive()
    context.note("b1 ended")
    context.assert_alive()
    cluster.deaths = [DEFECT, Exit("b2", 1, 1, None, 9)]
    with pytest.raises(UnplannedDeathError, match="b2"):
        context.assert_alive()


def test_a_full_disk_is_a_fault_of_the_machine(context: RunContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.recording.context.full_disk", lambda _: "the disk is full")
    assert not of_servers(NotReadyError("b1 is not ready"), context)


@pytest.mark.parametrize(
    "waiting",
    [
        spec("wait_for"),
        StepSpec(name="wait_for", params=Elapsed(for_s=600)),
        StepSpec(name="kill", params=Params(), at_s=600),
        StepSpec(name="kill", params=Params(), when=Elapsed(for_s=600)),
    ],
)
def test_the_first_difference_ends_the_other_branches(
    context: RunContext, played: Played, waiting: StepSpec
) -> None:
    differed = threading.Event()

    def differs(on: RunContext, step: Any) -> Done:
        try:
            raise NotReadyError("the recovery gets no answer")
        finally:
            differed.set()

    def waits(on: RunContext, step: Any) -> Done:
        assert differed.wait(10)
        while True:  # ends by the error that assert_alive raises
            on.assert_alive()

    block = Together(together=((waiting,), (spec("recover"),)))
    played(block, spec("kill"), recover=differs, wait_for=waits)
    assert context.deviations == ["the recovery gets no answer"]
    context.assert_alive()


def test_an_error_of_the_system_ends_the_other_branches(context: RunContext, played: Played) -> None:
    def failing(on: RunContext, step: Any) -> Done:
        raise OSError(errno.EMFILE, "Too many open files")

    waiting = StepSpec(name="wait_for", params=Elapsed(for_s=600))
    with pytest.raises(FencepostError, match="Too many open files"):
        played(Together(together=((waiting,), (spec("recover"),))), recover=failing)
    assert not context.deviations


@pytest.mark.parametrize("away", ["killed", "paused", "down"])
def test_a_condition_waits_while_a_fault_keeps_zookeeper_from_answering(
    context: RunContext, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    answers: list[Any] = [ServerError("ZooKeeper could not list the ledgers"), (True, "b1 is down")]

    def look() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, ServerError):
            raise answer
        return answer

    if away == "down":
        context.cluster.process("zk1").kill()
    else:
        context.nemesis.inject(FAULTS["kill" if away == "killed" else "pause"](target="zk1"))
    monkeypatch.setitem(CONDITIONS, "down", Declared(Down, lambda *_: look))
    assert await_condition(context, Down(target="b1", timeout_s=60)) == "b1 is down"


@pytest.mark.parametrize("kind", [ServerError, UnplannedDeathError, NotReadyError])
def test_other_errors_of_a_condition_end_its_wait(
    context: RunContext, monkeypatch: pytest.MonkeyPatch, kind: type[ServerError]
) -> None:
    if kind is not ServerError:
        context.nemesis.inject(FAULTS["kill"](target="zk1"))

    def look() -> Any:
        raise kind("no answer")

    monkeypatch.setitem(CONDITIONS, "down", Declared(Down, lambda *_: look))
    with pytest.raises(kind, match="no answer"):
        await_condition(context, Down(target="b1", timeout_s=60))


def test_a_bookie_that_does_not_come_back_leaves_the_rest_of_the_healing(context: RunContext) -> None:
    cluster: Any = context.cluster
    context.nemesis.inject(FAULTS["kill"](target="b1"))
    cluster.process("b1").refusing = True
    cluster.process("b2").kill()  # as if it had ended on its own
    context.loads["stuck"] = RunningLoad(threading.Event(), Future())
    context.loads["stuck"].totals.set_exception(NotReadyError("no reply"))
    heal_everything(context)
    assert [one.partition(":")[0] for one in context.deviations] == ["no reply", "kill b1 was not healed"]
    assert cluster.process("b2").state is ProcessState.RUNNING


def test_no_bookie_of_a_fault_that_was_not_healed_is_started_as_if_it_had_ended_on_its_own(
    context: RunContext, tmp_path: Path
) -> None:
    cluster: Any = context.cluster
    give_disks(cluster, tmp_path, "data")
    context.nemesis.inject(FAULTS["power_loss"](targets=("b1", "b2")))
    cluster.process("b1").refusing = True
    heal_everything(context)
    assert [one.partition(":")[0] for one in context.deviations] == ["power_loss b1,b2 was not healed"]
    assert cluster.process("b1").boot == 2


def test_what_cannot_be_observed_leaves_out_nothing_else(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_reply(on: RunContext) -> Any:
        raise NotReadyError("no reply to 'final'")

    passes = iter((1, 2))
    monkeypatch.setattr(finals, "take_census", lambda on: f"census {next(passes)}")
    monkeypatch.setattr(finals, "_final_reads", no_reply)
    observe(context)
    assert (list(passes), context.deviations) == ([], ["no reply to 'final'"])


@pytest.mark.parametrize(
    ("outcome", "code", "decided"),
    [
        ("ok", None, "client"),
        ("unknown", -101, "client"),
        ("fail", -11, "client"),
        ("unknown", -23, ""),
        ("unknown", -21, ""),  # no quorum of answers in time
        ("unknown", -6, ""),  # what the client knows of registrations
        ("unknown", None, ""),
        ("fail", None, ""),
    ],
)
def test_silence_is_no_decision(tmp_path: Path, outcome: str, code: int | None, decided: str) -> None:
    """Nor is an error of the client process itself, which has a name and no code."""
    folder = RunFolder.create(tmp_path, "journal")
    facts = {} if outcome == "ok" else {"error": "an error", "code": code}
    record = {"step": "append", "params": {"client": "writer", "ledger": "main"}, "facts": facts}
    planned = "unknown" if outcome == "ok" else "ok"
    folder.steps.write_text(json.dumps({**record, "planned": planned, "outcome": outcome}) + "\n")
    assert who_deviated(folder) == decided


def test_a_run_that_went_otherwise_meets_nothing_and_says_first_why() -> None:
    met = with_deviations(Comparison(True, ("as expected: holds",)), ["b1 ended"], decided="")
    assert (met.met, met.contradicted, met.reasons) == (False, False, ("b1 ended",))
    assert not with_deviations(Comparison(False, ("?",), missed=True), ["b1 ended"], decided="").missed
    unknown = Comparison(False, ("the verdict is unknown",))
    result = with_deviations(unknown, ["append ended ok"], decided="client")
    assert result.contradicted
    assert result.reasons == ("the client decided otherwise: append ended ok", "the verdict is unknown")
    served = with_deviations(unknown, ["b1 became ready"], decided="server")
    assert (served.contradicted, served.reasons[0]) == (True, "the server decided otherwise: b1 became ready")
    lost = with_deviations(Comparison(False, ("lost",), unexpected=True), ["append ended ok"], decided="")
    assert lost.reasons == ("lost", "append ended ok")
    stated = with_deviations(Comparison(False, ("torn",)), ["append ended ok"], decided="", anomaly="1 lost")
    assert stated.unexpected
    assert stated.reasons == (
        "an anomaly in a run that went otherwise than planned: 1 lost",
        "append ended ok",
        "torn",
    )
