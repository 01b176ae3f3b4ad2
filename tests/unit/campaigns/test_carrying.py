"""What a campaign keeps, runs again, leaves out for want of time, and decides; without a server."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pytest
from pydantic import TypeAdapter

from harness.campaigns.listing import units_of
from harness.campaigns.reporting import Conclusion, changes, decision, markdown, notices, page, write_junit
from harness.experiments import running
from harness.experiments import store as storing
from harness.experiments.experiment import Earlier, Experiment, Outcome, Status, outcome_of
from harness.experiments.running import affordable, run_all, unknown_again
from harness.experiments.store import Store, begin, executions, prune, run_pending, unfinished
from plans.campaign import load_campaign
from protocol.errors import UsageError

OUTCOME = TypeAdapter(Outcome)
NOWHERE = Path("/nowhere")
CAMPAIGN = load_campaign("gate")
UNITS = units_of(CAMPAIGN, plans=NOWHERE)[:6]


def scripted(*status: Status) -> Callable[[Experiment], Outcome]:
    """A stand-in for a run: returns the given outcomes one after the other."""
    script: Iterator[Status] = iter(status)
    return lambda unit: outcome_of(unit, next(script), why="so it is")


def carried(status: Sequence[Status]) -> list[Outcome]:
    return list(run_all(UNITS[: len(status)], scripted(*status)))


def test_a_run_that_fails_stops_nothing() -> None:
    status = [Status.ANOMALY, Status.ERROR, Status.HUNG, Status.IMPOSSIBLE, Status.AS_EXPECTED]
    assert [one.status for one in carried(status)] == status


def test_unknown_is_run_once_more_and_an_anomaly_never() -> None:
    carry = scripted(Status.UNKNOWN, Status.AS_EXPECTED, Status.ANOMALY, Status.UNKNOWN, Status.UNKNOWN)
    done = map(unknown_again(carry, CAMPAIGN.unknown_again), UNITS[:3])
    status = [Status.AS_EXPECTED, Status.ANOMALY, Status.UNKNOWN]
    first = (Earlier("", "so it is"),)
    found = [(one.status, one.tries, one.earlier) for one in done]
    assert found == list(zip(status, (2, 1, 2), (first, (), first), strict=True))


def test_a_run_whose_stated_anomaly_did_not_show_is_not_run_until_it_does() -> None:
    missed = outcome_of(UNITS[0], Status.UNKNOWN, missed=True)
    script = iter([missed, outcome_of(UNITS[0], Status.AS_EXPECTED)])
    assert unknown_again(lambda _: next(script), 1)(UNITS[0]) == missed


def test_no_run_begins_that_would_not_end_in_time() -> None:
    now = [0.0]

    def carry(unit: Experiment) -> Outcome:
        now[0] += 10
        return outcome_of(unit, Status.AS_EXPECTED)

    done = list(run_all(UNITS, carry, total_s=35, clock=lambda: now[0]))
    assert len(done) == 3
    assert now[0] == 30


@pytest.mark.parametrize(
    ("status", "left", "warns", "code", "reason"),
    [
        ([Status.AS_EXPECTED], 0, False, 0, "as expected"),
        ([Status.AS_EXPECTED, Status.IMPOSSIBLE], 0, False, 0, "as expected"),
        ([Status.AS_EXPECTED], 2, False, 3, "2 runs not started in time"),
        ([Status.UNKNOWN, Status.AS_EXPECTED], 0, False, 3, "1 run not proven"),
        ([Status.UNKNOWN, Status.AS_EXPECTED], 0, True, 0, "as expected"),
        ([Status.UNKNOWN], 0, True, 3, "no run reached its end"),
        ([Status.IMPOSSIBLE], 0, False, 3, "no run reached its end"),
        ([], 0, False, 3, "no run reached its end"),
        ([Status.HUNG, Status.UNKNOWN], 0, False, 1, "1 run hung"),
        ([Status.ERROR, Status.UNKNOWN], 0, False, 1, "1 run error"),
        ([Status.ERROR, Status.ANOMALY, Status.UNKNOWN], 0, True, 4, "1 run anomaly"),
    ],
)
def test_unknown_is_never_a_pass(
    status: list[Status], left: int, warns: bool, code: int, reason: str
) -> None:
    found, why = decision(carried(status), left=left, unfinished_fails=True, unknown_warns=warns)
    assert (found, reason in why) == (code, True), why


def test_a_defect_that_did_not_show_fails_nothing_and_is_named(tmp_path: Path) -> None:
    outcomes = [
        outcome_of(UNITS[0], Status.AS_EXPECTED, absent=("defect lac (covered_few) on <main>",)),
        outcome_of(UNITS[1], Status.IMPOSSIBLE, why="mounting needs root"),
        outcome_of(UNITS[2], Status.AS_EXPECTED),
    ]
    code, why = decision(outcomes, left=0, unfinished_fails=True)
    not_seen = "in 1 run a defect that shows sometimes was not seen, 1 run impossible here"
    assert (code, why) == (0, f"as expected ({not_seen})")
    result = Conclusion(CAMPAIGN, outcomes, [], 0, why)
    heads = "| run | defect that shows sometimes |\n|---|---|"
    assert f"## Not seen\n\n{heads}\n| {UNITS[0]} |" in markdown(result)
    assert "<td>defect lac (covered_few) on &lt;main&gt;</td>" in page(result, tmp_path)
    (notice,) = notices(outcomes, unknown_warns=False)
    assert notice.startswith("::notice file=scenarios/")
    assert notice.endswith("::not seen: defect lac (covered_few) on <main>")


def resumed(place: Path, units: Sequence[Experiment]) -> Store | None:
    return unfinished(place, units, lambda store: store.waiting(units))


def test_a_night_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    store = begin(tmp_path, "gate", UNITS)
    store.add(outcome_of(UNITS[0], Status.ANOMALY, why="lost"))
    again = resumed(tmp_path, UNITS)
    assert again is not None
    assert again.path == store.path
    assert again.waiting(UNITS) == UNITS[1:]
    assert again.outcomes == store.outcomes
    assert resumed(tmp_path, UNITS[:3]) is None, "other runs are another campaign"
    breaking = [replace(UNITS[0], breaks=("lac",)), *UNITS[1:]]
    assert resumed(tmp_path, breaking) is None, "a control that must break something else is another run"
    for unit in UNITS[1:]:
        again.add(outcome_of(unit, Status.AS_EXPECTED))
    assert resumed(tmp_path, UNITS) is None
    assert begin(tmp_path, "gate", UNITS).path != store.path


def test_two_campaigns_never_work_in_one_folder(tmp_path: Path) -> None:
    store = begin(tmp_path, "gate", UNITS)
    with store.alone(), pytest.raises(UsageError, match="is already running in"), store.alone():
        pass


def test_old_nights_are_removed_and_one_at_work_is_not(tmp_path: Path) -> None:
    stored = [begin(tmp_path, "gate", UNITS) for _ in range(4)]
    with stored[0].alone():
        removed = prune(tmp_path, 2)
    assert removed == [stored[1].path]
    assert {store.path for store in executions(tmp_path)} == {stored[0].path, stored[2].path, stored[3].path}


@pytest.mark.parametrize(("keep", "kept"), [("all", {1, 2, 3, 4}), ("first", {1, 2, 4}), ("none", {1})])
def test_only_folders_of_runs_that_were_as_expected_are_removed(
    keep: Literal["all", "first", "none"], kept: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run of three of one scenario is an anomaly; the fourth run is of another scenario."""

    class Pool(contextlib.nullcontext[None]):
        def __init__(self, _folder: Path, results: Path, **_: object) -> None:
            super().__init__()
            self._results = results

        def execute(self, unit: Experiment) -> Outcome:
            (self._results / str(unit.number)).mkdir(parents=True)
            status = Status.ANOMALY if unit.number == 1 else Status.AS_EXPECTED
            return outcome_of(unit, status, folder=str(unit.number))

        def stop(self) -> None:
            pass

    monkeypatch.setattr(storing, "WorkerPool", Pool)
    units = [replace(UNITS[number == 4], number=number) for number in (1, 2, 3, 4)]
    store = begin(tmp_path, "gate", units)
    outcomes = list(run_pending(store, units, run_s=1, keep=keep))
    assert {int(one.folder) for one in outcomes if one.folder} == kept
    assert {int(path.name) for path in (store.path / "runs").iterdir()} == kept
    assert next(executions(tmp_path)).outcomes == outcomes


def test_what_got_worse_comes_first() -> None:
    before = carried([Status.AS_EXPECTED, Status.ANOMALY, Status.UNKNOWN, Status.ANOMALY])
    now = carried([Status.ANOMALY, Status.AS_EXPECTED, Status.ANOMALY, Status.ANOMALY])
    keys = [unit.key for unit in UNITS]
    found = [(keys.index(one.now.key), one.before, one.worse) for one in changes(now, before)]
    assert found == [(0, Status.AS_EXPECTED, True), (2, Status.UNKNOWN, False), (1, Status.ANOMALY, False)]


def test_the_page_says_what_to_look_at_and_how_to_repeat_it() -> None:
    outcomes = [
        outcome_of(UNITS[0], Status.AS_EXPECTED, took_s=8.0),
        outcome_of(UNITS[1], Status.ANOMALY, why="lost | twice\nindeed", repeat="fencepost run x"),
    ]
    result = Conclusion(CAMPAIGN, outcomes, changes(outcomes, []), 2, "1 run anomaly; first it: lost")
    text = markdown(result)
    assert text.startswith("# Campaign gate: 1 run anomaly\n")
    assert "2 runs: 1 anomaly, 1 as expected; 2 runs not started in time." in text
    assert f"| {UNITS[1]} | anomaly | lost \\| twice indeed | `fencepost run x` |" in text
    (notice,) = notices(outcomes, unknown_warns=False)
    assert notice.startswith(f"::error file=scenarios/{UNITS[1].scenario}.yaml,title=")
    assert notice.endswith("::anomaly: lost | twice%0Aindeed")


def test_the_page_links_to_the_runs_that_are_kept(tmp_path: Path) -> None:
    outcomes = [
        outcome_of(UNITS[0], Status.ANOMALY, why="lost <twice>", folder="a/kept", repeat="fencepost run x"),
        outcome_of(UNITS[1], Status.HUNG, folder="a/removed"),
        outcome_of(UNITS[2], Status.AS_EXPECTED, folder="a/fine"),
    ]
    kept = tmp_path / "runs" / "a" / "kept"
    kept.mkdir(parents=True)
    (kept / "report.html").touch()
    text = page(Conclusion(CAMPAIGN, outcomes, changes(outcomes, []), 0, "1 run anomaly"), tmp_path)
    assert text.count("<a ") == 1
    assert f'<a href="runs/a/kept/report.html">{UNITS[0]}</a>' in text
    assert "lost &lt;twice&gt;" in text
    assert text.index(str(UNITS[0])) < text.index(str(UNITS[1]))
    assert text.count('class="dot v-valid"') == 1


def test_the_reports_name_what_was_unknown_at_the_first_try(tmp_path: Path) -> None:
    first = tmp_path / "runs" / "a" / "first"
    first.mkdir(parents=True)
    (first / "report.html").touch()
    earlier = (Earlier("a/first", "no final <read>"),)
    outcomes = [
        outcome_of(UNITS[0], Status.AS_EXPECTED, tries=2, earlier=earlier),
        outcome_of(UNITS[1], Status.UNKNOWN, tries=2),  # as earlier code stored it
        outcome_of(UNITS[2], Status.AS_EXPECTED),
    ]
    result = Conclusion(CAMPAIGN, outcomes, [], 0, "1 run not proven")
    text = markdown(result)
    assert "3 runs: 1 unknown, 2 as expected; 2 runs unknown at the first try." in text
    assert f"| {UNITS[0]} | as expected | no final <read> | `runs/a/first` |" in text
    assert f"| {UNITS[1]} | unknown | not stored |" in text
    assert '<a href="runs/a/first/report.html">no final &lt;read&gt;</a>' in page(result, tmp_path)
    write_junit(tmp_path / "junit.xml", "gate", outcomes, [])
    cases = ElementTree.parse(tmp_path / "junit.xml").getroot().findall(".//testcase/system-out")
    assert [case.text for case in cases] == ["unknown before: no final <read> (a/first)"]


def test_junit_has_a_case_for_each_run_and_each_that_was_left_out(tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", "gate", carried(list(Status)[:5]), UNITS[5:])
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    cases = root.findall(".//testcase")
    assert len(cases) == len(UNITS)
    assert [len(root.findall(f".//{kind}")) for kind in ("failure", "error", "skipped")] == [2, 2, 2]


def results_of(path: Path) -> list[tuple[str | None, str, str | None]]:
    cases = ElementTree.parse(path).getroot().findall(".//testcase")
    return [(case.get("name"), result.tag, result.get("message")) for case in cases for result in case]


def test_junit_fails_where_the_campaign_does_and_no_run_did(tmp_path: Path) -> None:
    path, impossible = tmp_path / "junit.xml", carried([Status.IMPOSSIBLE])
    write_junit(path, "gate", impossible, [], failed="no run reached its end")
    assert ("campaign", "error", "no run reached its end") in results_of(path)
    write_junit(path, "gate", [], UNITS[:1], failed="the disk is full", early=True)
    assert sorted(one[1:] for one in results_of(path)) == [
        ("error", "the disk is full"),
        ("skipped", "not run: the campaign ended early"),
    ]
    write_junit(path, "gate", carried([Status.ANOMALY]), [], failed="1 run anomaly")
    assert [tag for _, tag, _ in results_of(path)] == ["failure"]


def test_junit_warns_of_the_unknown_where_the_campaign_does(tmp_path: Path) -> None:
    unknown = carried([Status.UNKNOWN])
    for warns, tag in ((True, "skipped"), (False, "failure")):
        write_junit(tmp_path / "junit.xml", "gate", unknown, [], unknown_warns=warns)
        assert [one[1] for one in results_of(tmp_path / "junit.xml")] == [tag]


def test_junit_has_no_control_characters_of_a_log(tmp_path: Path) -> None:
    died = outcome_of(UNITS[0], Status.ERROR, why="b1: \x1b[31mno\x00\nmore \u00fc")
    write_junit(tmp_path / "junit.xml", "gate", [died], [])
    ((_, _, message),) = results_of(tmp_path / "junit.xml")
    assert message is not None and message.endswith("b1: [31mno more ü")


def test_junit_shows_a_failure_where_a_run_that_was_left_out_fails_the_campaign(tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", "gate", [], UNITS[:1], unfinished_fails=True)
    (case,) = ElementTree.parse(tmp_path / "junit.xml").getroot().findall(".//testcase")
    assert [result.tag for result in case] == ["failure"]


@pytest.mark.parametrize(
    ("taken", "lines"),
    [
        (
            [(10.0, 0.6), (30.0, 0.4), (20.0, None)],
            ["60 s in all, 20.0 s for a run", "1 of 3 runs had a busy"],
        ),
        ([(10.0, None), (None, None)], ["Processor time of 1 of 2 runs: 10 s", "is unknown on this machine"]),
        ([(10.0, 0.1)], ["10 s in all"]),
        ([(None, None)], []),
    ],
)
def test_the_summary_says_what_the_runs_took_and_how_many_had_a_busy_machine(
    taken: list[tuple[float | None, float | None]], lines: list[str]
) -> None:
    outcomes = [
        outcome_of(unit, Status.AS_EXPECTED, cpu_s=cpu_s, cpu_pressure=pressure)
        for unit, (cpu_s, pressure) in zip(UNITS, taken, strict=False)
    ]
    result = Conclusion(CAMPAIGN, outcomes, [], 0, "as expected")
    assert len(result.load) == len(lines)
    text = markdown(result)
    assert all(one in text for one in lines)
    assert all(line in page(result, NOWHERE) for line in result.load)


def test_an_outcome_that_was_stored_by_earlier_code_is_read() -> None:
    stored = OUTCOME.dump_python(outcome_of(UNITS[0], Status.AS_EXPECTED, took_s=1.5), mode="json")
    before = {
        key: value
        for key, value in stored.items()
        if key not in ("cpu_s", "cpu_pressure", "status", "earlier")
    }
    read = OUTCOME.validate_python({**before, "came": "as expected"})
    assert (read.took_s, read.cpu_s, read.status) == (1.5, None, Status.AS_EXPECTED)


@pytest.mark.parametrize("status", list(Status))
def test_an_outcome_comes_back_as_it_was_kept(status: Status) -> None:
    one = outcome_of(
        UNITS[0],
        status,
        why="so",
        took_s=1.5,
        tries=2,
        earlier=(Earlier("a", "b"),),
        cpu_s=3.5,
        cpu_pressure=0.25,
        absent=("defect lac",),
    )
    assert OUTCOME.validate_python(OUTCOME.dump_python(one, mode="json")) == one


def test_as_many_run_at_a_time_as_the_policy_says() -> None:
    together = threading.Barrier(2, timeout=30)  # breaks, and fails the test, when one comes alone

    def carry(experiment: Experiment) -> Outcome:
        together.wait()
        return outcome_of(experiment, Status.AS_EXPECTED)

    done = list(run_all(UNITS[:4], carry, parallel=2))
    assert sorted(one.key for one in done) == sorted(unit.key for unit in UNITS[:4])


@pytest.mark.parametrize("number", [0, 1, 3, 5])
def test_nothing_runs_beside_an_experiment_that_is_to_run_alone(number: int) -> None:
    units = [replace(unit, alone=at in (number, 3)) for at, unit in enumerate(UNITS)]
    done: list[str] = []
    begun: dict[str, list[Experiment]] = {}

    def begins(one: Experiment) -> None:
        begun[one.key] = [other for other in units if other.key in begun and other.key not in done]

    for outcome in run_all(units, scripted(*[Status.AS_EXPECTED] * 6), parallel=3, begins=begins):
        done.append(outcome.key)
    assert list(begun) == [one.key for one in units]
    assert not any(begun[one.key] for one in units if one.alone)
    assert not any(other.alone for beside in begun.values() for other in beside)
    assert any(begun.values()), "one after the other"


def test_a_campaign_that_is_left_early_stops_what_runs_and_waits_for_it() -> None:
    result, ended = threading.Event(), threading.Event()

    def carry(experiment: Experiment) -> Outcome:
        if experiment is UNITS[1]:
            result.wait(30)
            ended.set()
        return outcome_of(experiment, Status.AS_EXPECTED)

    done = run_all(UNITS, carry, parallel=2, stop=result.set)
    assert next(done).key == UNITS[0].key
    done.close()
    assert ended.is_set()


@pytest.mark.parametrize(("cores", "gib", "parallel"), [(2, 18, 2), (16, 9, 4), (1, 1, 1)])
def test_auto_is_as_many_as_cores_and_memory_allow(cores: int, gib: int, parallel: int) -> None:
    assert affordable(cores, gib * 2**30) == parallel


def test_auto_heeds_the_memory_limit_of_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "available_memory_bytes", lambda: 4 * 2**30)
    assert affordable(cores=16) == 2
