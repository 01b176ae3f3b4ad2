"""The series of all scenarios: what is to be done, what is kept, and the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.series import scenarios
from bench.series.rows import PART, merged, read_rows, rows_of, series_table, write_rows
from bench.series.scenarios import run_units
from bench.series.units import Kept, stated_units
from harness.campaigns.listing import control_lines
from harness.experiments.experiment import Experiment, Outcome, Status, outcome_of
from harness.vocabulary import words
from plans.expected.comparison import Shown
from plans.load import load
from protocol.errors import FencepostError, JudgementError, ServerError, UsageError
from reports.marks import begin_mark, end_mark
from reports.trials import Trial, tallies

BEGIN, END = begin_mark(PART), end_mark(PART)
PLAN = """\
name: try/{name}
source: {{document: BP-46}}
about: A plan.
clients: [writer]
modes: [protected, journal]
control: {{nothing: a test}}
{more}
expect:
  protected: [holds]
  journal: [holds]
  unprotected: [{{breaks: {{property: durability}}}}]
steps:
  - create: {{client: writer, ledger: main}}
"""
MESSAGES = "series: {rounds: 20}"
CRASHES = "series: {times: 3}\nvary: {v2: false}\ncluster: {client_conf: {useV2WireProtocol: {vary: v2}}}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "scenarios"
    (place / "try").mkdir(parents=True)
    for name, more in (("messages", MESSAGES), ("crashes", CRASHES), ("alone", "")):
        (place / "try" / f"{name}.yaml").write_text(PLAN.format(name=name, more=more))
    return place


def stated(unit: Experiment, **more: Any) -> Trial:
    settings = " ".join(f"{name}={value}" for name, value in unit.settings)
    given = {"verdict": "valid", "took_s": 10.0 * unit.number, "as_stated": unit.rounds}
    return Trial(unit.scenario, unit.mode, unit.version, settings, unit.rounds, **given | more)


def measured(units: Sequence[Experiment]) -> list[tuple[Experiment, Trial]]:
    return [(unit, stated(unit)) for unit in units]


def journal_crashes(root: Path) -> list[Experiment]:
    """The three runs of one row: a scenario, its mode and its protocol."""
    return [unit for unit in stated_units(root=root, only=["try/crashes"]) if unit.mode == "journal"][:3]


def doing(done: list[Experiment], *, until: int = 1000) -> Any:
    """Simulates units by name, and is killed before unit number ``until``."""

    def carry(units: Sequence[Experiment]) -> Iterator[tuple[Experiment, Trial]]:
        for unit in units:
            if len(done) == until:
                raise KeyboardInterrupt
            done.append(unit)
            yield unit, stated(unit)

    return carry


def test_each_scenario_is_tried_as_its_series_says_in_every_mode_and_protocol(root: Path) -> None:
    units = stated_units(root=root)
    assert {unit.scenario for unit in units} == {"try/messages", "try/crashes"}
    messages = [unit for unit in units if unit.scenario == "try/messages"]
    assert [(unit.mode, unit.rounds, unit.number) for unit in messages] == [
        ("protected", 20, 1),
        ("journal", 20, 1),
    ]
    crashes = [unit for unit in units if unit.scenario == "try/crashes"]
    assert len(crashes) == 2 * 2 * 3
    assert {unit.settings for unit in crashes} == {(("v2", "false"),), (("v2", "true"),)}
    assert len({unit.key for unit in units}) == len(units)


def test_one_protocol_can_be_asked_for(root: Path) -> None:
    found = stated_units(root=root, protocol="V2")
    assert {unit.scenario for unit in found} == {"try/crashes"}
    assert len(found) + len(stated_units(root=root, protocol="V3")) == len(stated_units(root=root))


def test_quick_is_once_with_two_rounds_and_releases_multiply(root: Path) -> None:
    quick = stated_units(root=root, quick=True, only=["try/messages"], versions=["4.18.0", "4.17.3"])
    assert [(unit.version, unit.mode, unit.rounds) for unit in quick] == [
        ("4.18.0", "protected", 2),
        ("4.18.0", "journal", 2),
        ("4.17.3", "protected", 2),
        ("4.17.3", "journal", 2),
    ]


def test_a_scenario_that_cannot_be_tried_is_refused_by_name(root: Path) -> None:
    with pytest.raises(UsageError, match="try/messages"):
        stated_units(root=root, only=["try/mesages"])
    with pytest.raises(UsageError, match="try/alone states no series"):
        stated_units(root=root, only=["try/alone"])


def test_what_is_done_is_not_done_again(root: Path, tmp_path: Path) -> None:
    units, done = stated_units(root=root), list[Experiment]()
    with pytest.raises(KeyboardInterrupt):
        list(run_units(units, Kept(tmp_path), [], doing(done, until=5)))
    lines = list(run_units(units, Kept(tmp_path), [], doing(done)))
    assert done == sorted(units, key=lambda unit: unit.number)
    assert lines[0] == f"{len(units)} runs, 5 of them done already"
    assert list(run_units(units, Kept(tmp_path), [], doing(done))) == [
        f"14 runs, {len(units)} of them done already"
    ]
    assert len(Kept(tmp_path).measured(units)) == len(units)


def test_another_plan_is_measured_anew_and_another_description_is_not(root: Path, tmp_path: Path) -> None:
    before = stated_units(root=root, only=["try/messages"])
    list(run_units(before, Kept(tmp_path), [], doing([])))
    path = root / "try" / "messages.yaml"
    path.write_text(path.read_text().replace("A plan.", "Told otherwise."))
    assert stated_units(root=root, only=["try/messages"]) == before
    path.write_text(path.read_text().replace(MESSAGES, f"{MESSAGES}\nallowance: {{protected: {{each: 1}}}}"))
    after = stated_units(root=root, only=["try/messages"])
    assert not any(Kept(tmp_path).has(unit) for unit in after)


def test_a_trial_comes_back_as_it_was_kept(root: Path, tmp_path: Path) -> None:
    unit = stated_units(root=root)[0]
    one = stated(unit, shown=(Shown("defect durability (lost) on main", "sometimes", 1, 1),), took_s=12.5)
    Kept(tmp_path).add(unit, one)
    assert Kept(tmp_path).measured([unit]) == [(unit, one)]


def test_what_is_forgotten_is_done_again(root: Path, tmp_path: Path) -> None:
    units = stated_units(root=root)
    kept = Kept(tmp_path)
    list(run_units(units, kept, [], doing([])))
    assert kept.drop(units[:2]) == 2
    assert [Kept(tmp_path).has(unit) for unit in units[:3]] == [False, False, True]


def test_the_table_knows_every_release_that_was_measured(root: Path, tmp_path: Path) -> None:
    assert Kept(tmp_path).versions() == []
    units = stated_units(root=root, only=["try/messages"], versions=["4.18.0", "4.17.3"])
    list(run_units(units, Kept(tmp_path), [], doing([])))
    assert Kept(tmp_path).versions() == ["4.17.3", "4.18.0"]


def test_two_benches_never_share_a_folder(tmp_path: Path) -> None:
    def enter() -> None:
        with Kept(tmp_path).alone():
            pass

    with Kept(tmp_path).alone(), pytest.raises(UsageError, match="another series is running"):
        enter()
    enter()


@pytest.fixture
def carried(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Simulates the workers: runs of a scenario that end as expected or not, or with an error."""
    monkeypatch.setattr(scenarios, "prepare", partial(_prepare, root))

    def carry(*endings: bool | FencepostError) -> tuple[list[Trial], list[bool]]:
        units = stated_units(root=root, only=["try/crashes"])[: len(endings)]
        folders = [tmp_path / f"run-{number}" for number in range(len(endings))]
        ending_of = {
            unit.key: (ending, folder) for unit, ending, folder in zip(units, endings, folders, strict=False)
        }

        def execute(unit: Experiment) -> Outcome:
            ending, folder = ending_of[unit.key]
            folder.mkdir()
            if isinstance(ending, FencepostError):
                columns = {"why": str(ending), "error": type(ending).__name__}
                return outcome_of(unit, Status.ERROR, folder=folder.name, **columns)
            status = Status.AS_EXPECTED if ending else Status.ANOMALY
            return outcome_of(unit, status, folder=folder.name, took_s=10.0)

        def stored_trial(run: Path, _mode: str, took_s: float) -> Trial:
            unit = units[folders.index(run)]
            return stated(unit, as_stated=int(endings[folders.index(run)]), took_s=took_s)

        pool = SimpleNamespace(execute=execute, stop=lambda: None)
        monkeypatch.setattr(scenarios, "WorkerPool", lambda *_, **__: nullcontext(pool))
        monkeypatch.setattr(scenarios, "stored_trial", stored_trial)
        found = [trial for _, trial in scenarios.carrying_out(units, tmp_path)]
        return found, [folder.exists() for folder in folders]

    return carry


def _prepare(root: Path, order: Any) -> Any:
    plan = load(root / "try" / "crashes.yaml", words(), settings=dict(order.settings))
    return SimpleNamespace(plan=plan, version=order.version)


def test_an_error_of_a_run_is_its_result_and_the_next_goes_on(carried: Any) -> None:
    found, _ = carried(True, ServerError("b1 ended on its own"), True)
    assert [(one.verdict, one.as_stated, one.why) for one in found] == [
        ("valid", 1, ""),
        ("error", 0, "b1 ended on its own"),
        ("valid", 1, ""),
    ]
    assert len(tallies(found)) == 1


def test_an_error_of_judging_ends_the_series_and_is_the_result_of_no_scenario(carried: Any) -> None:
    with pytest.raises(FencepostError, match="Spark is gone"):
        carried(True, JudgementError("Spark is gone"))


def test_evidence_is_kept_of_the_first_run_and_of_all_that_were_not_as_stated(carried: Any) -> None:
    _, kept = carried(True, True, False)
    assert kept == [True, False, True]


def table_of(found: Sequence[tuple[Experiment, Trial]], units: Sequence[Experiment]) -> list[str]:
    return series_table(rows_of(found), units)


def test_the_table_has_a_row_for_each_mode_and_protocol_with_its_bound(root: Path) -> None:
    units = stated_units(root=root)
    table = table_of(measured(units), units)
    assert "| `try/messages` | 20 of 20 rounds protected, journal |  | 14 % | 10 |" in table
    assert "| `try/crashes`, V2 | 3 of 3 protected, journal |  | 64 % | 20 |" in table
    assert table[0].endswith("As expected: 52 of 52 trials of today's plans,")
    assert len(table) == 3 + 2 + 1 + 2


def test_the_table_tells_rates_and_what_was_not_as_stated(root: Path) -> None:
    units = journal_crashes(root)
    shown = (Shown("defect fencing on main", "sometimes", 1, 1), Shown("defect lac", "sometimes", 0, 9))
    found = [stated(units[0], shown=shown), stated(units[1], as_stated=0, verdict="unknown", why="no census")]
    found.append(stated(units[2], as_stated=0, verdict="error", why="b1 ended on its own; log: /a/b"))
    table, of = table_of(list(zip(units, found, strict=True)), units), "`try/crashes` journal V3 4.18.0"
    assert "| `try/crashes` | 1 of 3 (2 unknown) journal |  | 99 % | 20 |" in table
    assert "| `try/crashes` | journal V3 4.18.0 | defect fencing on main | 1 of 1 | 2.5 % to 100 % |" in table
    assert "| `try/crashes` | journal V3 4.18.0 | defect lac | 0 of 9 | below 29 %: perhaps fixed |" in table
    assert table[-2:] == [f"- {of}: unknown: no census", f"- {of}: error: b1 ended on its own"]


def test_the_table_says_what_was_measured_with_another_plan_and_what_was_not(root: Path) -> None:
    units = stated_units(root=root, only=["try/messages"])
    (row, _) = rows_of(measured(units))
    table = series_table([replace(row, plan="")], units)
    assert "| `try/messages` |  | 20 of 20 rounds protected | 14 % | 10 |" in table
    assert table[-1] == "- `try/messages`: journal V3 4.18.0"
    table = table_of(measured(stated_units(root=root, only=["try/messages"], versions=["4.17.3"])), units)
    assert "| `try/messages`, 4.17.3 | 20 of 20 rounds protected, journal |  | 14 % | 10 |" in table


def test_rows_come_back_and_a_part_of_the_series_leaves_the_others(root: Path, tmp_path: Path) -> None:
    units, file = stated_units(root=root), tmp_path / "series.json"
    assert read_rows(file) == []
    write_rows(file, rows_of((unit, stated(unit, as_stated=0, why="late")) for unit in units))
    before = read_rows(file)
    assert sum(len(row.wrong) for row in before) == len(units)
    crashes = [
        replace(unit, digest="changed")
        for unit in units
        if unit.scenario == "try/crashes" and unit.mode == "journal"
    ]
    write_rows(file, merged(before, rows_of(measured(crashes))))
    after = read_rows(file)
    assert {row.key for row in after} == {row.key for row in before}
    assert [row.as_stated == row.of for row in after if row.plan == "changed"] == [True, True]
    assert sum(len(row.wrong) for row in after) == len(units), "a later plan hides no failure"


def test_a_row_grows_by_runs_that_it_does_not_count_yet(root: Path, tmp_path: Path) -> None:
    units = journal_crashes(root)
    shown = (Shown("defect fencing on main", "sometimes", 1, 1), Shown("defect lac", "sometimes", 0, 9))
    results = {"shown": shown}, {"as_stated": 0, "why": "late"}, {"shown": shown}
    runs = [(unit, stated(unit, **more)) for unit, more in zip(units, results, strict=True)]
    (all_at_once,) = rows_of(runs)
    (in_parts,) = merged(rows_of(runs[:1]), rows_of(runs[1:]))
    assert in_parts == all_at_once
    assert (in_parts.of, in_parts.as_stated, in_parts.runs) == (3, 2, (1, 2, 3))
    assert in_parts.sometimes[0].shown == 2
    done: list[Experiment] = []
    list(run_units(units, Kept(tmp_path), rows_of(runs[:2]), doing(done)))
    assert done == units[2:]


def test_a_row_of_an_earlier_plan_stays_until_the_later_one_counts_as_much(root: Path) -> None:
    units = journal_crashes(root)
    earlier = rows_of((replace(unit, digest="earlier"), stated(unit)) for unit in units)
    later = rows_of(measured(units))
    plans = [row.plan for row in merged(earlier, rows_of(measured(units[:1])))]
    assert plans == ["earlier", units[0].digest]
    assert merged(earlier, later) == later
    failed = rows_of((replace(unit, digest="earlier"), stated(unit, as_stated=0)) for unit in units)
    assert merged(failed, later) == failed + later, "a failure stays"
    assert all(", earlier plan: " in line for line in series_table(failed + later, units)[-len(units) :])


CONTROLLED = """\
series: {times: 3}
vary: {v2: false, wide: false}
cluster: {client_conf: {useV2WireProtocol: {vary: v2}}, bookie_conf: {a: {vary: wide}}}
"""


def test_a_control_is_run_by_its_release_and_by_its_parameters(root: Path) -> None:
    text = PLAN.format(name="controlled", more=CONTROLLED)
    controls = "[{version: 4.15.0}, {set: {wide: true}}, {defect: add-not-stored, property: durability}]"
    text = text.replace("{nothing: a test}", controls)
    broken = (
        "[{breaks: {property: order, versions: '==4.15.0'}}, {breaks: {property: lac}, only: {wide: true}}]"
    )
    (root / "try" / "controlled.yaml").write_text(text.replace("journal: [holds]", f"journal: {broken}"))
    units = stated_units(root=root, only=["try/controlled"])
    own, of_controls = units[: 2 * 2 * 3], units[2 * 2 * 3 :]
    assert {(unit.version, len(unit.settings)) for unit in own} == {("4.18.0", 1)}
    assert {(unit.mode, unit.version, unit.settings[1:], unit.defects) for unit in of_controls} == {
        ("journal", "4.15.0", (), ()),
        ("journal", "4.18.0", (("wide", "true"),), ()),
        ("protected", "4.18.0", (), ("add-not-stored",)),
    }
    assert len(of_controls) == 3 * 3
    newer = stated_units(root=root, only=["try/controlled"], versions=["4.17.3"])
    assert {unit.version for unit in newer} == {"4.17.3"}
    rows = rows_of(measured([unit for unit in units if unit.version == "4.18.0"]))
    plan = load(root / "try" / "controlled.yaml", words())
    assert list(control_lines([plan], scenarios.counted(rows))) == [
        "control, try/controlled: BookKeeper 4.15.0, not run",
        "control, try/controlled: wide=true, 3 of 3 as expected",
        "control of durability, try/controlled: defect=add-not-stored, 3 of 3 as expected",
    ]


def test_a_parameter_that_came_later_keeps_at_its_default_what_was_measured(root: Path) -> None:
    plan = root / "try" / "crashes.yaml"
    before = {unit.key for unit in stated_units(only=["try/crashes"], root=root)}
    text = plan.read_text().replace("v2: false}", "v2: false, zookeeper: prompt}")
    plan.write_text(text)
    assert {unit.key for unit in stated_units(only=["try/crashes"], root=root)} == before
    plan.write_text(text.replace("prompt", "slow"))
    assert not before & {unit.key for unit in stated_units(only=["try/crashes"], root=root)}
