"""Every command in the documents can be typed as it is printed, and a test or a series executes it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from bench.rows import read_rows
from cli.main import fencepost
from plans.load import find, scenarios
from tests.repo.test_prose import markdown

ROOT = Path(__file__).parents[2]
GENERATED = {"docs/command-line.md", "docs/plan-language.md"}
COMMAND = re.compile(r"^\s*(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?(fencepost|scripts/[\w-]+)((?: .*)?)$")
INLINE = re.compile(r"`(fencepost) ((?:run|explore|campaign|sensitivity) [^`]*)`")
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b|\.\.\.")
"""A command in a sentence that leaves a part of it open."""
BY_HAND = {
    "scripts/demo": "README.md",
    "scripts/test": ".ci/run",
    "scripts/bench": "docs/series.md",
}
"""Scripts that take minutes or hours: where they are executed, or their output is."""


EXECUTED = {
    ("run", "--bookie-conf"): ("tests/unit/harness/test_preparing.py", "bookie_conf=conf"),
    ("report", "--csv"): ("tests/spark/test_trends.py", "csv_text("),
    ("trackrecord", ""): ("docs/track-record.md", "fencepost trackrecord"),
}
"""Where what a verb or an option does is executed without the word of the command line."""
TESTS = [path for path in sorted((ROOT / "tests").rglob("*.py")) if "repo" not in path.parts]


@dataclass(frozen=True)
class Documented:
    """One command line of a page, by its program and its words."""

    place: str
    program: str
    words: tuple[str, ...]

    @property
    def verb(self) -> str:
        return self.words[0]

    @property
    def options(self) -> list[str]:
        return [word.partition("=")[0] for word in self.words if word.startswith("--")]


def documented() -> Iterator[Documented]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        if name in GENERATED:
            continue
        for number, line, kind in markdown(page.read_text(encoding="utf-8")):
            if kind == "code" and (found := COMMAND.match(line)):
                yield _command(f"{name}:{number}", found[1], found[2])
            for program, rest in INLINE.findall(line) if kind != "code" else ():
                if not PLACEHOLDER.search(rest):
                    yield _command(f"{name}:{number}", program, rest)


def _command(place: str, program: str, text: str) -> Documented:
    words = shlex.split(text, comments=True)
    if ">" in words:
        words = words[: words.index(">")]
    return Documented(place, program, tuple(words))


ALL = list(documented())
VERBS_USED = [one for one in ALL if one.program == "fencepost"]


@pytest.fixture
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has every file which the documents name."""
    monkeypatch.chdir(tmp_path)
    for one in VERBS_USED:
        for word in one.words:
            if re.fullmatch(r"[\w./-]+\.(?:conf|yaml|json|edn|zip|xml|md|csv)", word):
                target = tmp_path / word
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
    (tmp_path / "path/to/jars").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("one", VERBS_USED, ids=lambda one: f"{one.place} {' '.join(one.words)}")
def test_a_documented_command_is_accepted_by_the_command_line(one: Documented, a_folder: Path) -> None:
    command = fencepost.get_command(click.Context(fencepost), one.verb)
    assert command is not None, f"{one.place}: no verb {one.verb}"
    assert a_folder.samefile(os.curdir)
    command.make_context(one.verb, list(one.words[1:]))


@pytest.mark.parametrize(
    "one", [one for one in VERBS_USED if one.verb == "run"], ids=lambda one: f"{one.place} {one.words[1:]}"
)
def test_what_a_documented_run_names_exists(one: Documented) -> None:
    command = fencepost.get_command(click.Context(fencepost), "run")
    assert command is not None
    given = command.make_context("run", list(one.words[1:]), resilient_parsing=True).params
    names = [name for name in given["scenarios"] if name != "NAME" and not name.endswith(".yaml")]
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
    named = {word for one in VERBS_USED for word in one.words if word in scenarios()}
    live = "".join(path.read_text() for path in TESTS)
    assert named
    rest = {name for name in named - counted if name not in live}
    assert not rest or '- scenarios: ["*"]' in (ROOT / "campaigns" / "nightly.yaml").read_text(), rest


def test_every_documented_verb_and_option_is_executed_by_a_test() -> None:
    sources = [path.read_text() for path in TESTS]
    used = {(one.verb, option) for one in VERBS_USED for option in ("", *one.options)} - set(EXECUTED)
    missing = [
        f"{verb} {option}"
        for verb, option in sorted(used)
        if not any((option or f'"{verb}"') in text for text in sources)
    ]
    assert missing == []
    for (verb, option), (where, words) in EXECUTED.items():
        assert words in (ROOT / where).read_text(), f"{verb} {option}: {where} has no {words}"


def test_every_documented_script_exists_and_something_executes_it() -> None:
    used = {one.program for one in ALL if one.program != "fencepost"}
    tests = "".join(path.read_text() for path in TESTS)
    for script in sorted(used):
        assert os.access(ROOT / script, os.X_OK), script
        where = BY_HAND.get(script)
        if where is not None:
            assert script in (ROOT / where).read_text(), f"{script} is not in {where}"
        else:
            assert script.removeprefix("scripts/") in tests, script


def test_commands_are_found_in_code_and_in_prose() -> None:
    assert len(ALL) > 150
    assert _command("x:1", "fencepost", " list schema > a.json  # note").words == ("list", "schema")
    assert {one.program for one in ALL} >= {"fencepost", "scripts/setup", "scripts/demo"}
