"""EDN is read whole: every kind of form; errors name their place."""

from __future__ import annotations

from typing import Any

import pytest

from evidence.exchange.edn import EdnError, UnfinishedError, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None),
        ("true", True),
        ("-17", -17),
        ("12N", 12),
        ("2.5", 2.5),
        ("1e3", 1000.0),
        ("3M", 3.0),
        (":type", ":type"),
        (":jepsen.history/op", ":jepsen.history/op"),
        ("name", "name"),
        ('"a \\"b\\" \\n \\u0041"', 'a "b" \n A'),
        ("\\a", "a"),
        ("\\newline", "\n"),
        ("[1 [2, 3] ()]", [1, [2, 3], []]),
        ("{:a 1, :b [2]}", {":a": 1, ":b": [2]}),
        ("#{1 2}", frozenset({1, 2})),
        ("#{[1] 2}", [[1], 2]),
        ('#inst "2026-01-01"', "2026-01-01"),
        ("#jepsen.history.Op{:a 1}", {":a": 1}),
        ("[1 #_ [2 3] 4]", [1, 4]),
        ("#_1 2", 2),
        ("; a remark\n [1 ; another\n 2]", [1, 2]),
        ("^:hint [1]", [1]),
    ],
)
def test_every_form_has_its_value(text: str, value: Any) -> None:
    assert read(text, 0) == (value, len(text))


def test_a_keyword_is_told_from_a_string() -> None:
    assert read(":a", 0)[0] != read('"a"', 0)[0]


@pytest.mark.parametrize("text", ["", "[1 2", '"abc', "{:a", "#", "; only a remark"])
def test_a_text_that_ends_early_is_unfinished(text: str) -> None:
    with pytest.raises(UnfinishedError):
        read(text, 0)


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [("  ]", "']' closes nothing", 2), ("{1}", "has 1 forms", 0), ("{[1] 2}", "key is a collection", 0)],
)
def test_what_is_no_edn_is_told(text: str, message: str, at: int) -> None:
    with pytest.raises(EdnError, match=message.replace("]", r"\]")) as caught:
        read(text, 0)
    assert caught.value.at == at
    assert not isinstance(caught.value, UnfinishedError)
