"""Whatever a string holds, it stays text."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from reports.markup import data, el, join

ANY = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"))


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.opened: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def seen(text: str) -> Seen:
    parser = Seen()
    parser.feed(text)
    parser.close()
    return parser


@given(ANY, ANY)
def test_text_and_attributes_come_back_as_they_were(text: str, value: str) -> None:
    found = seen(el("p", text, title=value))
    assert found.opened == ["p"]
    assert found.text == text
    assert found.attributes == [("title", value)]


@given(st.dictionaries(ANY, st.lists(ANY | st.integers() | st.none(), max_size=3), max_size=3))
def test_no_content_breaks_out_of_the_data(tree: dict[str, list[object]]) -> None:
    written = data("id", tree)
    inside = written.removeprefix('<script type="application/json" id="id">').removesuffix("</script>")
    assert not set(inside) & set("<>&\u2028\u2029")
    assert json.loads(inside) == tree


def test_children_are_flattened_and_nothing_is_left_out() -> None:
    parts = [el("b", "a & b"), None, 3]
    assert join(parts, "<") == "<b>a &amp; b</b>3&lt;"


def test_attributes_are_named_as_in_html_and_false_ones_are_left_out() -> None:
    assert el("a", class_="x", data_mode="y", open=True, id=None, hidden=False) == (
        '<a class="x" data-mode="y" open></a>'
    )
    assert el("meta", charset="utf-8") == '<meta charset="utf-8">'
