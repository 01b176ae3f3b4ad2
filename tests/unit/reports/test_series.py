"""What a series of runs is counted as, and how it is quoted."""

from __future__ import annotations

from typing import Any

from plans.expected.comparison import Shown
from reports.series import quoted, rate, series_lines
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
        quoted(Tally([trial()] * 10)) == "10 of 10 runs as expected; bound: below 26 % with 95 % confidence"
    )
    rounds = Tally([trial(rounds=20, as_stated=20)])
    assert quoted(rounds) == "20 of 20 rounds as expected; bound: below 14 % with 95 % confidence"


def test_what_is_unknown_counts_as_otherwise_and_is_told() -> None:
    runs = [*[trial()] * 8, trial(as_stated=0, verdict="unknown"), trial(as_stated=0, verdict="error")]
    said = quoted(Tally(runs))
    assert said.startswith("8 of 10 runs as expected (2 unknown); otherwise: below 5")


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
