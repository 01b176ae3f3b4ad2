"""When a search ends and what it prints then; the runs are simulated."""

from __future__ import annotations

import json
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checkers.judging.verdict import EVIDENCE, FAILED
from evidence.findings import Judgement, Verdict
from plans.exploring.generate import REQUIRED
from plans.exploring.profile import DEFAULT
from protocol.errors import FencepostError, Interrupted
from search import explore as exploring
from search.explore import Search, explore
from search.running import Ended
from search.status import StatusLines
from tests.unit.search.simulated import anomaly, ending, judged

Run = Callable[..., tuple[int, str]]


Run1 = ending("valid", headline="0 of 10 acknowledged entries lost")
Anomaly = ending("anomaly", "durability/lost", headline="10 of 10 acknowledged entries lost")
Broken = ending("error", headline="b1 did not start")


def drawn(verdict: str, *judgements: Judgement) -> Callable[..., Ended]:
    """Runs of a drawn plan with these judgements; the others that it requires are valid."""
    valid = [Judgement(name, Verdict.VALID, "") for name in (EVIDENCE, *REQUIRED)]

    def ended(path: Path, _: object, error: str, took_s: float) -> Ended:
        return Ended(path, (judged(verdict, [*valid, *judgements]),), error, took_s)

    return ended


MissingCopy = drawn("valid", anomaly("replicas/under_replicated"))
KNOWN = "servers/full_check_early"
Known = drawn("anomaly", anomaly(KNOWN))
KnownWithCopy = drawn("anomaly", anomaly(KNOWN), anomaly("replicas/under_replicated"))
Undecided = drawn("anomaly", anomaly(KNOWN), Judgement("closing", Verdict.UNKNOWN, ""))
CheckerFailed = drawn("anomaly", anomaly(KNOWN), Judgement("fencing", Verdict.UNKNOWN, FAILED))


def search(**changes: Any) -> Search:
    wishes: dict[str, Any] = {
        "file": DEFAULT,
        "mode": "unprotected",
        "version": None,
        "seed": 5,
        "runs": 4,
        "for_s": None,
        "beyond": 0,
        "keep_going": False,
        "parallel": 1,
        "results": Path("results"),
    }
    return Search(**{**wishes, **changes})


def as_shown(request: Any, plan: Any) -> Any:
    """As much of a prepared run as is shown."""
    return SimpleNamespace(seed=request.seed, plan=plan)


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Search with the given results of runs; a given exception is raised instead of a run."""

    def run(outcomes: Sequence[Any], *, as_json: bool = False, **changes: Any) -> tuple[int, str]:
        @contextmanager
        def no_processes(_results: Path, parallel: int, _status: StatusLines) -> Iterator[Scripted]:
            yield Scripted(outcomes, parallel)

        monkeypatch.setattr(exploring, "running", no_processes)
        monkeypatch.setattr(exploring, "prepare_plan", as_shown)
        monkeypatch.setattr(exploring, "exercised", lambda _: {})
        code = explore(search(**changes), quiet=False, as_json=as_json)
        return code, capsys.readouterr().out

    return run


class Scripted:
    """A stand-in for the runner: as many at a time as there is room for, the oldest ends first."""

    def __init__(self, outcomes: Sequence[Any], parallel: int) -> None:
        self._outcomes = iter(outcomes)
        self._parallel = parallel

    def run(
        self, plans: Iterator[Any], label: Callable[[Any], str], *, total_s: float | None
    ) -> Iterator[tuple[Any, Ended]]:
        if total_s is not None and total_s < 0:
            return
        begun: deque[Any] = deque()
        numbered = (SimpleNamespace(number=at, prepared=one) for at, one in enumerate(plans, start=1))
        while True:
            begun.extend(islice(numbered, self._parallel - len(begun)))
            if not begun:
                return
            outcome = next(self._outcomes)
            if isinstance(outcome, BaseException):
                raise outcome
            one = begun.popleft()
            assert label(one) == f"seed {one.prepared.seed}"
            yield one, outcome(Path("results/run"), (), "", 3.0)


def test_it_ends_with_the_first_anomaly_and_says_what_to_do(searched: Run) -> None:
    code, text = searched([Run1, Anomaly, Run1, Run1])
    assert code == 4
    assert "seed 5  valid" in text
    assert "seed 6  anomaly" in text
    assert "seed 7" not in text
    assert "fencepost replay results/run --times 5" in text
    assert "fencepost shrink results/run" in text
    assert "2 runs: 1 anomaly, 1 valid" in text


def test_what_runs_beside_the_first_anomaly_is_finished_and_nothing_more_begins(searched: Run) -> None:
    code, text = searched([Anomaly, Run1, Anomaly], runs=9, parallel=3)
    assert code == 4
    assert [f"seed {seed} " in text for seed in (5, 6, 7, 8)] == [True, True, True, False]
    assert "3 runs: 2 anomaly, 1 valid" in text


@pytest.mark.parametrize(
    ("runs", "code", "message"),
    [
        ([Run1] * 4, 0, "exit 0: nothing was found\n"),
        ([Run1, Anomaly, Run1, Run1], 4, "4 runs: 1 anomaly, 3 valid"),
        ([Known, Run1, KnownWithCopy, Run1], 0, f"nothing was found but what is known: {KNOWN}\n"),
        ([Run1, Undecided, Run1, CheckerFailed], 3, "2 of 4 runs say nothing"),
        ([Run1, Broken, Run1, Run1], 3, "1 of 4 runs say nothing"),
        ([MissingCopy] * 4, 0, "exit 0: nothing was found\n"),
    ],
)
def test_a_search_that_goes_on_to_its_end_says_what_it_found(
    searched: Run, runs: list[Callable[..., Ended]], code: int, message: str
) -> None:
    found, text = searched(runs, keep_going=Anomaly in runs)
    assert (found, message in text) == (code, True), text
    known = sum(runs.count(one) for one in (Known, KnownWithCopy, Undecided, CheckerFailed))
    assert text.count(f"met on the way, known: {KNOWN}\n") == known
    assert text.count("fencepost shrink") == runs.count(Anomaly), "a known defect needs no smaller plan"
    assert f"seed {5 + len(runs) - 1} " in text, "it went on to its last run"


def test_three_errors_in_sequence_end_it(searched: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FencepostError, match="3 runs in sequence ended early"):
        searched([Run1, Broken, Broken, Broken], runs=9)
    assert "ended early after" in capsys.readouterr().out


def test_an_interruption_says_what_was_done(searched: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        searched([Run1, KeyboardInterrupt()])
    text = capsys.readouterr().out
    assert "interrupted after" in text
    assert "1 run: 1 valid" in text
    assert "recovery paths" in text


def test_no_run_begins_when_the_time_is_over(searched: Run) -> None:
    code, text = searched([], runs=None, for_s=1e-9)
    assert code == 3
    assert "0 runs" in text


def test_json_has_seeds_verdicts_and_coverage(searched: Run) -> None:
    code, text = searched([Anomaly], as_json=True)
    document = json.loads(text)
    assert (code, document["exit"], document["seed"]) == (4, 4, 5)
    assert (document["runs"][0]["kinds"], document["runs"][0]["known"]) == (["durability/lost"], [])
    assert set(document["coverage"]) == {"faults", "overlapping faults", "ledger states", "recovery paths"}


@pytest.mark.parametrize(
    ("ending", "code"), [(Interrupted(signal.SIGINT), 130), (FencepostError("the disk is full"), 1)]
)
def test_json_of_a_search_that_ends_early_has_the_exit_code_of_that(
    ending: BaseException, code: int, searched: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(type(ending)):
        searched([Run1, ending], as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["exit"], document["reason"], len(document["runs"])) == (code, str(ending), 1)


def test_the_command_that_repeats_a_run_gives_the_same_plan() -> None:
    explorer = search(beyond=1)
    repeat = explorer._repeat(7)
    assert " ".join(repeat) == "fencepost explore --runs 1 --seed 7 --mode unprotected --beyond 1"
    assert search(beyond=1, seed=7).tree(0) == explorer.tree(2)
