"""The sequential test errs no more often than it says, and needs few tries where the answer is plain."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from search.sequential import sequential_test


@pytest.mark.parametrize(("confidence", "tries"), [(0.9, 1), (0.95, 2), (0.99, 3)])
def test_what_fails_always_or_never_is_decided_at_once(confidence: float, tries: int) -> None:
    test = sequential_test(1.0, confidence)
    assert (test.often, round(test.rarely, 3)) == (0.9, 0.1)
    for less in range(tries):
        assert test.decide(less, 0) is None
        assert test.decide(0, less) is None
    assert test.decide(tries, 0) is True
    assert test.decide(0, tries) is False


def test_what_failed_half_of_the_time_is_given_more_tries_to_fail() -> None:
    test = sequential_test(0.5, 0.95)
    assert test.decide(0, 4) is None
    assert test.decide(0, 5) is False
    assert test.decide(2, 0) is True


@pytest.mark.parametrize("rate", [1.0, 0.5, 0.25])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_either_error_is_as_rare_as_stated(rate: float, confidence: float) -> None:
    test, random = sequential_test(rate, confidence), Random(7)

    def wrong(chance: float, right: bool) -> float:
        return sum(_run(test, chance, random) is not right for _ in range(4000)) / 4000

    slack = 0.02  # Of 4000 experiments.
    assert wrong(test.often, right=True) <= 1 - confidence + slack
    assert wrong(test.rarely, right=False) <= 1 - confidence + slack


def _run(test: object, chance: float, random: Random) -> bool:
    failed = passed = 0
    while (decision := test.decide(failed, passed)) is None:  # type: ignore[attr-defined]
        if random.random() < chance:
            failed += 1
        else:
            passed += 1
    return bool(decision)


@pytest.mark.parametrize("rate", [0.3, 0.66, 1.0])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_no_decision_comes_before_the_fewest_tries(rate: float, confidence: float) -> None:
    test = sequential_test(rate, confidence)
    for failed, passed in product(range(4), repeat=2):
        if test.decide(failed, passed) is not None:
            continue
        fewest = test.fewest(failed, passed)
        after = [test.decide(failed + more, passed + fewest - 1 - more) is not None for more in range(fewest)]
        assert not any(after)
        assert any(test.decide(failed + more, passed + fewest - more) is not None for more in (0, fewest))
