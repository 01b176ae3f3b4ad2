"""The runs of a search: what ended early is judged all the same, and those in progress are shown."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.text import Text

from evidence.findings import Judgement, Verdict
from evidence.folder import FoundRun, RunFolder
from harness.experiments import parallel
from harness.experiments.workers import DiedError, Recording, RecordOrder
from protocol.errors import EvidenceError, FencepostError, Interrupted, ServerError
from search import replay as replaying
from search import running
from search.replay import Again, _code, replay
from search.running import ERROR, NEVER_QUIET, Ended, Runner
from search.status import StatusLines
from tests.unit.search.simulated import ending

Search = Callable[..., list[Ended]]
DONE, DIED = Recording(), Recording(ServerError("b1 did not start"))
LOST: Any = SimpleNamespace(verdict=SimpleNamespace(verdict="anomaly"))


class Recorders:
    """A stand-in for the workers: a mode is recorded with the next answer; ``asked`` are the folders."""

    def __init__(self, *answers: Recording) -> None:
        self._answers = iter(answers)
        self.asked: list[Path] = []

    def record(self, order: RecordOrder) -> Recording:
        RunFolder.create(order.run, order.request.modes[0]).run_json.touch()
        self.asked.append(order.run)
        return next(self._answers)

    def stop(self) -> None:
        """Nothing runs."""


@pytest.fixture
def searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    """Run plans in this process, with the given answers of workers."""
    request = SimpleNamespace(results=tmp_path, modes=("protected",))
    ready: Any = SimpleNamespace(
        request=request, plan=SimpleNamespace(name="try/it", alone=False), seed=5, modes=("m",)
    )
    monkeypatch.setattr(parallel, "replace", lambda request, **_: request)  # it is a stand-in

    def search(*answers: Recording, parallel: int = 1, total_s: float | None = None) -> list[Ended]:
        recorders: Any = Recorders(*answers)
        judge: Any = None
        runner = Runner(judge, recorders, parallel, StatusLines(quiet=True))
        plans = repeat(ready, len(answers))
        ended = runner.run(plans, lambda one: f"run {one.number}", total_s=total_s)
        return [one for _, one in ended]

    return search


def test_no_run_begins_when_the_time_is_over(searched: Search) -> None:
    assert searched(DONE, total_s=-1.0) == []


def judges(found: FoundRun, *_: object) -> Any:
    assert found.modes
    return SimpleNamespace(modes=[LOST])


def refuses(*_: object) -> Any:
    raise EvidenceError("no evidence can be read")


@pytest.mark.parametrize("answer", [DIED, Recording(DiedError("the worker died (code -9)"))])
def test_a_run_that_ended_early_is_judged_on_what_it_left_and_the_next_one_runs(
    answer: Recording, searched: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "judge_again", judges)
    monkeypatch.setattr(running, "judge_recorded", judges)
    first, second = searched(answer, DONE)
    assert first.error in ("b1 did not start", "the worker died (code -9)")
    assert (first.modes, first.verdict) == ([LOST], "anomaly")
    assert (second.modes, second.error) == ([LOST], "")
    assert first.path != second.path


@pytest.mark.parametrize("answer", [DIED, DONE])
def test_a_run_that_cannot_be_judged_is_an_error(
    answer: Recording, searched: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "judge_again", refuses)
    monkeypatch.setattr(running, "judge_recorded", refuses)
    (ended,) = searched(answer)
    assert (ended.modes, ended.verdict) == ((), ERROR)
    assert ended.error in ("b1 did not start", "no evidence can be read")


def ended_in(
    folder: RunFolder,
    kinds: frozenset[str] = frozenset(),
    *,
    known: frozenset[str] = frozenset(),
    evidence: str = "valid",
    durability: str = "valid",
    undecided: Sequence[int] = (),
    contradicted: bool = False,
    **facts: object,
) -> Ended:
    """A run whose only mode is valid, or has an anomaly of these kinds that its plan does not state."""
    folder.write_run({})
    folder.write_end(facts)
    judgements = {
        "evidence": Judgement("evidence", Verdict(evidence), ""),
        "durability": Judgement("durability", Verdict(durability), "", undecided=undecided),
    }
    found = "anomaly" if kinds - {NEVER_QUIET} else "valid"
    verdict = SimpleNamespace(verdict=found, judgements=judgements, headline="none lost")
    comparison = SimpleNamespace(
        unexpected=bool(kinds), contradicted=contradicted, reasons=("the client decided ok",)
    )
    mode: Any = SimpleNamespace(folder=folder, verdict=verdict, comparison=comparison)
    ended = Ended(folder.path, [mode], "", 1.0)
    ended.__dict__.update(kinds=kinds, known=known, news=kinds - known)
    return ended


def test_a_server_that_dies_on_its_own_after_the_last_step_leaves_the_run_inconclusive(
    tmp_path: Path,
) -> None:
    died = ended_in(RunFolder.create(tmp_path, "m"), otherwise=["b1 (boot 1) ended on its own"])
    assert (died.verdict, died.conclusive) == ("unknown", False)
    assert died.headline == "otherwise than planned: b1 (boot 1) ended on its own; none lost"
    assert ended_in(RunFolder.create(tmp_path, "n")).verdict == "valid"


def found(*kinds: str, beside: Sequence[str] = ()) -> Again:
    """The run that is replayed, in which these kinds were found, and others beside that are no news."""
    plan: Any = SimpleNamespace(cluster=SimpleNamespace(changes=()))
    everything, news = frozenset((*kinds, *beside)), frozenset(kinds)
    return Again(RunFolder(Path("run/m")), plan, 1, "m", "4.18.0", everything, measured=True, news=news)


@pytest.mark.parametrize(
    ("kinds", "code"), [((), 0), (("durability/lost",), 4), (("fencing/added_after_close",), 4)]
)
def test_a_replay_that_fails_in_another_way_is_no_success(
    kinds: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    again = found("durability/lost")
    reached, why = _code(again, [ended_in(RunFolder.create(tmp_path, "m"), frozenset(kinds))])
    assert (reached, all(kind in why for kind in set(kinds) - again.kinds)) == (code, True), why


@pytest.mark.parametrize(
    ("kind", "evidence", "code"),
    [
        ("metadata/wrong_length", "valid", 0),
        ("metadata/wrong_length", "unknown", 3),
        ("quiet/never", "valid", 3),
    ],
)
def test_a_replay_of_runs_that_prove_too_little_is_no_success(
    kind: str, evidence: str, code: int, tmp_path: Path
) -> None:
    """What a run shows beside does not prove that the failure would have shown."""
    again = found("durability/lost")
    kinds, folder = frozenset({kind}), RunFolder.create(tmp_path, "m")
    ended = ended_in(folder, kinds, known=kinds, evidence=evidence)
    assert _code(again, [ended])[0] == code


@pytest.mark.parametrize(
    ("sought", "durability", "undecided", "code"),
    [
        ("durability/lost", "valid", [], 0),
        ("durability/lost", "unknown", [], 3),
        ("durability/lost", "anomaly", [7], 3),
        ("closing/closed_below", "unknown", [7], 0),
    ],
)
def test_a_replay_without_an_answer_of_what_is_sought_is_no_success(
    sought: str, durability: str, undecided: Sequence[int], code: int, tmp_path: Path
) -> None:
    """The run has another anomaly, a known defect, and its evidence is whole."""
    again = found(sought)
    kinds, folder = frozenset({"metadata/wrong_length"}), RunFolder.create(tmp_path, "m")
    ended = ended_in(folder, kinds, known=kinds, durability=durability, undecided=undecided)
    assert _code(again, [ended])[0] == code


@pytest.mark.parametrize("kinds", [frozenset(), frozenset({"durability/lost"})])
def test_a_replay_in_which_a_client_decides_otherwise_is_no_success(
    kinds: frozenset[str], tmp_path: Path
) -> None:
    again = found(*kinds)
    code, why = _code(again, [ended_in(RunFolder.create(tmp_path, "m"), contradicted=True)])
    assert (code, "1 run: the client decided ok" in why) == (4, True), why


LENGTH = "metadata/wrong_length"


@pytest.mark.parametrize(
    ("sought", "code", "outcome"),
    [
        (["durability/lost"], 0, "failed in the same way in 0 of 1 runs"),
        ([], 4, "failed in the same way in 1 of 1 runs"),
    ],
)
def test_a_known_defect_that_was_found_beside_something_else_is_not_the_same_failure(
    sought: Sequence[str], code: int, outcome: str, tmp_path: Path
) -> None:
    """Where nothing else was found, it is what is sought."""
    known = frozenset({LENGTH})
    again = found(*sought, beside=[LENGTH])
    ended = ended_in(RunFolder.create(tmp_path, "m"), known, known=known)
    reached, why = _code(again, [ended])
    assert (reached, outcome in why) == (code, True), why
    assert (LENGTH in again.beside) == bool(sought)


@pytest.mark.parametrize(("known", "code"), [(True, 0), (False, 4)])
def test_a_run_in_which_nothing_was_found_does_not_fail_by_a_known_defect(
    known: bool, code: int, tmp_path: Path
) -> None:
    kinds = frozenset({LENGTH})
    ended = ended_in(RunFolder.create(tmp_path, "m"), kinds, known=kinds if known else frozenset())
    assert _code(found(), [ended])[0] == code


def test_an_error_without_words_is_named() -> None:
    nowhere, judge = Path("/nowhere"), None
    _, why = running._judged(nowhere, FencepostError(""), judge)  # type: ignore[arg-type]
    assert why == "FencepostError"


def test_every_run_in_progress_is_shown_with_what_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr("search.status.time", SimpleNamespace(monotonic=lambda: now_s))
    logs = [tmp_path / name for name in ("a.log", "b.log")]
    logs[0].write_text("  protected\n     1.5 s  all processes are ready\n")
    status = StatusLines(quiet=True)
    status.counts("3 runs: 3 valid")
    for number, log in enumerate(logs):
        now_s += 2
        status.begins(f"seed {number}", log)
    now_s += 3

    def shown() -> list[str]:
        text = status._lines()
        assert isinstance(text, Text)
        return [line.strip() for line in text.plain.splitlines()]

    assert shown() == ["7 s  3 runs: 3 valid", "seed 0, 5 s: all processes are ready", "seed 1, 3 s:"]
    status.ended(logs[1])
    assert shown() == ["7 s  seed 0, 3 runs: 3 valid; this run 5 s: all processes are ready"]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_replay_that_is_interrupted_says_how_often_it_failed_until_then(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = "durability/lost"
    again = found(kind)

    def run(*_: object) -> Iterator[tuple[Any, Ended]]:
        yield SimpleNamespace(number=1), ending("anomaly", kind)(Path("run"), (), "", 1.0)
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(replaying, "find_again", lambda *_: again)
    monkeypatch.setattr(Again, "prepare", lambda *_: None)
    monkeypatch.setattr(replaying, "running", lambda *_: nullcontext(SimpleNamespace(run=run)))
    with pytest.raises(Interrupted):
        replay("run", mode=None, times=9, parallel=1, results=Path(), quiet=False, as_json=as_json)
    assert ('"failed": 1' if as_json else f"{kind}: in 1 of 1 runs") in capsys.readouterr().out
