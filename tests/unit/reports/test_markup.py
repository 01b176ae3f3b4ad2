"""Whatever a string holds, it stays text in a template."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from reports.document import render

ANY = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"))


class Seen(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.opened: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(ANY, ANY)
def test_text_and_attributes_come_back_as_they_were(text: str, value: str) -> None:
    kinds, row = {text: value}, (("name", "title", "outcome", text), "unknown", value)
    page = str(
        render(
            "sensitivity.html",
            **dict.fromkeys(("title", "about", "counted", "policy"), ""),
            styles=[],
            scripts=[],
            kinds=kinds,
            heads=[],
            rows=[row],
        )
    )
    found = Seen(page)
    assert f"{text}: {value}." in found.text
    assert found.opened.count("script") == found.opened.count("img") == 0
    assert [one for one in found.attributes if one[0] == "href"] == ([("href", value)] if value else [])


@given(st.dictionaries(ANY, st.lists(ANY | st.integers() | st.none(), max_size=3), max_size=3))
def test_no_content_breaks_out_of_the_data(tree: dict[str, list[object]]) -> None:
    page = str(
        render(
            "index.html",
            **dict.fromkeys(("title", "counted", "policy", "report"), ""),
            **dict.fromkeys(("styles", "scripts", "choices", "runs"), ()),
            date=str,
            tree=tree,
        )
    )
    inside = page.split('id="index-data">')[1].split("</script>")[0]
    assert not set(inside) & set("<>&\u2028\u2029")
    assert json.loads(inside) == tree
