"""What judging knows of its run: how many explained losses its plan allows."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.judging.contract import EVERY_LEDGER
from pipeline.facts import allowed, awaited_ends

NAMES = {7: "main", 8: "open"}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (0, {EVERY_LEDGER: 0}),
        ({}, {EVERY_LEDGER: 0}),
        ({"protected": {"each": 40}}, {EVERY_LEDGER: 40}),
        ({"journal": {"each": 40}}, {EVERY_LEDGER: 0}),
        ({"protected": {"main": 40, "each": 1}, "journal": {"open": 5}}, {7: 40, EVERY_LEDGER: 1}),
    ],
)
def test_an_allowance_is_that_of_the_runs_mode_and_of_its_ledgers(stated: Any, expected: Any) -> None:
    assert allowed({"allowance": stated}, "protected", NAMES) == expected
    assert allowed({}, "protected", NAMES) == {EVERY_LEDGER: 0}


def test_the_ledgers_of_all_rounds_are_allowed_what_the_plan_allows_that_ledger() -> None:
    plan = {"allowance": {"protected": {"main": 4}}, "rounds": 2}
    assert allowed(plan, "protected", {1: "main.1", 2: "main.2", 3: "open.2"}) == {
        1: 4,
        2: 4,
        EVERY_LEDGER: 0,
    }


def test_a_process_may_end_as_often_as_steps_wait_for_its_end() -> None:
    waits = [{"wait_for": {"condition": name, "target": "ar1"}} for name in ("down", "ready")]
    assert awaited_ends({"steps": [{"together": [[waits[1]], [waits[0]]]}]}) == {"ar1": 1}
    assert awaited_ends({"steps": [waits[0], waits[0]], "rounds": 3}) == {"ar1": 6}
    assert awaited_ends({"steps": [waits[1]]}) == {}
