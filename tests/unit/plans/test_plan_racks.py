"""Racks in a plan: each bookie in one, and enough of them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from plans.cluster import ClusterSpec


def test_each_bookie_stands_in_a_rack() -> None:
    spec = ClusterSpec(bookies=3, racks={"b1": "r1", "b2": "r1", "b3": "r2"})
    assert (spec.racks["b3"], spec.min_racks) == ("r2", 2)


def test_without_racks_nothing_is_asked_of_them() -> None:
    assert ClusterSpec(bookies=3, min_racks=5).racks == {}


@pytest.mark.parametrize(
    ("racks", "message"),
    [
        ({"b1": "r1", "b2": "r2"}, "no rack is given for b3"),
        ({"b1": "r1", "b2": "r1", "b3": "r1"}, r"fewer racks \(r1\) than min_racks 2"),
        ({"b1": "R1", "b2": "r2", "b3": "r2"}, "`R1` is no rack's name"),
        ({"b1": "r1", "b2": "r2", "b3": "r2", "writer": "r1"}, "writer"),
    ],
)
def test_racks_that_cannot_be_are_refused(racks: dict[str, str], message: str) -> None:
    spec: dict[str, Any] = {"bookies": 3, "racks": racks}
    with pytest.raises(ValidationError, match=message):
        ClusterSpec(**spec)
