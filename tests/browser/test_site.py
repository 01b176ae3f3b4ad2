"""The documentation site in a real browser, from files: search, both widths, nothing from the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DESKTOP, PHONE = 1400, 390  # Material shows its tabs from 1220 on
PAGES = ["index.html", "tutorial.html", "verdicts.html", "plan-language.html", "findings/index.html"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, timeout=300, env=env)
    return target


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_search_finds_a_page_and_leads_there(opened: Any, site: Path, width: int) -> None:
    page = opened(site / "index.html", width=width).page
    if width == PHONE:
        page.locator("label.md-header__button[for=__search]").click()
    field = page.locator("input.md-search__input")
    field.click()
    field.press_sequentially("limbo")  # the search answers keys, not a changed value
    found = page.locator(".md-search-result__link").first
    found.wait_for()
    assert "limbo" in found.inner_text().lower()
    found.click()
    page.wait_for_url(re.compile(r"\.html\?h=limbo"))
    assert "limbo" in page.locator("article").inner_text().lower()


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_the_window(opened: Any, site: Path, name: str, width: int) -> None:
    page = opened(site / name, width=width).page
    assert page.locator("article h1").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("name", ["seeded-defects.html", "sensitivity.html"])
def test_a_wide_table_scrolls_on_a_phone_and_the_names_of_its_rows_stay(
    opened: Any, site: Path, name: str
) -> None:
    page = opened(site / name, width=PHONE).page
    scrolled = """wrap => {
        wrap.scrollLeft = 300
        const cell = wrap.querySelector("td").getBoundingClientRect()
        return [wrap.scrollLeft, cell.left >= 0 && cell.right < window.innerWidth]
    }"""
    tables = [one.evaluate(scrolled) for one in page.locator(".md-typeset__scrollwrap").all()]
    assert [300, True] in tables
    assert all(stays for _, stays in tables)


def test_tabs_lead_to_every_part(opened: Any, site: Path) -> None:
    page = opened(site / "index.html", width=DESKTOP).page
    tabs = [text.strip() for text in page.locator(".md-tabs__link").all_inner_texts()]
    assert tabs == [
        "Overview",
        "Tutorial",
        "How-to guides",
        "Reference",
        "Explanation",
        "Findings",
        "Results",
    ]
    page.locator(".md-tabs__link", has_text="Tutorial").click()
    page.wait_for_url("**/tutorial.html")
    assert page.locator("article h1").inner_text().startswith("Tutorial")
