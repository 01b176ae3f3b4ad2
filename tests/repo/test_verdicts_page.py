"""The index of findings has every kind once, and leads to its section; each property has its facts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkers.judging.checker import Checker
from checkers.judging.judge import CHECKERS

ROW = re.compile(r"^\| `([\w-]+)` \| \[(\w+)\]\(([\w./]+)#([\w-]+)\) \|", re.M)
FACTS = ["rests on", "`valid` with", "`unknown` when", "`not judged` when"]
PAGE_LINES = 400


def sections(page: Path) -> dict[str, str]:
    """The text below each heading, by its anchor; it ends at the next heading of any level."""
    parts = re.split(r"^#+ +(.*)$", page.read_text(), flags=re.M)[1:]
    names = [re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in parts[::2]]
    return dict(zip(names, parts[1::2], strict=True))


def test_the_index_has_exactly_the_kinds_that_the_checkers_report(root: Path) -> None:
    index = [(name, kind) for kind, name, _, _ in ROW.findall((root / "docs" / "verdicts.md").read_text())]
    assert sorted(index) == sorted((checker.name, kind) for checker in CHECKERS for kind in checker.kinds)


def test_each_row_of_the_index_leads_to_the_section_with_its_kind(root: Path) -> None:
    rows = ROW.findall((root / "docs" / "verdicts.md").read_text())
    lost = [
        kind
        for kind, _, page, anchor in rows
        if f"`{kind}`" not in sections(root / "docs" / page)[anchor]
        and kind not in sections(root / "docs" / page)
    ]
    assert rows
    assert lost == []


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
def test_every_property_says_what_it_rests_on(root: Path, checker: Checker) -> None:
    pages = [root / "docs" / "log.md", *sorted((root / "docs" / "verdicts").glob("*.md"))]
    tables = re.findall(
        rf"^\| `{checker.name}` \| \|\n\|---\|---\|\n((?:\|.+\n)+)",
        "\n".join(p.read_text() for p in pages),
        re.M,
    )
    assert [re.findall(r"^\| (.+?) \|", table, re.M) for table in tables] == [FACTS]


def test_no_page_on_verdicts_is_long(root: Path) -> None:
    pages = [root / "docs" / "verdicts.md", *(root / "docs" / "verdicts").glob("*.md")]
    assert [page.name for page in pages if page.read_text().count("\n") > PAGE_LINES] == []
