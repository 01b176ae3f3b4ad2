"""What a series of runs is counted as, how it is quoted, and its bounds against published values."""

from __future__ import annotations

import math
from typing import Any

import pytest

from plans.expected.comparison import Shown
from reports.series import below, interval, percent, quoted, rate, series_lines
from reports.trials import Tally, Trial, settings_text, tallies

LOST = "defect durability (lost) on main"


def trial(**more: Any) -> Trial:
    given: dict[str, Any] = {
        "scenario": "bp46/lost-fence",
        "mode": "protected",
        "releases": "4.18.0",
        "settings": "",
        "rounds": 1,
        "as_stated": 1,
        "verdict": "valid",
    }
    return Trial(**given | more)


def sometimes(*counts: int) -> list[Trial]:
    return [trial(shown=(Shown(LOST, "sometimes", count, 1),)) for count in counts]


def test_runs_as_stated_are_quoted_with_their_bound() -> None:
    assert (
        quoted(Tally([trial()] * 10))
        == "10 of 10 runs as expected; other results: below 26 % with 95 % confidence"
    )
    rounds = Tally([trial(rounds=20, as_stated=20)])
    assert quoted(rounds) == "20 of 20 rounds as expected; other results: below 14 % with 95 % confidence"


def test_what_is_unknown_counts_as_otherwise_and_is_told() -> None:
    runs = [*[trial()] * 8, trial(as_stated=0, verdict="unknown"), trial(as_stated=0, verdict="error")]
    text = quoted(Tally(runs))
    assert text.startswith("8 of 10 runs as expected (2 unknown); other results: below 5")


def test_a_defect_that_showed_sometimes_has_a_rate_and_one_that_never_did_is_perhaps_fixed() -> None:
    (some,) = Tally(sometimes(1, 0, 1, 0)).sometimes()
    assert (some.shown, some.of) == (2, 4)
    assert rate(some) == f"{LOST} in 2 of 4; between 6.7 % and 94 % with 95 % confidence"
    (never,) = Tally(sometimes(*[0] * 10)).sometimes()
    assert rate(never) == f"perhaps fixed: {LOST} in none of 10; below 26 % with 95 % confidence"


def test_every_stated_anomaly_is_counted_whatever_its_rate() -> None:
    always = trial(shown=(Shown(LOST, "always", 0, 1), Shown("defect", "sometimes", 1, 1)))
    stated = Tally([always, always]).stated()
    assert stated == [Shown(LOST, "always", 0, 2), Shown("defect", "sometimes", 2, 2)]


def test_only_what_shares_scenario_release_settings_and_mode_is_counted_together() -> None:
    found = [trial(), trial(mode="journal"), trial(), trial(settings="v2=true"), trial(releases="4.17.3")]
    assert [tally.of for tally in tallies(found)] == [2, 1, 1, 1]


def test_a_single_run_is_no_series() -> None:
    assert list(series_lines(tallies([trial()]))) == []
    lines = list(
        series_lines(tallies([trial(settings="v2=true"), *[trial(mode="journal", as_stated=0)] * 2]))
    )
    assert [(text.split(":")[0], style) for text, style in lines] == [
        ("bp46/lost-fence, journal, BookKeeper 4.18.0", "red")
    ]


def test_parameters_are_told_as_they_are_set() -> None:
    assert settings_text({"v2": True, "for_s": 60}) == "for_s=60 v2=true"


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
    most = below(seen, of)
    chance = sum(math.comb(of, k) * most**k * (1 - most) ** (of - k) for k in range(seen + 1))
    assert chance == pytest.approx(0.05, rel=1e-6)


def test_nothing_is_known_without_trials_and_nothing_excluded_when_all_showed_it() -> None:
    assert below(0, 0) == below(5, 5) == 1
    assert interval(0, 0) == (0, 1)


@pytest.mark.parametrize(
    ("share", "up", "text"),
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
def test_a_bound_is_rounded_to_the_safe_side(share: float, up: bool, text: str) -> None:
    assert percent(share, up=up) == text
