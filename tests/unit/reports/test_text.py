"""A finding as a reader of the terminal meets it."""

from __future__ import annotations

import pytest

from checkers.durability.classes import CLASSES
from evidence.findings import Finding
from reports.text import finding_line, rounded

LOST = Finding("durability", "lost", ledger=4, first_entry=0, last_entry=49, count=50, loss="unexplained")


def test_the_class_of_a_loss_says_what_it_means() -> None:
    assert finding_line(LOST, {4: "main"}) == (
        "lost: main 0..49 (50 in all, class unexplained: a bookie that acknowledged them never lost them)"
    )


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_its_few_words(name: str) -> None:
    assert f"class {name}: " in finding_line(Finding("durability", "lost", ledger=4, loss=name), {})


def test_times_are_rounded_and_other_numbers_are_not() -> None:
    assert rounded("killed at 5.814997482 s, frame 5.814997482, after 1.5 s") == (
        "killed at 5.8150 s, frame 5.814997482, after 1.5 s"
    )
