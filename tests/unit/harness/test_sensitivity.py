"""What a campaign makes of seeded defects: caught, noticed, missed, never acted; without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.sensitivity import command
from harness.campaigns import sensitivity
from harness.campaigns.sensitivity import (
    Detection,
    decision,
    experiments_with,
    page,
    pending,
    results,
    table,
)
from harness.experiments.experiment import Experiment, Outcome, Status, outcome_of
from harness.experiments.running import run_all
from harness.experiments.store import Store, begin, unfinished
from protocol.exit_codes import ExitCode

UNITS = [
    Experiment(f"fencing/{name}", "protected", "4.18.0", (), 1, number, "d")
    for number, name in enumerate(("figure", "threshold", "chain"), start=1)
]
NAMES = ("fence-ignored", "limbo-denied")
EXPERIMENTS = experiments_with(UNITS, NAMES)
Carry = Callable[[Experiment], Outcome]


def ends_with(status: Status, acted: int = 1, **columns: object) -> Carry:
    return lambda unit: replace(outcome_of(unit, status, took_s=2.0, **columns), acted=acted)


def carried(tmp_path: Path, carry: Carry, parallel: int = 1) -> tuple[Store, list[str]]:
    """The store after everything pending was run, and what was run."""
    store, run = begin(tmp_path, "sensitivity", EXPERIMENTS), []

    def one(unit: Experiment) -> Outcome:
        run.append(str(unit))
        return carry(unit)

    for outcome in run_all(pending(store, EXPERIMENTS), one, parallel=parallel):
        store.add(outcome)
    return store, run


def found(store: Store) -> list[Detection]:
    return [one.found for one in results(store, NAMES)]


def test_each_run_is_tried_with_each_defect_that_its_release_can_have() -> None:
    assert [str(one) for one in EXPERIMENTS][2:4] == [
        "fencing/chain protected 4.18.0 defect=fence-ignored #3",
        "fencing/figure protected 4.18.0 defect=limbo-denied #1",
    ]
    old = [replace(unit, version="4.14.8") for unit in UNITS]
    assert not experiments_with(old, NAMES)
    assert EXPERIMENTS[0].request(Path()).seed_defects == ("fence-ignored",)
    assert len({one.key for one in (*EXPERIMENTS, *UNITS)}) == 9


def test_a_defect_that_was_caught_is_not_run_again(tmp_path: Path) -> None:
    def carry(unit: Experiment) -> Outcome:
        caught = unit.defects == ("fence-ignored",) and unit.scenario.endswith("threshold")
        return (
            ends_with(Status.ANOMALY, showed=("order",))(unit)
            if caught
            else ends_with(Status.AS_EXPECTED)(unit)
        )

    store, run = carried(tmp_path, carry)
    assert [name.split()[0] for name in run] == [
        *("fencing/figure", "fencing/threshold"),
        *("fencing/figure", "fencing/threshold", "fencing/chain"),
    ]
    caught, missed = results(store, NAMES)
    assert (caught.found, missed.found) == (Detection.CAUGHT, Detection.MISSED)
    assert caught.by is not None and caught.by.scenario == "fencing/threshold"
    assert (caught.runs, caught.took_s, missed.runs, missed.by) == (2, 4.0, 3, None)
    assert not list(pending(store, EXPERIMENTS))


@pytest.mark.parametrize(
    ("carry", "expected"),
    [
        (ends_with(Status.ANOMALY, showed=("order",)), Detection.CAUGHT),
        (ends_with(Status.ANOMALY, showed=("decision",)), Detection.CAUGHT),
        (ends_with(Status.ANOMALY), Detection.NOTICED),
        (ends_with(Status.UNKNOWN), Detection.NOTICED),
        (ends_with(Status.ERROR), Detection.NOTICED),
        (ends_with(Status.HUNG), Detection.NOTICED),
        (ends_with(Status.AS_EXPECTED), Detection.MISSED),
        (ends_with(Status.ANOMALY, acted=0, showed=("order",)), Detection.NEVER_ACTED),
        (ends_with(Status.AS_EXPECTED, acted=0), Detection.NEVER_ACTED),
        (ends_with(Status.IMPOSSIBLE, acted=0), Detection.NEVER_ACTED),
    ],
)
def test_what_the_runs_of_a_defect_say_of_it(tmp_path: Path, carry: Carry, expected: Detection) -> None:
    store, _ = carried(tmp_path, carry)
    assert found(store) == [expected, expected]


@pytest.mark.parametrize(
    ("statuses", "code", "why"),
    [
        (
            [Status.ERROR],
            ExitCode.HARNESS,
            f"6 runs ended early before the defect acted; first {EXPERIMENTS[0]}",
        ),
        ([Status.AS_EXPECTED, Status.HUNG], ExitCode.HARNESS, "3 runs ended early before the defect acted"),
        ([Status.IMPOSSIBLE], ExitCode.UNKNOWN, "2 defects cannot be tried here; first fencing/figure"),
        ([Status.IMPOSSIBLE, Status.AS_EXPECTED], ExitCode.AS_EXPECTED, "every defect was tried"),
    ],
)
def test_a_defect_that_no_run_could_try_is_no_success(
    statuses: list[Status],
    code: ExitCode,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = cycle(statuses)

    def runs(store: Store, waiting: Iterable[Experiment], **_: object) -> Iterator[Outcome]:
        for unit in waiting:
            outcome = outcome_of(unit, next(status), why="no space")
            store.add(outcome)
            yield outcome

    monkeypatch.setattr(sensitivity, "run_pending", runs)
    options = sensitivity.Options(quiet=True)
    assert sensitivity.measure(UNITS, NAMES, tmp_path, options, about="gate", run_s=1) == code
    assert f"exit {code}: {why}" in capsys.readouterr().out


def test_an_error_is_no_failure_where_the_defect_acted_or_was_caught(tmp_path: Path) -> None:
    store, _ = carried(tmp_path, ends_with(Status.ERROR))
    assert decision(store, NAMES, 0)[0] == ExitCode.AS_EXPECTED, "noticed"
    assert decision(store, NAMES, 2) == (ExitCode.UNKNOWN, "2 runs not started in time")
    store, _ = carried(tmp_path, ends_with(Status.ERROR, acted=0))
    assert decision(store, NAMES, 2)[0] == ExitCode.HARNESS
    for name in NAMES:
        caught = next(unit for unit in EXPERIMENTS if unit.defects == (name,))
        store.add(ends_with(Status.ANOMALY, showed=("order",))(caught))
    assert decision(store, NAMES, 0)[0] == ExitCode.AS_EXPECTED


def test_what_was_stored_is_read_again_and_the_rest_goes_on(tmp_path: Path) -> None:
    store = begin(tmp_path, "sensitivity", EXPERIMENTS)
    assert found(store) == [Detection.NOT_TRIED, Detection.NOT_TRIED]
    store.add(ends_with(Status.ANOMALY, showed=("order",))(EXPERIMENTS[0]))
    again = unfinished(tmp_path, EXPERIMENTS, lambda one: pending(one, EXPERIMENTS))
    assert again is not None
    assert again.path == store.path
    assert {one.defects for one in pending(again, EXPERIMENTS)} == {("limbo-denied",)}
    assert unfinished(tmp_path, EXPERIMENTS[:3], lambda one: pending(one, EXPERIMENTS[:3])) is None
    assert begin(tmp_path, "sensitivity", EXPERIMENTS).path != store.path


def test_the_table_and_the_page_name_what_was_found(tmp_path: Path) -> None:
    store, _ = carried(
        tmp_path,
        ends_with(
            Status.ANOMALY,
            why="not expected: fencing | x",
            headline="1 of 21 lost",
            showed=("fencing", "lac"),
        ),
    )
    result = results(store, NAMES)
    lines = list(table(result, "the campaign gate"))
    assert "2 defects: 2 caught" in lines
    assert any("| fencing, lac |" in line for line in lines)
    assert all(line.count("|") == lines[-1].count("|") for line in lines if line.startswith("|"))
    text = page(result, "the campaign gate", tmp_path)
    assert "not expected: fencing" in text and "fencing/figure protected" in text
    assert "1 of 21 lost" not in text, "a headline also has what the scenario breaks on purpose"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--defect", "fence-ignord"], "did you mean `fence-ignored`"),
        (["--scenario", "fencing/figur"], "did you mean `fencing/figure`"),
    ],
)
def test_a_wrong_name_is_an_error_that_tells_the_right_one(arguments: list[str], message: str) -> None:
    ended = CliRunner().invoke(command, arguments)
    assert ended.exit_code == 2
    assert message in ended.output
