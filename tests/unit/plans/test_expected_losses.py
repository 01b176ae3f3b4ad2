"""Which losses a statement covers: by class, entries and count, and those that no fault explains."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from plans.expected.comparison import FoundAnomaly, unstated
from plans.expected.expectations import Breaks, Defect, Holds
from tests.unit.plans.small import compared

LOST = FoundAnomaly("durability", "lost", "main", "undetermined")
FORGED = FoundAnomaly("durability", "lost", "control", "forged", 10, 19, 10)
GONE = FORGED._replace(loss="explained")


@pytest.mark.parametrize(
    ("stated", "found", "met", "unexpected", "reason"),
    [
        ({"class": "forged"}, [FORGED], True, False, "breaks durability (lost, forged) on control"),
        ({"class": "forged"}, [FORGED._replace(loss="unexplained")], False, True, "not expected: durability"),
        ({"entries": [10, 19]}, [GONE], True, False, "on control, entries 10..19"),
        ({}, [GONE], True, False, ""),
        ({}, [FORGED], False, True, "not expected: durability (lost, forged) on control"),
        ({"entries": [10, 19], "count": 10}, [FORGED], False, True, "not expected: durability"),
        ({"entries": [10, 30]}, [GONE], True, False, ""),
        ({"entries": [10, 10]}, [GONE._replace(last=10)], True, False, ""),
        ({"entries": [11, 19]}, [GONE], False, True, "an anomaly that was not expected"),
        ({"entries": [10, 18]}, [GONE], False, True, "an anomaly that was not expected"),
        ({"entries": [0, 9]}, [GONE._replace(first=-1, last=-1)], False, True, "not expected"),
        ({"count": 10}, [GONE], True, False, "on control, 10 in all"),
        ({"count": 11}, [GONE], False, False, "expected 11, but found 10: breaks durability (lost)"),
        ({"count": 9}, [GONE], False, True, "expected 9, but found 10"),
        ({"count": 13}, [GONE, GONE._replace(first=30, last=32, amount=3)], True, False, ""),
        ({"count": 10, "class": "forged"}, [FORGED, FORGED._replace(loss="")], False, True, "not expected"),
    ],
)
def test_class_entries_and_count_narrow_what_is_stated(
    stated: dict[str, object], found: Sequence[FoundAnomaly], met: bool, unexpected: bool, reason: str
) -> None:
    entry = Breaks.model_validate({"property": "durability", "kind": "lost", "ledger": "control", **stated})
    comparison = compared([entry], found)
    assert (comparison.met, comparison.unexpected) == (met, unexpected)
    assert reason in comparison.reasons[0]


UNEXPLAINED = GONE._replace(loss="unexplained")
CUT = FoundAnomaly("closing", "closed_below", "control", first=10, last=19, amount=10)
BUG: dict[str, object] = {"reference": "#1"}


@pytest.mark.parametrize(
    ("stated", "others", "met"),
    [
        ({}, [], False),
        ({"ledger": "control"}, [], False),
        ({"ledger": "control", "kind": "lost", "entries": [10, 19]}, [], False),
        ({"count": 10}, [], False),
        ({"entries": [10, 19], "count": 10}, [], False),
        ({"ledger": "control", "entries": [10, 19], "count": 10}, [], False),
        ({"class": "unexplained"}, [], True),
        (BUG, [], False),
        ({**BUG, "rate": "sometimes"}, [], False),
        ({**BUG, "ledger": "control"}, [], False),
        ({**BUG, "class": "unexplained"}, [], True),
        ({}, [CUT], True),
        ({}, [CUT._replace(first=9)], True),
        ({}, [CUT._replace(first=11)], False),
        ({}, [CUT._replace(first=11), CUT], True),
        ({}, [CUT._replace(kind="two_ends")], False),
        ({}, [CUT._replace(property="log")], False),
        ({}, [CUT._replace(ledger="other")], False),
    ],
)
def test_an_unexplained_loss_needs_a_statement_that_means_it(
    stated: dict[str, object], others: list[FoundAnomaly], met: bool
) -> None:
    model = Defect if "reference" in stated else Breaks
    entry = model.model_validate({"property": "durability", **stated})
    closes = [Breaks.model_validate({"property": one.property, "kind": one.kind}) for one in others]
    comparison = compared([entry, *closes], [UNEXPLAINED, *others])
    assert (comparison.met, comparison.unexpected) == (met, not met)
    left = unstated({"m": [entry, *closes]}, [UNEXPLAINED, *others], mode="m", version="4.18.0")
    assert bool(left) is not met
    assert compared([entry, *closes], [GONE, *others]).met is (stated.get("class") is None)


def test_a_loss_by_metadata_that_was_put_back_shows_no_defect_unless_that_is_stated() -> None:
    back = [GONE._replace(loss="put_back")]
    for stated, met in ((Breaks, True), (Defect, False)):
        tree: dict[str, object] = {"property": "durability", **({} if met else BUG)}
        assert compared([stated.model_validate(tree)], back).met is met
        assert compared([stated.model_validate({**tree, "class": "put_back"})], back).met


def test_more_than_is_stated_is_not_stated() -> None:
    entry = Breaks(property="durability", ledger="control", count=9)
    for found, left in (([GONE], [GONE]), ([GONE._replace(amount=9)], [])):
        assert unstated({"m": [entry]}, found, mode="m", version="4.18.0") == left


@pytest.mark.parametrize("entries", [[5], [1, 2, 3], [2, 1]])
def test_entries_are_stated_as_first_and_last(entries: list[int]) -> None:
    with pytest.raises(ValidationError, match=r"must be \[first, last\]"):
        Breaks.model_validate({"property": "durability", "entries": entries})


def test_a_count_is_that_of_each_round() -> None:
    entry = Breaks(property="durability", ledger="control", count=10)
    found = [GONE._replace(ledger=f"control.{number}") for number in (1, 2, 3)]
    right = compared([entry], found, rounds=3)
    assert (right.met, right.as_stated) == (True, 3)
    found[1] = found[1]._replace(amount=12)
    wrong = compared([entry], found, rounds=3)
    assert (wrong.met, wrong.unexpected, wrong.as_stated) == (False, True, 2)
    assert wrong.reasons[0].startswith("expected 10, but found 12 in 1 of 3 rounds (2)")
    found[2] = found[2]._replace(amount=3)
    assert compared([entry], found, rounds=3).unexpected
    fewer = compared([entry], found[:2], rounds=3)
    assert (fewer.met, fewer.as_stated) == (False, 1)


def test_a_defect_that_shows_sometimes_shows_with_its_count() -> None:
    stated = {"property": "durability", "reference": "#1", "rate": "sometimes", "count": 10}
    entry = Defect.model_validate(stated)
    for found, verdict, met in (([], "valid", True), ([GONE], "anomaly", True), ([LOST], "anomaly", False)):
        assert compared([entry], found, verdict).met is met


@pytest.mark.parametrize("exact", [{"count": 1}, {"entries": (49, 49)}])
def test_a_loss_that_is_stated_exactly_leaves_no_other_entry_of_its_ledger_unknown(
    exact: dict[str, object],
) -> None:
    found = [FoundAnomaly("durability", "lost", "main", first=49, last=49)]
    stated = [Breaks.model_validate({"property": "durability", "ledger": "main", **exact})]
    assert compared(stated, found, undecided=[("closing", "main")]).met
    beside = Defect(property="durability", rate="sometimes", reference="#1")
    assert not compared([*stated, beside], found, undecided=[("durability", "main")]).met
    comparison = compared(stated, found, undecided=[("durability", "main")])
    assert not comparison.met
    assert comparison.reasons == ("durability is unknown on main, which meets no expectation",)


def test_a_finding_that_does_not_count_fails_nothing_and_shows_where_it_is_stated() -> None:
    """A run that is valid, because ``servers`` does not count in it, met the defect all the same."""
    sometimes = Defect(property="servers", kind="slow", reference="#1", rate="sometimes")
    slow = FoundAnomaly("servers", "slow")
    assert compared([Holds()], [slow], "valid", counting=("durability",)).reasons == ("as expected: holds",)
    met = compared([sometimes], [slow], "valid", counting=("durability",))
    assert (met.met, met.absent, met.shown[0].shown) == (True, (), 1)
