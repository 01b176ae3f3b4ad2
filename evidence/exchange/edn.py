"""A reader of EDN, the notation of Clojure's data: one form at a time from a text.

Whole but small: nil, booleans, numbers, strings, characters, keywords, symbols, lists, vectors, sets,
maps, tagged and discarded forms, comments. A keyword is a text that begins with its colon. Sets become
frozensets where they can, other collections lists; a map with keys that cannot be hashed is an error.

Source: the EDN specification (edn-format/edn).
"""

from __future__ import annotations

import json
import re
from typing import TypeAlias

Form: TypeAlias = "bool | int | float | str | list[Form] | frozenset[Form] | dict[Form, Form] | None"


class Symbol(str):
    """A bare name."""

    __slots__ = ()


class EdnError(ValueError):
    """Text that is not EDN; ``at`` is the index of the error."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class UnfinishedError(EdnError):
    """The text ends within a form."""


_TOKEN = re.compile(
    r"""(?:[\s,]|;[^\n]*(?:\n|\Z))*         # blanks and comments
    ( \#_ | \#\{ | [()\[\]{}^]              # a form that is discarded, brackets, metadata
    | "(?:[^"\\]|\\.)*"                     # a string
    | \\.[^\s,;"()\[\]{}]*                  # a character
    | [^\s,;"()\[\]{}]+ )                   # a number, a keyword, a symbol, a tag""",
    re.DOTALL | re.VERBOSE,
)
_INTEGER = re.compile(r"([-+]?\d+)N?")
_REAL = re.compile(r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)M?")
_CLOSES = {"(": ")", "[": "]", "{": "}", "#{": "}"}
_DISCARDED = "#_"
_WORDS: dict[str, Form] = {"nil": None, "true": True, "false": False}
_CHARACTERS = {
    "newline": "\n",
    "return": "\r",
    "space": " ",
    "tab": "\t",
    "formfeed": "\f",
    "backspace": "\b",
}


def read(text: str, at: int) -> tuple[Form, int]:
    """The form at ``at`` and the index after it. ``UnfinishedError`` when the text ends first."""
    token, begin, end = _next(text, at, "a form")
    if token in _CLOSES:
        items, end = _items(text, end, _CLOSES[token])
        return _collection(token, items, begin), end
    if token in _CLOSES.values():
        raise EdnError(f"{token!r} closes nothing", begin)
    if token in (_DISCARDED, "^"):
        _, end = read(text, end)
        return read(text, end)
    if token.startswith("#"):
        return read(text, end)  # a tag: its form counts
    return _scalar(token, begin), end


def _next(text: str, at: int, wanted: str) -> tuple[str, int, int]:
    """The next token, where it begins and ends."""
    found = _TOKEN.match(text, at)
    if found is None:
        raise UnfinishedError(f"the text ends before {wanted}, or within a string", len(text))
    return found[1], found.start(1), found.end()


def _items(text: str, at: int, close: str) -> tuple[list[Form], int]:
    """The forms up to a closing bracket, and the index after it."""
    items: list[Form] = []
    while True:
        token, begin, end = _next(text, at, repr(close))
        if token == close:
            return items, end
        if token == _DISCARDED:
            _, at = read(text, end)
            continue
        item, at = read(text, begin)
        items.append(item)


def _collection(opening: str, items: list[Form], at: int) -> Form:
    if opening == "{" and len(items) % 2:
        raise EdnError(f"a map needs a value for each key, it has {len(items)} forms", at)
    try:
        if opening == "{":
            return dict(zip(items[::2], items[1::2], strict=True))
        return frozenset(items) if opening == "#{" else items
    except TypeError as error:
        if opening == "{":
            raise EdnError("a map's key is a collection", at) from error
        return items


def _scalar(token: str, at: int) -> Form:
    if token.startswith('"'):
        try:
            return str(json.loads(token, strict=False))  # EDN has the escapes of JSON
        except ValueError as error:
            raise EdnError(f"a string cannot be read: {error}", at) from error
    if token.startswith("\\"):
        return _CHARACTERS.get(token[1:], token[1:])
    if integer := _INTEGER.fullmatch(token):
        return int(integer[1])
    if real := _REAL.fullmatch(token):
        return float(real[1])
    if token in _WORDS:
        return _WORDS[token]
    return token if token.startswith(":") else Symbol(token)
