"""Bounds of a rate against the rule for none of n, a naive sum, and published values."""

from __future__ import annotations

import math

import pytest

from reports.series import below, interval, percent


@pytest.mark.parametrize("of", [1, 2, 10, 20, 1000, 100_000])
def test_none_of_n_follows_the_simple_rule(of: int) -> None:
    assert below(0, of) == pytest.approx(1 - 0.05 ** (1 / of), rel=1e-9)


@pytest.mark.parametrize(
    ("seen", "of", "lowest", "highest"),
    [(7, 20, 0.1539, 0.5922), (5, 10, 0.1871, 0.8129), (0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0)],
)
def test_the_interval_is_that_of_the_tables(seen: int, of: int, lowest: float, highest: float) -> None:
    assert interval(seen, of) == pytest.approx((lowest, highest), abs=5e-5)


@pytest.mark.parametrize(("seen", "of"), [(1, 10), (3, 7), (19, 20), (40, 300)])
def test_at_its_bound_so_few_have_the_chance_that_is_left(seen: int, of: int) -> None:
    rate = below(seen, of)
    chance = sum(math.comb(of, k) * rate**k * (1 - rate) ** (of - k) for k in range(seen + 1))
    assert chance == pytest.approx(0.05, rel=1e-6)


def test_nothing_is_known_without_trials_and_nothing_excluded_when_all_showed_it() -> None:
    assert below(0, 0) == below(5, 5) == 1
    assert interval(0, 0) == (0, 1)


@pytest.mark.parametrize(
    ("rate", "up", "text"),
    [
        (0.13911, True, "14 %"),
        (0.1301, True, "14 %"),
        (0.1399, False, "13 %"),
        (0.95 + 1e-16, True, "95 %"),
        (0.0291, True, "3.0 %"),
        (0.00299, True, "0.30 %"),
        (1.0, True, "100 %"),
        (0.0, False, "0 %"),
    ],
)
def test_a_bound_is_rounded_to_the_safe_side(rate: float, up: bool, text: str) -> None:
    assert percent(rate, up=up) == text
