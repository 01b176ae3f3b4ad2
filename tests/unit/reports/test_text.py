"""A finding as a reader of the terminal meets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.durability.classes import CLASSES
from evidence.findings import Finding
from evidence.folder import RunFolder
from reports.text import busy_text, finding_line, load_text, rounded

LOST = Finding("durability", "lost", ledger=4, first_entry=0, last_entry=49, count=50, loss="unexplained")


def test_the_class_of_a_loss_says_what_it_means() -> None:
    assert finding_line(LOST, {4: "main"}) == (
        "lost: main 0..49 (50 in all, class unexplained: no recorded fault explains the loss)"
    )


def test_what_is_wrong_with_a_ledger_is_said() -> None:
    """The proof has only the versions, or the times."""
    text = "ledger 4 (main): version 3: the last entry changed"
    illegal = Finding("metadata", "illegal_move", ledger=4, text=text)
    assert finding_line(illegal, {4: "main"}) == "illegal_move: main: version 3: the last entry changed"


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_its_few_words(name: str) -> None:
    assert f"class {name}: " in finding_line(replace(LOST, loss=name), {})


def test_times_are_rounded_and_other_numbers_are_not() -> None:
    assert rounded("killed at 5.814997482 s, frame 5.814997482, after 1.5 s") == (
        "killed at 5.8150 s, frame 5.814997482, after 1.5 s"
    )


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (None, ""),
        ({"average": 4.5, "cpu_pressure": 0.9}, ""),
        ({"average": 4.5, "cpu_pressure": 0.5, "cpu_s": 35.25}, "35.2 s of processor time"),
        (
            {"average": 4.5, "cpu_pressure": 0.61, "cpu_s": None},
            "processor time unknown; the machine was busy: processes waited for a core 61 % of the time "
            "(more than 50 %); load average 2.5 at the beginning, 4.5 at the end",
        ),
        (
            {"average": 4.5, "cpu_pressure": None, "cpu_s": 3.0},
            "3.0 s of processor time; how long processes waited for a core is unknown",
        ),
    ],
)
def test_a_report_says_what_a_run_took_and_that_its_machine_was_busy(
    load: dict[str, Any] | None, expected: str, tmp_path: Path
) -> None:
    folder = RunFolder.create(tmp_path, "journal")
    folder.write_run({"load": {"average": 2.5, "cpu_pressure": None}})
    folder.write_end({"complete": True, **({} if load is None else {"load": load})})
    assert load_text(folder) == expected


def test_a_run_that_was_recorded_without_its_beginning_says_that_it_is_unknown() -> None:
    assert "load average unknown at the beginning" in busy_text({}, {"average": 4.5, "cpu_pressure": 0.9})
