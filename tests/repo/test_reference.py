"""The generated pages of the reference match the program, and name all that it declares."""

import re
from pathlib import Path

import click
import pytest

from cli.main import fencepost
from cli.reference import PAGES, text_of, write_pages
from harness.verbs import VERBS
from nemesis.registry import FAULTS
from plans.grammar.names import purpose_of


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(root: Path, name: str) -> None:
    assert (root / name).read_text() == text_of(PAGES[name]), "run scripts/docs"


def test_the_command_line_has_every_verb(root: Path) -> None:
    text = (root / "docs" / "command-line.md").read_text()
    assert [verb for verb in VERBS if f"\n## {verb}\n" not in text] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_a_help_text(verb: str) -> None:
    command = fencepost.get_command(click.Context(fencepost), verb)
    assert command is not None and command.help
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [one.opts for one in options if not (one.help or "").endswith(".")] == []


def test_every_value_of_an_option_has_a_name(root: Path) -> None:
    text = (root / "docs" / "command-line.md").read_text()
    assert re.findall(r"`--[\w-]+ (?:TEXT|DURATION)`", text) == []


def test_the_plan_language_names_no_class(root: Path) -> None:
    cells = re.findall(r"(?<=\| )`[A-Z]\w+`(?= \|)", (root / "docs" / "plan-language.md").read_text())
    assert cells == []


def test_the_plan_language_says_what_a_list_or_a_mapping_has(root: Path) -> None:
    text = (root / "docs" / "plan-language.md").read_text()
    assert [
        cell for cell in re.findall(r"(?<=\| )[^|\n]+(?= \|)", text) if cell.endswith(("a list", "a mapping"))
    ] == []
    assert "| `expect` | a mapping; keys: `journal`, `nosync`, `unprotected`, `protected`; values: " in text
    assert "| `source` | Which document, and which part of it, the plan comes from. A mapping; " in text
    assert re.search(r"\| `faults` \| a list, each a mapping with one of `blackhole`, .*`wipe`", text)
    assert "| `occurrences` | [integer, integer] |" in text


def test_the_plan_language_writes_a_default_in_one_way(root: Path) -> None:
    assert re.findall(r"`\d+\.0`", (root / "docs" / "plan-language.md").read_text()) == []


def test_the_plan_language_has_every_fault_with_its_purpose(root: Path) -> None:
    text = (root / "docs" / "plan-language.md").read_text()
    assert FAULTS
    for fault in FAULTS.values():
        assert f"\n### {fault.kind}\n\n{purpose_of(fault)}" in text, fault.kind
    others = text.partition("\n## Loads, waits and blocks\n")[2].partition("\n## ")[0]
    assert [kind for kind in FAULTS if f"\n### {kind}\n" in others] == []


def test_a_page_is_written_only_when_it_changes(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    pages = {"docs/one.md": lambda: iter(["# One", "", "", "text"])}
    write_pages(pages, root=tmp_path)
    page = tmp_path / "docs" / "one.md"
    written_ns = page.stat().st_mtime_ns
    assert page.read_text().endswith("# One\n\ntext\n")
    write_pages(pages, root=tmp_path)
    assert page.stat().st_mtime_ns == written_ns
