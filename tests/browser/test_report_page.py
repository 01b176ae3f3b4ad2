"""report.html in a real browser: clicked through, zoomed, dark, on a phone, printed, large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.page.writing import write_page
from tests.unit.reports.stored_run import HOSTILE, stored_run


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(stored_run(tmp_path_factory.mktemp("results")))


def shown(page: Any) -> list[str]:
    return [one.get_attribute("data-mode") for one in page.locator("section.mode:visible").all()]


def shown_range(page: Any) -> str:
    return str(page.locator(".mode:visible .range").inner_text())


def test_the_mode_that_lost_entries_is_shown_first_and_a_card_shows_another(
    opened: Any, report: Path
) -> None:
    page = opened(report).page
    assert shown(page) == ["unprotected"]
    page.locator(".card", has_text="protected").last.click()
    assert shown(page) == ["protected"]
    assert page.url.endswith("#mode-protected")
    assert page.locator(".mode:visible canvas").count() == 2


def test_a_link_to_a_mode_opens_it(opened: Any, report: Path) -> None:
    assert shown(opened(report, anchor="#mode-protected").page) == ["protected"]


def test_the_timeline_zooms_by_buttons_by_dragging_and_back(opened: Any, report: Path) -> None:
    page = opened(report).page
    whole = page.get_by_role("button", name="the whole run")
    whole.click()
    assert shown_range(page) == "0.000 to 9.000 s"
    page.get_by_role("button", name="zoom in").click()
    assert shown_range(page) == "2.250 to 6.750 s"
    page.get_by_role("button", name="later").click()
    assert shown_range(page) == "4.050 to 8.550 s"
    whole.click()
    for place in (page.locator("svg.lanes:visible"), page.locator(".mode:visible .u-over").first):
        box = place.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 10)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 12, steps=4)
        page.mouse.up()
        start, end = shown_range(page).removesuffix(" s").split(" to ")
        assert 0 < float(start) < float(end) < 9
        place.dblclick(position={"x": box["width"] * 0.5, "y": 10})
        assert shown_range(page) == "0.000 to 9.000 s"


def test_a_bar_says_what_it_is(opened: Any, report: Path) -> None:
    page = opened(report).page
    page.locator(".lanes:visible rect.fault").first.click()
    assert page.locator(".said-now:visible").inner_text() == "fault 1 (kill b1) (3.0000 to 4.0000 s)"


def test_every_arrow_of_the_proof_is_drawn_between_its_lanes(opened: Any, report: Path) -> None:
    page = opened(report).page
    arrows = page.locator(".picture:visible .arrow")
    assert arrows.count() == 6
    heads = page.locator(".picture:visible .lanes-head span")
    box, head = arrows.first.bounding_box(), heads.first.bounding_box()
    assert abs(box["x"] - (head["x"] + head["width"] / 2)) < 4


@pytest.mark.parametrize("width", [360, 390, 768])
def test_nothing_sticks_out_on_a_phone(opened: Any, report: Path, width: int) -> None:
    page = opened(report, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".picture:visible .said").first.is_visible()


def test_dark_follows_the_system_also_while_the_page_is_open(opened: Any, report: Path) -> None:
    page = opened(report, color_scheme="dark").page
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == "rgb(255, 255, 255)" != dark


def test_on_paper_every_mode_stands_in_light(opened: Any, report: Path) -> None:
    page = opened(report, color_scheme="dark").page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert shown(page) == ["unprotected", "protected"]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".tools").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert shown(page) == ["unprotected"]


def test_without_scripts_verdict_proof_and_census_stand_there(opened: Any, report: Path) -> None:
    page = opened(report, java_script_enabled=False).page
    assert shown(page) == ["unprotected", "protected"]
    assert page.locator(".picture").first.is_visible()
    assert page.locator("table.census").first.is_visible()


def test_hostile_evidence_is_text(opened: Any, tmp_path: Path) -> None:
    page = opened(write_page(stored_run(tmp_path, hostile=HOSTILE))).page
    assert page.locator("img").count() == 0
    assert page.get_by_text("onerror=alert(1)").first.is_visible()
    page.locator(".lanes:visible rect.fault").first.click()
    assert HOSTILE in page.locator(".said-now:visible").inner_text()


def test_a_run_of_a_million_operations_is_small_and_opens(opened: Any, tmp_path: Path) -> None:
    path = write_page(stored_run(tmp_path, modes=["protected"], entries=1_000_000))
    assert path.stat().st_size < 5_000_000
    page = opened(path).page
    assert page.locator(".mode:visible canvas").count() == 2
    page.get_by_role("button", name="zoom in").click()
