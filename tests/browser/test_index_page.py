"""index.html in a real browser: search, filters, comparison, links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.index import write_index
from reports.page.writing import write_page
from tests.unit.reports.stored_run import HOSTILE, stored_run


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    write_page(stored_run(results, stamp="20260103T000000Z", seed=3))
    stored_run(results, stamp="20260102T000000Z", seed=2, conf={"flushInterval": "60000"})
    stored_run(results, scenario="soak/kill9", stamp="20260101T000000Z", seed=1, modes=["protected"])
    stored_run(results, scenario="mine", stamp="20250101T000000Z", seed=9, modes=["journal"], hostile=HOSTILE)
    return write_index(results)


def seeds(page: Any) -> list[str]:
    return [str(row.locator("td").nth(3).inner_text()) for row in page.locator("tr[data-run]:visible").all()]


def test_search_and_filters_narrow_and_reset_shows_all(opened: Any, index: Path) -> None:
    page = opened(index).page
    assert seeds(page) == ["3", "2", "1", "9"]
    page.get_by_label("search").fill("SOAK kill9")
    assert seeds(page) == ["1"]
    page.get_by_role("button", name="reset").click()
    page.wait_for_function("document.querySelectorAll('tr[data-run]:not([hidden])').length === 4")
    page.get_by_label("verdict").select_option("anomaly")
    assert seeds(page) == ["3", "2"]
    page.get_by_label("mode").select_option("journal")
    assert seeds(page) == []
    assert page.locator("#shown").inner_text().startswith("0 of 4 shown")


def test_two_runs_are_compared_by_what_differs(opened: Any, index: Path) -> None:
    page = opened(index).page
    boxes = page.locator(".choose")
    boxes.nth(0).check()
    assert not page.locator("#comparison").is_visible()
    boxes.nth(1).check()
    lines = page.locator("#comparison tbody tr").all_inner_texts()
    assert [line.split("\t") for line in lines] == [
        ["seed", "3", "2"],
        ["conf.bookie.flushInterval", "–", "60000"],
    ]
    assert boxes.nth(2).is_disabled()
    page.get_by_role("button", name="close").click()
    assert not page.locator("#comparison").is_visible()
    assert boxes.nth(2).is_enabled()


def test_a_run_with_a_page_links_to_it(opened: Any, index: Path) -> None:
    page = opened(index).page
    page.get_by_role("link", name="bp46/truncation").click()
    assert page.locator(".card").count() == 2


def test_the_index_fits_a_phone_and_shows_hostile_names_as_text(opened: Any, index: Path) -> None:
    page = opened(index, width=360, color_scheme="dark").page
    for box in (0, 3):
        page.locator(".choose").nth(box).check()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("img").count() == 0
