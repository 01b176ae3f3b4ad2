"""Named streams: the same numbers for ever, and independent of each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.exploring.seeds import between, pick, stream


def test_a_stream_gives_the_numbers_it_always_gave() -> None:
    random = stream(42, "chaos/0")
    assert [round(random.random(), 6) for _ in range(3)] == [0.846887, 0.385234, 0.282362]


@given(st.integers(0, 2**63 - 1), st.text(max_size=20))
def test_streams_of_other_names_differ(seed: int, name: str) -> None:
    assert stream(seed, name).random() == stream(seed, name).random()
    assert stream(seed, name).random() != stream(seed, name + "x").random()


@given(st.integers(0, 1000), st.floats(0, 100), st.floats(0, 100))
def test_between_stays_between(seed: int, low: float, more: float) -> None:
    assert low <= between(stream(seed, "t"), low, low + more) <= low + more


def test_pick_reaches_every_item_and_refuses_nothing_to_pick() -> None:
    random = stream(1, "p")
    assert {pick(random, "abc") for _ in range(100)} == set("abc")
    with pytest.raises(ValueError, match="nothing to pick from"):
        pick(random, "")
