"""Every command in the documents can be typed as it is printed, and a test or a script executes it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
import pytest

from bench.series.rows import read_rows
from cli.main import fencepost
from plans.load import find, scenarios
from tests.documented import DOCUMENTED, Command, command

ROOT = Path(__file__).parents[2]
AS_PRINTED = "tests/unit/harness/test_documented_commands.py"
"""Executes each command that needs no server, word for word: those with ``only_reads``."""
LIVE = "tests/live/harness/"
EXECUTED = {
    LIVE + "test_truncation.py": (
        "fencepost run bp46/truncation --json",
        "fencepost check latest --quiet",
        "fencepost check BUNDLE.zip",
        "fencepost explain BUNDLE.zip main:49",
        "fencepost report BUNDLE.zip",
    ),
    LIVE + "test_rounds.py": (
        "fencepost run FILE --rounds ROUNDS --seed 1 --set last_entry=49",
        "fencepost explain latest main.2:49",
    ),
    LIVE + "test_builds.py": (
        "fencepost run fencing/figure --mode unprotected --rounds 1 --jars DIR --bookie-conf FILE --json",
    ),
    LIVE + "test_soak.py": (
        "fencepost run soak/kill9 --mode protected --seed 3 --set for_s=15 --json",
        "fencepost run bp46/truncation --mode protected --bookkeeper 4.14.7 --json",
    ),
    LIVE + "test_seeded_defects.py": ("fencepost run NAME --mode MODE --seed-defect NAME --json",),
    LIVE + "test_pause.py": ("fencepost run bp46/truncation --mode unprotected --seed 1 --pause-on anomaly",),
    LIVE + "test_campaign.py": (
        "fencepost campaign gate --shard PART --annotate --junit FILE --markdown FILE",
        "fencepost campaign gate --list",
    ),
    LIVE + "test_exploring.py": (
        "fencepost explore --mode unprotected --seed SEED --for 900s --profile FILE --json",
        "fencepost explore --profile FILE --mode protected --runs 5 --seed 1",
        "fencepost shrink RUN --for 900s --confidence 0.9 --output FILE",
    ),
    LIVE + "test_sensitivity.py": (
        "fencepost sensitivity --campaign FILE --defect fence-ignored --scenario NAME --for 1h --parallel 2",
    ),
    LIVE + "test_documented_commands.py": (
        "fencepost run FILE --times 2 --parallel auto",
        "fencepost run soak/kill9 --mode protected --set for_s=10 --bookkeeper 4.17.3 --bookie-conf FILE "
        "--results DIR --json",
        "fencepost run fencing/figure --mode unprotected --rounds 1 --results DIR --json --master URL",
        "fencepost run bp46/limbo-late --mode protected --times 2 --json --cure preboot-awaited",
        "fencepost replay latest --times 2 --parallel auto --json",
        "fencepost campaign FILE --bookkeeper 4.16.4 --for 8h --parallel auto",
        "fencepost campaign FILE --jars DIR --junit FILE --for 4h",
        "fencepost trackrecord protection-ignored",
        "scripts/bench scenarios --only fencing/figure --quick --parallel auto",
        "scripts/bench calm --times 1 --agent",
        "scripts/bench judge --shape many --operations N --rounds 1 --census --frames --no-duckdb --no-log",
        "scripts/bench log --transactions 1000",
        "scripts/bench wire --rounds 1 --entries 2000",
        "scripts/bench writes --rounds 1 --entries 2000",
    ),
    "tests/docker/test_experiments.py": (
        "fencepost run bp46/truncation --backend docker --mode unprotected --seed 1 --times 1",
    ),
    "tests/spark/test_cluster.py": ("fencepost check RUN --quiet --master URL --results DIR",),
    "tests/unit/cli/test_command_line.py": ("fencepost run bp46/truncation --dry-run",),
    "tests/unit/cli/test_export.py": ("fencepost export RUN --edn --out FILE",),
    "tests/unit/bench/test_series_command.py": (
        "scripts/bench scenarios --table --results DIR --document FILE",
    ),
    "tests/unit/bench/test_compare_elle.py": ("scripts/compare-elle --jar JAR FILE",),
    "tests/unit/setup/test_setup_scripts.py": ("scripts/setup --remove",),
    "tests/histories/test_mutations.py": ("scripts/bench mutation --mutants N",),
    "tests/histories/test_valid_histories.py": ("scripts/bench valid --histories 10",),
    "action.yml": ("scripts/setup",),
    ".ci/run": ("scripts/test TIER",),
    ".github/workflows/nightly.yml": ("fencepost trackrecord",),
}
"""Which file executes which command; values in capitals are its own. Another value is the same command."""
BY_HAND = {
    "scripts/demo": ("README.md", "3 of 3 mode runs as expected"),
    "scripts/docs": ("docs/command-line.md", "# Command line"),
    "scripts/check": ("scripts/check", '/test" check'),
    "scripts/bench scenarios": ("docs/series.md", "scripts/bench scenarios"),
    "scripts/images --compose --engine --contexts": ("docs/docker.md", "scripts/images --compose"),
    "scripts/lock": ("locks/requirements.txt", "--hash=sha256"),
    "scripts/test --long live": ("scripts/parts/tiers.py", "--long"),
}
"""What takes hours, or installs packages: a file that has its output, or what it calls."""


RUNS = [one for one in DOCUMENTED if one.program == "fencepost"]


def executed() -> list[Command]:
    return [command(place, text) for place, texts in EXECUTED.items() for text in texts]


def by_hand() -> list[Command]:
    return [command(place, text) for text, (place, _) in BY_HAND.items()]


def without_a_group(commands: list[Command]) -> list[str]:
    """The commands whose form is in none of the three groups."""
    known = [*executed(), *by_hand()]
    return [
        f"{one.place}: {one}"
        for one in commands
        if not one.only_reads and not any(a.shows(one) for a in known)
    ]


def test_every_documented_command_is_executed() -> None:
    assert without_a_group(DOCUMENTED) == []


def test_a_command_that_nothing_executes_is_named() -> None:
    unknown = ["run bp46/truncation --keep", "shrink bug.zip", "check latest --master url --json"]
    commands = [command("x:1", f"fencepost {text}") for text in unknown]
    assert without_a_group(commands) == [f"x:1: {one}" for one in commands]


@pytest.mark.parametrize("one", executed(), ids=str)
def test_a_test_has_the_words_of_what_it_executes(one: Command) -> None:
    text = (ROOT / one.place).read_text()
    words = {word for word in one.words if not re.match("[A-Z]{2}", word)}
    assert {word for word in words if word not in text} == set()


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_executed_by_hand_left_its_output(name: str) -> None:
    place, words = BY_HAND[name]
    assert words in (ROOT / place).read_text()


@pytest.fixture
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has every file which the documents name."""
    monkeypatch.chdir(tmp_path)
    for one in RUNS:
        for word in one.words:
            if re.fullmatch(r"[\w./-]+\.(?:conf|yaml|json|edn|zip|xml|md|csv)", word):
                target = tmp_path / word
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
    (tmp_path / "path/to/jars").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("one", RUNS, ids=lambda one: f"{one.place} {one}")
def test_a_documented_command_is_accepted_by_the_command_line(one: Command, a_folder: Path) -> None:
    verb = fencepost.get_command(click.Context(fencepost), one.verb)
    assert verb is not None, f"{one.place}: no verb {one.verb}"
    assert a_folder.samefile(os.curdir)
    verb.make_context(one.verb, list(one.words[1:]))


@pytest.mark.parametrize(
    "one", [one for one in RUNS if one.verb == "run"], ids=lambda one: f"{one.place} {one}"
)
def test_what_a_documented_run_names_exists(one: Command) -> None:
    verb = fencepost.get_command(click.Context(fencepost), "run")
    assert verb is not None
    given = verb.make_context("run", list(one.words[1:]), resilient_parsing=True).params
    names = [name for name in given["scenarios"] if not name.endswith(".yaml")]
    assert set(names) <= set(scenarios()), one.place
    for name in names:
        varied = re.search(r"^vary:.*?(?=^\w|\Z)", find(name).read_text(), re.M | re.S)
        for setting in given["settings"]:
            key = setting.partition("=")[0]
            assert varied, f"{one.place}: {name} has no parameters"
            assert re.search(rf"\b{key}:", varied[0]), f"{one.place}: {name} has no parameter {key}"


def test_every_documented_scenario_is_executed() -> None:
    """By the series, by a test with real servers, or by the campaign that runs every scenario at night."""
    counted = {row.scenario for row in read_rows(ROOT / "docs" / "series.json")}
    named = {word for one in RUNS for word in one.words if word in scenarios()}
    tests = (path for path in (ROOT / "tests").rglob("*.py") if "repo" not in path.parts)
    live = "".join(path.read_text() for path in tests)
    assert named
    rest = {name for name in named - counted if name not in live}
    assert not rest or '- scenarios: ["*"]' in (ROOT / "campaigns" / "nightly.yaml").read_text(), rest


def test_the_campaign_of_known_defects_has_the_time_that_it_needs() -> None:
    """Without ``--for`` its own limit leaves runs out, and it ends like one with a defect that is gone."""
    gates = [one for one in RUNS if one.words[:2] == ("campaign", "defects") and not one.only_reads]
    assert gates
    assert [f"{one.place}: {one}" for one in gates if "--for" not in one.options] == []


def test_every_documented_script_can_be_executed() -> None:
    assert [
        one for one in DOCUMENTED if "/" in one.program and not os.access(ROOT / one.program, os.X_OK)
    ] == []


def test_commands_are_found_in_code_and_in_prose() -> None:
    assert len(DOCUMENTED) > 200
    assert sum(one.only_reads for one in DOCUMENTED) > 30
    assert command("x:1", "fencepost list schema > a.json  # note").words == ("list", "schema")
    assert {one.program for one in DOCUMENTED} >= {"fencepost", "scripts/setup", "scripts/demo"}
