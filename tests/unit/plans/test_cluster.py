"""The cluster of a plan: releases and ranges of them, directories that are names in an order, racks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from plans.cluster import ClusterSpec, Disks, index_directories, journal_directories, ledger_directories
from plans.grammar.steps import Start
from plans.versions import overlap, parts, within


def test_without_a_word_there_is_one_of_each_but_no_index() -> None:
    assert ledger_directories({}) == ("ledgers",)
    assert journal_directories({}) == ("journal",)
    assert index_directories({}) == ()


def test_directories_keep_the_order_in_which_they_are_named() -> None:
    conf = {
        "ledgerDirectories": "more,ledgers",
        "journalDirectories": "journal2,journal",
        "indexDirectories": "index",
    }
    started = Start(target="b1", conf=conf).conf
    assert started == conf
    assert ledger_directories(started) == ("more", "ledgers")
    assert journal_directories(started) == ("journal2", "journal")
    assert index_directories(started) == ("index",)


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("ledgerDirectories", "/mnt/one", "`/mnt/one` is no name of a ledger directory"),
        ("ledgerDirectories", "ledgers,", "`` is no name"),
        ("ledgerDirectories", "ledgers, more", "` more` is no name"),
        ("ledgerDirectories", "ledgers,journal", "`journal` is no name"),
        ("ledgerDirectories", "ledgers,journal2", "`journal2` is no name"),
        ("ledgerDirectories", "ledgers,index", "`index` is no name"),
        ("ledgerDirectories", "more,more", "named twice: more, more"),
        ("journalDirectories", "journal,more", "`more` is no name of a journal directory"),
        ("journalDirectories", "journal,journal", "named twice: journal, journal"),
        ("indexDirectories", "more", "`more` is no name of an index directory"),
    ],
)
def test_paths_and_repeats_are_refused(key: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Start(target="b1", conf={key: text})


@pytest.mark.parametrize(
    ("disks", "message"),
    [
        ({"more": ["more"]}, "`more` needs `journal: own`"),
        ({"journal": "own", "more": ["ledgers"]}, "have a disk without `more`"),
        ({"journal": "own", "more": ["/mnt/one"]}, "match pattern"),
        ({"journal": "own", "more": ["more", "more"]}, "named twice"),
    ],
)
def test_directories_that_have_a_disk_already_or_are_paths_are_refused(
    disks: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        Disks.model_validate(disks)


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
    with pytest.raises(ValidationError, match=message):
        ClusterSpec(bookies=3, racks=racks)


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
