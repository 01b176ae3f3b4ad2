"""HTML that cannot forget to escape: elements are functions, and every plain string in them is text.

Only the results of these functions are markup. Independent of runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any


class Markup(str):
    """Text that is HTML already; made by this module only."""

    __slots__ = ()


Child = str | Markup | int | None
_VOID = frozenset({"meta", "link", "br", "input", "hr"})
_NEVER_IN_JSON = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def el(name: str, /, *children: Child | Iterable[Child], **attributes: str | int | bool | None) -> Markup:
    """One element. Strings are escaped, None is left out, lists are flattened.

    Attributes lose a trailing ``_`` and have ``-`` for ``_`` (``class_``, ``data_run``); an attribute that
    is None or False is left out, with True it has no value.
    """
    inside = "".join(_texts(children))
    opening = f"<{name}{''.join(_attributes(attributes))}>"
    return Markup(opening if name in _VOID and not inside else f"{opening}{inside}</{name}>")


def table(headings: Iterable[str], rows: Iterable[Markup | Iterable[Child]], **attributes: str) -> Markup:
    """A table that scrolls sideways where it is too wide; a row is its cells, or a ``tr`` element."""
    head = el("tr", [el("th", text) for text in headings])
    body = [row if isinstance(row, Markup) else el("tr", [el("td", cell) for cell in row]) for row in rows]
    return el("div", el("table", el("thead", head), el("tbody", body), **attributes), class_="wide")


def join(*children: Child | Iterable[Child]) -> Markup:
    """Several pieces one after the other."""
    return Markup("".join(_texts(children)))


def data(identity: str, tree: Any) -> Markup:
    """A tree for scripts, as JSON that no content can break out of."""
    text = json.dumps(tree, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for sign, written in _NEVER_IN_JSON.items():
        text = text.replace(sign, written)
    return Markup(f'<script type="application/json" id="{escape(identity)}">{text}</script>')


def _texts(children: Iterable[Child | Iterable[Child]]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, str | int):
            yield escape(str(child))
        else:
            yield from _texts(child)


def _attributes(attributes: dict[str, str | int | bool | None]) -> Iterable[str]:
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        written = name.rstrip("_").replace("_", "-")
        yield f" {written}" if value is True else f' {written}="{escape(str(value))}"'
