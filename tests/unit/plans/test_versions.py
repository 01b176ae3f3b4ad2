"""Release numbers and ranges of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.versions import overlap, parts, within

releases = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6)).map(
    lambda numbers: ".".join(map(str, numbers))
)
ranges = st.lists(
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "=="]), releases).map("".join), max_size=3
).map(",".join)


@pytest.mark.parametrize(
    ("version", "versions", "lies"),
    [
        ("4.18.0", "", True),
        ("4.14.7", "<4.15", True),
        ("4.15.0", "<4.15", False),
        ("4.15", "==4.15.0", True),
        ("4.9.0", "<4.10", True),
        ("4.17.1", ">=4.15.1, <4.18", True),
        ("4.18.0", ">=4.15.1,<4.18", False),
        ("4.18.0-SNAPSHOT", ">=4.18", True),
    ],
)
def test_within(version: str, versions: str, lies: bool) -> None:
    assert within(version, versions) is lies


@pytest.mark.parametrize("wrong", ["4", "v4.18", "4.18.0.1", "four", ""])
def test_no_release_number(wrong: str) -> None:
    with pytest.raises(ValueError, match="no release number"):
        parts(wrong)


@pytest.mark.parametrize("wrong", ["4.15", "=4.15", "<4.15,", "~4.15", "< "])
def test_no_range(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"no range|no release"):
        within("4.18.0", wrong)


@given(releases, ranges, ranges)
def test_a_release_in_both_ranges_is_an_overlap(version: str, one: str, other: str) -> None:
    if within(version, one) and within(version, other):
        assert overlap(one, other)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("", "", True),
        ("<4.15", ">=4.15", False),
        ("<=4.15", ">=4.15", True),
        ("<4.15.1", ">4.15", False),
        (">4.14.7,<4.15", "<4.15", True),
        (">4.14.7", "<4.14.7", False),
        ("<0.0.0", "", False),
        (">5.0", "<5.0.1", False),
        ("<4.0", ">3.9", True),
    ],
)
def test_overlap(one: str, other: str, meet: bool) -> None:
    assert overlap(one, other) is meet
    assert overlap(other, one) is meet
