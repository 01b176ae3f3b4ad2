"""The track record: its rows agree with their scenarios, and runs are counted for what they show."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evidence.findings import Finding, Judgement, RunVerdict, Verdict
from evidence.folder import RunFolder
from harness.campaigns import trackrecord
from harness.campaigns.trackrecord import Bug, Showing, Side, bugs, showing, table
from harness.preparing import Prepared
from harness.request import RunRequest
from harness.vocabulary import words
from plans.expected.comparison import Comparison
from plans.expected.expectations import Breaks, Defect, applicable
from plans.load import find, load
from protocol.errors import Interrupted, UsageError
from protocol.exit_codes import ExitCode
from reports.results import ModeResult, RunResult

FINDING = {"property": "closing", "kind": "closed_below", "ledger": "main", "bad": "4.14.7", "good": "4.15.0"}
RUN = {"scenario": "bp46/truncation", "mode": "protected"}
BUG = Bug.model_validate({"name": "b", "bug": "It forgets", "upstream": "#1", **RUN, **FINDING})


@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.name)
def test_the_scenario_states_the_finding_for_the_bad_release_alone(bug: Bug) -> None:
    plan = load(find(bug.scenario), words())
    assert bug.mode in plan.modes

    def stated(release: str) -> set[tuple[str, str, str | None]]:
        entries = applicable(plan.expect, bug.mode, release)
        return {(one.property, one.kind, one.ledger) for one in entries if isinstance(one, Breaks | Defect)}

    assert (bug.property, bug.kind, bug.ledger) in stated(bug.bad)
    assert (bug.property, bug.kind, bug.ledger) not in stated(bug.good)


def test_names_are_unique_and_chosen_by_name() -> None:
    names = [bug.name for bug in bugs()]
    assert len(set(names)) == len(names)
    assert [bug.name for bug in bugs(names[:1])] == names[:1]
    with pytest.raises(UsageError, match="idle-checkpoint"):
        bugs(["idle-checkpont"])


def shown(*found: tuple[str, int], as_stated: bool) -> Showing:
    findings = [Finding("closing", kind, ledger=ledger) for kind, ledger in found]
    judgements = {"closing": Judgement("closing", Verdict.ANOMALY, "", findings=findings)}
    verdict = RunVerdict("s", "protected", Verdict.ANOMALY, "", judgements)
    return showing(BUG, verdict, {1: "main", 2: "control"}, as_stated=as_stated)


def test_found_is_the_finding_on_its_ledger_and_absent_takes_a_run_as_stated() -> None:
    assert shown(("closed_below", 1), as_stated=True) is Showing.FOUND
    assert shown(("closed_below", 1), as_stated=False) is Showing.FOUND
    assert shown(("closed_below", 2), ("two_ends", 1), as_stated=True) is Showing.ABSENT
    assert shown(("closed_below", 2), ("two_ends", 1), as_stated=False) is Showing.UNKNOWN
    assert showing(BUG, RunVerdict("s", "m", Verdict.VALID, "", {}), {}, as_stated=False) is Showing.UNKNOWN


def test_a_loss_of_another_class_is_not_the_bug() -> None:
    bug = BUG.model_copy(update={"property": "durability", "kind": "lost", "loss": "unexplained"})
    for loss, found in {"unexplained": Showing.FOUND, "explained": Showing.UNKNOWN}.items():
        findings = [Finding("durability", "lost", ledger=1, loss=loss)]
        judgements = {"durability": Judgement("durability", Verdict.ANOMALY, "", findings=findings)}
        verdict = RunVerdict("s", "journal", Verdict.ANOMALY, "", judgements)
        assert showing(bug, verdict, {1: "main"}, as_stated=False) is found


@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.name)
def test_a_bug_that_loses_entries_says_of_which_class(bug: Bug) -> None:
    assert (bug.property == "durability") is bool(bug.loss)


def sides(bad: list[Showing], good: list[Showing]) -> list[Side]:
    return [Side(BUG, True, bad), Side(BUG, False, good)]


def test_the_table_has_a_row_for_each_bug() -> None:
    lines = list(table(sides([Showing.FOUND] * 5, [Showing.ABSENT] * 4 + [Showing.UNKNOWN])))
    assert lines[2:] == [
        "| It forgets (#1) | 4.14.7: 5 of 5 | 4.15.0: 0 of 5 (1 unknown) | `fencepost trackrecord b` |"
    ]


@pytest.mark.parametrize(
    ("bad", "good", "code"),
    [
        (Showing.FOUND, Showing.ABSENT, ExitCode.AS_EXPECTED),
        (Showing.ABSENT, Showing.ABSENT, ExitCode.ANOMALY),
        (Showing.FOUND, Showing.FOUND, ExitCode.ANOMALY),
        (Showing.FOUND, Showing.UNKNOWN, ExitCode.UNKNOWN),
        (Showing.ABSENT, Showing.UNKNOWN, ExitCode.ANOMALY),
    ],
)
def test_the_exit_code_says_whether_it_is_as_recorded(bad: Showing, good: Showing, code: int) -> None:
    assert trackrecord._concluded(sides([bad], [good])) == code


def test_one_run_otherwise_is_not_as_recorded() -> None:
    assert not Side(BUG, True, [Showing.FOUND, Showing.ABSENT]).as_recorded
    assert not Side(BUG, True, []).as_recorded


def test_a_bug_that_was_found_where_it_must_not_be_outweighs_an_inconclusive_run() -> None:
    for bad, good in (
        ([Showing.FOUND], [Showing.FOUND, Showing.UNKNOWN]),
        ([Showing.ABSENT, Showing.UNKNOWN], [Showing.ABSENT]),
    ):
        assert trackrecord._concluded(sides(bad, good)) == ExitCode.ANOMALY


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs the bug twice on each release, the last run first; 4.14.7 has it with seed 2 alone."""
    interrupted: set[int] = set()

    @contextmanager
    def no_judge(_: Path) -> Iterator[None]:
        yield

    def prepare(request: RunRequest) -> Prepared:
        plan = load(find(request.scenario), words())
        return Prepared(request, plan, 1, request.modes, str(request.version))

    def run_each(ready: list[Prepared], *_: object, parallel: int) -> Iterator[tuple[int, RunResult]]:
        assert parallel == 3
        for number, one in reversed(list(enumerate(ready, start=1))):
            if number in interrupted:
                raise Interrupted(signal.SIGINT)
            folder = RunFolder.create(tmp_path / f"{number}", "protected")
            findings = [Finding("closing", "closed_below")] * ((one.version, one.seed) == (BUG.bad, 2))
            judged = {"closing": Judgement("closing", Verdict.ANOMALY, "", findings=findings)}
            verdict = RunVerdict("s", "protected", Verdict.ANOMALY, "", judged)
            mode = ModeResult("protected", folder, verdict, Comparison(True, ()))
            yield number, RunResult("s", one.seed, folder.path.parent, [mode])

    monkeypatch.setattr(trackrecord, "judging", no_judge)
    monkeypatch.setattr(trackrecord, "prepare", prepare)
    monkeypatch.setattr(trackrecord, "run_each", run_each)
    monkeypatch.setattr(trackrecord, "ledger_names", lambda _: {-1: BUG.ledger})

    def measure(*, interrupted_at: int = 0) -> int:
        interrupted.add(interrupted_at)
        return trackrecord.run_track_record(
            [BUG], times=2, parallel=3, results=tmp_path, document=None, quiet=True
        )

    return measure


def test_each_run_counts_for_its_side_whichever_ends_first(
    simulated: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulated() == ExitCode.ANOMALY
    assert "| 4.14.7: 1 of 2 | 4.15.0: 0 of 2 |" in capsys.readouterr().out


def test_runs_that_ended_before_an_interruption_are_in_the_table(
    simulated: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Interrupted):
        simulated(interrupted_at=1)
    assert "| 4.14.7: 1 of 1 | 4.15.0: 0 of 2 |" in capsys.readouterr().out


def test_a_document_without_marks_is_refused(tmp_path: Path) -> None:
    from reports.marks import between, put

    document = tmp_path / "README.md"
    document.write_text("# R\n\n<!-- track record: begin -->\n<!-- track record: end -->\nrest\n")
    put(document, trackrecord.MARK, ["| a |"])
    assert between(document, trackrecord.MARK) == ["", "| a |", ""][1:2]
    assert document.read_text().endswith("<!-- track record: end -->\nrest\n")
    with pytest.raises(UsageError, match="no place for the other"):
        put(document, "other", [])
