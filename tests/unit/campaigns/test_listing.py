"""The units of a campaign's file, and the errors of an invalid file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.releases.versions import DEFAULT_VERSION
from harness.campaigns import listing
from harness.campaigns.listing import control_runs, setting_text, shard, units_of
from harness.campaigns.reporting import Conclusion, markdown, page
from harness.campaigns.sensitivity import experiments_with
from harness.experiments.experiment import V2, Experiment, Status, digest_of, outcome_of
from harness.preparing import with_changes
from harness.provenance import CHECKOUT
from harness.vocabulary import words
from plans.campaign import Campaign, campaigns, load_campaign
from plans.expected.expectations import Decides, applicable, shows_defect
from plans.exploring.profile import DEFAULT
from plans.load import find, scenarios
from plans.load import load as plan_of
from plans.models import Plan
from plans.reading.document import everything, parse_file
from protocol.errors import PlanError, UsageError

NOWHERE = Path("/nowhere")
DOCS = CHECKOUT / "docs"
Load = Callable[[str], Campaign]
Listed = Callable[[str], list[Experiment]]


def reproducing() -> dict[str, str]:
    """The scenario that shows a finding, of each finding that has a severity, by the name of its page."""
    head = re.compile(
        r"^\| \*\*Effect\*\* \| P\d, .*?^\| \*\*Reproduce\*\* \| `fencepost run ([\w/-]+)", re.M | re.S
    )
    pages = (DOCS / "findings").glob("*.md")
    return {page.stem: found[1] for page in pages if (found := head.search(page.read_text(encoding="utf-8")))}


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_it(text: str) -> Campaign:
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return load_campaign(str(path))

    return load_it


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Listed:
    """The units of a campaign of the repository, each listed once."""
    plans = tmp_path_factory.mktemp("plans")
    return cache(lambda name: units_of(load_campaign(name), plans=plans))


@pytest.fixture(scope="module")
def gate(listed: Listed) -> list[Experiment]:
    return listed("gate")


@pytest.mark.parametrize("name", campaigns())
def test_every_campaign_of_the_repository_has_runs(name: str, listed: Listed) -> None:
    assert load_campaign(name).name == name
    assert len({unit.key for unit in listed(name)}) == len(listed(name)) > 1


def test_the_night_has_every_run_of_the_gate(listed: Listed, gate: list[Experiment]) -> None:
    nightly = {unit.key for unit in listed("nightly")}
    assert [str(unit) for unit in gate if unit.key not in nightly] == []


def test_two_controls_by_one_defect_are_one_run_that_must_break_both_properties() -> None:
    plan = plan_of(find("protocol/order"), words())
    first = next(control for control in plan.control if control.defect)
    other = first.model_copy(update={"property": "durability"})
    both = plan.model_copy(update={"control": (first, other)})
    runs = [one.experiment("journal", 1, 1) for one in control_runs(both, lambda _: both, "4.18.0")]
    assert {(run.key, run.breaks) for run in runs} == {(runs[0].key, (first.property, "durability"))}


def test_drawn_plans_are_one_run_for_each_seed(load: Load, tmp_path: Path) -> None:
    units = units_of(load("name: mine\nexplore: {runs: 3, first_seed: 5}\n"), plans=tmp_path)
    assert [unit.number for unit in units] == [5, 6, 7]
    for unit in units:
        assert unit.digest == digest_of(plan_of(Path(unit.file), words()))
        assert unit.request(tmp_path).scenario == unit.file
    assert len({unit.digest for unit in units}) == 3
    again = units_of(load("name: mine\nexplore: {runs: 1, first_seed: 6}\n"), plans=tmp_path / "again")
    assert [unit.key for unit in again] == [units[1].key]


def test_a_campaign_with_another_release_leaves_the_drawn_plans_of_the_first(
    load: Load, tmp_path: Path
) -> None:
    campaign = load("name: mine\nexplore: {runs: 1, first_seed: 5}\n")
    units = [
        unit for version in (None, "4.17.3") for unit in units_of(campaign, plans=tmp_path, version=version)
    ]
    assert len({unit.digest for unit in units}) == 2
    assert [digest_of(plan_of(Path(unit.file), words())) for unit in units] == [unit.digest for unit in units]


def test_the_drawn_plans_are_those_of_a_profile_of_ones_own(load: Load, tmp_path: Path) -> None:
    profile = tmp_path / "own.yaml"
    profile.write_text(DEFAULT.read_text(encoding="utf-8").replace("modes: [protected]", "modes: [journal]"))
    units = units_of(load(f"name: mine\nexplore: {{runs: 2, profile: {profile.name}}}\n"), plans=tmp_path)
    assert {unit.mode for unit in units} == {"journal"}


def test_the_first_seed_of_all_comes_before_the_second_of_any(load: Load) -> None:
    runs = (
        "{scenarios: ['bp46/lost-f*', fencing/figure], without: ['*-fence-*'], modes: [protected], seeds: 2}"
    )
    units = units_of(load(f"name: mine\nruns: [{runs}]\n"), plans=NOWHERE)
    assert [(unit.scenario, unit.number) for unit in units] == [
        ("bp46/lost-fence", 1),
        ("fencing/figure", 1),
        ("bp46/lost-fence", 2),
        ("fencing/figure", 2),
    ]


def test_a_parameter_goes_to_the_plans_that_have_it(load: Load) -> None:
    named = "scenarios: [bp46/truncation, bp46/cookie-refused], modes: [protected]"
    campaign = load(f"name: mine\nruns: [{{{named}, set: {{loss: [process, power]}}}}]\n")
    assert [(unit.scenario, unit.settings) for unit in units_of(campaign, plans=NOWHERE)] == [
        ("bp46/truncation", (("loss", "process"),)),
        ("bp46/truncation", (("loss", "power"),)),
        ("bp46/cookie-refused", ()),
    ]


def test_what_two_entries_name_runs_once(load: Load) -> None:
    one = "{scenarios: [bp46/truncation], modes: [journal]}"
    assert len(units_of(load(f"name: mine\nruns: [{one}, {one}]\n"), plans=NOWHERE)) == 1


def test_a_release_given_by_the_user_goes_before_those_of_the_file(load: Load) -> None:
    campaign = load("name: mine\nruns: [{scenarios: [bp46/truncation], versions: ['4.17.3', '4.16.4']}]\n")
    assert {unit.version for unit in units_of(campaign, version="4.15.1", plans=NOWHERE)} == {"4.15.1"}


def test_the_gate_rests_on_no_defect_that_a_patch_may_mend(gate: list[Experiment]) -> None:
    for unit in gate:
        stated = applicable(plan_of(find(unit.scenario), words()).expect, unit.mode, unit.version)
        assert not any(map(shows_defect, stated)), unit
    assert {unit.scenario for unit in gate}.isdisjoint(reproducing().values())


def test_the_page_of_the_gates_sensitivity_has_the_number_of_its_runs(gate: list[Experiment]) -> None:
    page = " ".join((DOCS / "sensitivity.md").read_text(encoding="utf-8").split())
    assert f"of the gate's {len({unit.scenario for unit in gate})} scenarios" in page
    assert f"its {len(gate)} runs took" in page


def test_runs_with_a_known_defect_are_left_out_or_are_the_only_ones(load: Load) -> None:
    def runs(which: str) -> set[tuple[str, str]]:
        entry = f"scenarios: ['fencing/*'], known_defects: {which}, controls: false"
        units = units_of(load(f"name: mine\nruns: [{{{entry}}}]\n"), plans=NOWHERE)
        return {(unit.scenario, unit.mode) for unit in units}

    assert runs("only") == {
        ("fencing/default-storage", "unprotected"),
        ("fencing/default-storage", "journal"),
        ("fencing/fence-collected", "unprotected"),
        ("fencing/fence-collected", "protected"),
        ("fencing/fence-collected", "journal"),
        ("fencing/index-moved", "journal"),
        ("fencing/index-moved", "unprotected"),
        ("fencing/unsynced-header", "journal"),
    }
    assert runs("without") == runs("also") - runs("only")


def test_whether_a_plan_has_a_known_defect_follows_from_the_parameters_that_are_set(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = find("fencing/unsynced-header").read_text(encoding="utf-8")
    changes = {
        "vary: {v2: false}": "vary: {v2: false, affected: '>=4.0'}",
        "- defect: {": "- defect: {versions: {vary: affected}, ",
        "- defect:\n": "- defect:\n        versions: {vary: affected}\n",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    plan = tmp_path / "plan.yaml"
    plan.write_text(text, encoding="utf-8")
    monkeypatch.setattr(listing, "find", lambda _: plan)

    def runs(which: str) -> list[str]:
        named = "scenarios: [fencing/unsynced-header], set: {affected: ['>=4.0', '<4.0']}"
        entry = f"{named}, known_defects: {which}, controls: false"
        units = units_of(load(f"name: mine\nruns: [{{{entry}}}]\n"), plans=NOWHERE)
        return [dict(unit.settings)["affected"] for unit in units]

    assert (runs("only"), runs("without")) == ([">=4.0"], ["<4.0"])


def test_the_campaign_defects_has_each_known_defect_that_a_short_scenario_shows(
    listed: Listed,
) -> None:
    run = {unit.scenario for unit in listed("defects")}
    known = set()
    for name in scenarios():
        plan = plan_of(find(name), words())
        stated = (entry for mode in plan.modes for entry in applicable(plan.expect, mode, DEFAULT_VERSION))
        if not name.startswith("soak/") and any(map(shows_defect, stated)):
            known.add(name)
    assert known - run == {"bp46/many-ledgers"}


def test_the_campaign_defects_has_each_finding_with_a_severity(listed: Listed) -> None:
    run = {unit.scenario for unit in listed("defects")}
    reproduced = reproducing()
    assert len(reproduced) > 50
    assert {page: name for page, name in reproduced.items() if name not in run} == {}


def test_each_scenario_with_disks_is_run_where_root_is(listed: Listed) -> None:
    with_disks = {name for name in scenarios() if plan_of(find(name), words()).cluster.disks}
    assert with_disks - {unit.scenario for unit in listed("disks")} == set()


def test_each_value_for_which_a_plan_states_something_is_run_by_a_campaign(listed: Listed) -> None:
    """As the plan's default, as a control, or as a value that a campaign sets; the series run `v2`."""
    run = {(unit.scenario, *pair) for name in campaigns() for unit in listed(name) for pair in unit.settings}
    stated = set()
    for name in scenarios():
        tree = parse_file(find(name)).tree
        run |= {(name, parameter, setting_text(value)) for parameter, value in tree.get("vary", {}).items()}
        items = (value for _, value in everything(tree) if isinstance(value, dict))
        only = (pair for item in items for pair in item.get("only", {}).items())
        stated |= {(name, parameter, setting_text(value)) for parameter, value in only if parameter != V2}
    assert len(stated) > 50
    assert sorted(stated - run) == []


def test_a_campaign_runs_controls_that_are_a_release_or_other_parameters(load: Load) -> None:
    runs = "{scenarios: [closing/damaged-entry-log, durability/write-refused], modes: [journal]}"
    units = units_of(load(f"name: mine\nruns: [{runs}]\n"), plans=NOWHERE)
    assert [(unit.scenario, unit.version, unit.settings) for unit in units] == [
        ("closing/damaged-entry-log", "4.18.0", ()),
        ("closing/damaged-entry-log", "4.15.0", ()),
        ("durability/write-refused", "4.18.0", ()),
        ("durability/write-refused", "4.18.0", (("percentage", "0"),)),
    ]
    units = units_of(load(f"name: mine\nruns: [{runs}]\n"), version="4.17.3", plans=NOWHERE)
    assert {unit.version for unit in units} == {"4.17.3"}


def test_a_campaign_runs_a_control_by_a_defect_in_the_first_mode_only(
    load: Load, gate: list[Experiment]
) -> None:
    campaign = load("name: mine\nruns: [{scenarios: [protocol/order], rounds: 2}]\n")
    units = [unit for unit in units_of(campaign, plans=NOWHERE) if unit.defects]
    assert [(unit.mode, unit.rounds, unit.defects, unit.breaks) for unit in units] == [
        ("unprotected", 1, ("callbacks-out-of-order",), ("order",)),
        ("unprotected", 1, ("lac-goes-back",), ("lac",)),
    ]
    without = load("name: mine\nruns: [{scenarios: [protocol/order], controls: false}]\n")
    assert [unit.defects for unit in units_of(without, plans=NOWHERE)] == [()] * 3
    assert not [unit for unit in gate if unit.defects], "the gate runs the BookKeeper that it is given"
    assert not experiments_with(units, ["lac-goes-back"]), "a control is no run to seed another defect in"
    assert not [one for one in units_of(campaign, version="4.14.7", plans=NOWHERE) if one.defects]


@given(st.integers(1, 9))
def test_shards_are_all_units_and_no_unit_twice(gate: list[Experiment], of: int) -> None:
    parts = [shard(gate, number, of) for number in range(1, of + 1)]
    assert sorted(unit.key for part in parts for unit in part) == sorted(unit.key for unit in gate)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: mine\nruns: [{scenarios: [bp46/truncatoin]}]", "bp46/truncation"),
        ("name: mine\nruns: [{scenarios: ['bp47/*']}]", "`bp47/*` matches no scenario"),
        ("name: mine\nruns: [{scenarios: [bp46/truncation], modes: [protcted]}]", "protected"),
        ("name: mine\nruns: [{scenarios: [bp46/truncation], versions: [newest]}]", "no release number"),
        ("name: mine\nmatrix: {quorums: [7/3/2], lost: [1]}", "more than the 6"),
        ("name: mine\nrnus: []", "unknown key `rnus`"),
        ("name: mine\nruns: [{scenarios: [bp46/truncation], set: {loss: []}}]", "`loss` is empty"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, message: str, load: Load) -> None:
    with pytest.raises(PlanError) as error:
        load(text)
    assert message in str(error.value)
    assert "mine.yaml:" in str(error.value)


def test_a_plan_that_changes_its_bookkeeper_is_never_listed_as_a_release(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = load("name: mine\nruns: [{scenarios: [bp46/truncation], modes: [protected]}]")
    assert {unit.release for unit in units_of(campaign, plans=NOWHERE)} == {"4.18.0"}

    def changed(*arguments: Any, **options: Any) -> Plan:
        return with_changes(plan_of(*arguments, **options), ("fence-ignored",), ())

    monkeypatch.setattr(listing, "load", changed)
    units = units_of(campaign, plans=NOWHERE)
    outcomes = [outcome_of(unit, Status.AS_EXPECTED) for unit in units]
    assert {unit.version for unit in units} == {"4.18.0"}
    assert {one.version for one in outcomes} == {"4.18.0 MODIFIED (fence-ignored)"}
    assert all(" 4.18.0 MODIFIED (fence-ignored) " in one.name for one in outcomes)
    conclusion = Conclusion(campaign, outcomes, [], 0, "as expected")
    assert "<td>4.18.0 MODIFIED (fence-ignored)</td>" in page(conclusion, NOWHERE)
    assert "| 4.18.0 MODIFIED (fence-ignored) |" in markdown(conclusion)


def test_a_campaign_without_runs_is_refused(load: Load) -> None:
    with pytest.raises(UsageError, match="the campaign mine has no run"):
        units_of(load("name: mine\n"), plans=NOWHERE)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("scenarios: [fencing/figure, bp46/cookie-stamped], modes: [journal]", "`bp46/cookie-stamped` gives"),
        ("scenarios: [fencing/figure, 'bp46/l*'], without: ['bp46/*']", "`bp46/l*` gives no run"),
        ("scenarios: [fencing/figure], known_defects: only", "`fencing/figure` gives no run"),
        ("scenarios: [bp46/truncation], set: {los: [power]}", "did you mean `loss`"),
    ],
)
def test_a_part_of_a_campaign_that_gives_no_run_is_refused(entry: str, message: str, load: Load) -> None:
    with pytest.raises(UsageError) as error:
        units_of(load(f"name: mine\nruns: [{{scenarios: [fencing/figure]}}, {{{entry}}}]\n"), plans=NOWHERE)
    assert message in str(error.value)


def test_a_campaign_that_does_not_exist_is_named_with_its_nearest() -> None:
    with pytest.raises(PlanError, match="gate"):
        load_campaign("gaet")
    with pytest.raises(PlanError, match=r"no campaign file mine\.yaml"):
        load_campaign("mine.yaml")


def test_a_plan_runs_alone_in_a_campaign_and_its_measurements_stay_valid(load: Load) -> None:
    text = "name: mine\nruns: [{scenarios: [durability/re-replication, fencing/figure]}]"
    alone = {unit.scenario for unit in units_of(load(text), plans=NOWHERE) if unit.alone}
    assert alone == {"durability/re-replication"}
    plan = plan_of(find("durability/re-replication"), words())
    assert plan.alone
    assert digest_of(plan.model_copy(update={"alone": False})) == digest_of(plan)


def test_the_page_that_a_decision_refers_to_leaves_measurements_valid() -> None:
    plan = plan_of(find("protocol/ensemble-change-partial"), words())
    expect = {
        mode: tuple(
            entry.model_copy(update={"reference": ""}) if isinstance(entry, Decides) else entry
            for entry in stated
        )
        for mode, stated in plan.expect.items()
    }
    without = plan.model_copy(update={"expect": expect})
    assert without.expect != plan.expect
    assert digest_of(without) == digest_of(plan)
