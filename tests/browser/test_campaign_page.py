"""The page of a campaign in a real browser: read on a desk, on a phone and on paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evidence.folder import write_text
from harness.campaigns.matrix import Heat, Measured
from harness.campaigns.reporting import PAGE, Change, Conclusion, page
from harness.experiments.experiment import Outcome, Status
from plans.campaign import load_campaign
from plans.matrix import MODES, Cell
from protocol.quorums import Quorums

AGAIN = "fencepost run bp46/truncation --mode protected --seed 2 --bookkeeper 4.18.0"
COMMAND = "pre.command"


def outcome(scenario: str, mode: str, seed: int, status: Status) -> Outcome:
    name = f"{scenario} {mode} 4.18.0 seed {seed}"
    return Outcome(name, name, scenario, mode, "4.18.0", seed, status, took_s=12.5)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    fine = [
        outcome(scenario, mode, seed, Status.AS_EXPECTED)
        for scenario in ("bp46/lost-fence", "bp46/truncation", "fencing/figure")
        for mode in ("unprotected", "protected", "journal")
        for seed in (1, 2, 3)
    ]
    bad = replace(
        fine[13], status=Status.ANOMALY, why="breaks durability (lost) on main", repeat=AGAIN, folder="kept"
    )
    late = replace(fine[20], status=Status.UNKNOWN, why="no final read of after")
    outcomes = [{13: bad, 20: late}.get(number, one) for number, one in enumerate(fine)]
    cell = Cell(Quorums(3, 3, 2), 1, "process")
    cells = [
        Measured(cell, mode, heat, heat.value, proven=True) for mode, heat in zip(MODES, Heat, strict=False)
    ]
    (tmp_path / "runs" / "kept").mkdir(parents=True)
    (tmp_path / "runs" / "kept" / "report.html").write_text("<title>the run</title>")
    result = Conclusion(
        load_campaign("nightly"), outcomes, [Change(bad, Status.AS_EXPECTED)], 2, "1 run anomaly", cells
    )
    write_text(tmp_path / PAGE, page(result, tmp_path))
    return tmp_path / PAGE


def test_what_to_look_at_comes_first_and_leads_to_its_run(stored: Path, opened: Any) -> None:
    one = opened(stored)
    assert one.page.locator("h1").inner_text() == "Campaign nightly: 1 run anomaly"
    assert one.page.locator("h3").all_inner_texts() == [
        "To be looked at",
        "Since the last time",
        "Matrix",
        "Scenarios",
    ]
    assert one.page.locator(COMMAND).inner_text() == AGAIN
    one.page.locator("a").first.click()
    assert one.page.title() == "the run"


def test_it_is_read_on_a_phone_and_printed_without_losing_anything(
    stored: Path, opened: Any, tmp_path: Path
) -> None:
    phone = opened(stored, width=390)
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
    phone.page.emulate_media(media="print")
    assert phone.page.locator(COMMAND).is_visible()
    phone.page.screenshot(path=tmp_path / "phone.png", full_page=True)


def test_no_word_of_a_table_is_cut_on_a_phone(stored: Path, opened: Any) -> None:
    word = opened(stored, width=390).page.get_by_role("cell", name="unprotected", exact=True).first
    span = "const all = document.createRange(); all.selectNodeContents(cell)"
    assert word.evaluate(f"cell => {{ {span}; return all.getClientRects().length }}") == 1
