"""A reader of EDN, the notation of Clojure's data: one form at a time from a text.

Whole but small: nil, booleans, numbers, strings, characters, keywords, symbols, lists, vectors, sets,
maps, tagged and discarded forms, comments. Sets become frozensets where they can, other collections
lists; a map with keys that cannot be hashed is an error. :mod:`evidence.exchange.lines` is the fast
reader for common lines.

Source: the EDN specification (edn-format/edn).
"""

from __future__ import annotations

import re
from typing import Any


class Keyword(str):
    """``:name``, without the colon."""

    __slots__ = ()


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


_SPACE = re.compile(r"(?:[\s,]|;[^\n]*(?:\n|\Z))*")
_NUMBER = re.compile(r"[-+]?\d+(?:N|(?P<real>(?:\.\d*)?(?:[eE][-+]?\d+)?M?))?(?=[\s,;\"()\[\]{}]|\Z)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NAME = re.compile(r"[^\s,;\"()\[\]{}]+")
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "b": "\b", "f": "\f"}
_CHARACTERS = {
    "newline": "\n",
    "return": "\r",
    "space": " ",
    "tab": "\t",
    "formfeed": "\f",
    "backspace": "\b",
}
_WORDS = {"nil": None, "true": True, "false": False}
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_NOTHING = object()


def skip(text: str, at: int) -> int:
    """The index of the next form or closing bracket, past blanks, commas and comments."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def read(text: str, at: int) -> tuple[Any, int]:
    """The form at ``at`` and the index after it. ``UnfinishedError`` when the text ends first."""
    value, end = _read(text, at)
    while value is _NOTHING:
        value, end = _read(text, end)
    return value, end


def _read(text: str, at: int) -> tuple[Any, int]:
    at = skip(text, at)
    if at >= len(text):
        raise UnfinishedError("the text ends where a form should be", at)
    first = text[at]
    if first in "([":
        return _collection(text, at + 1, _CLOSES[first])
    if first == "{":
        return _map(text, at)
    if first == '"':
        return _string(text, at)
    if first == "#":
        return _dispatch(text, at)
    if first in ")]}":
        raise EdnError(f"{first!r} closes nothing", at)
    if first == "^":
        _, end = read(text, at + 1)
        return read(text, end)
    number = _NUMBER.match(text, at)
    if number is not None:
        plain = number[0].rstrip("NM")
        return (float(plain) if number["real"] else int(plain)), number.end()
    return _name(text, at)


def _collection(text: str, at: int, close: str) -> tuple[list[Any], int]:
    items: list[Any] = []
    while True:
        at = skip(text, at)
        if at >= len(text):
            raise UnfinishedError(f"the text ends before {close!r}", at)
        if text[at] == close:
            return items, at + 1
        item, at = _read(text, at)
        if item is not _NOTHING:
            items.append(item)


def _map(text: str, at: int) -> tuple[dict[Any, Any], int]:
    items, end = _collection(text, at + 1, "}")
    if len(items) % 2:
        raise EdnError(f"a map needs a value for each key, it has {len(items)} forms", at)
    try:
        return dict(zip(items[::2], items[1::2], strict=True)), end
    except TypeError as error:
        raise EdnError("a map's key is a collection", at) from error


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise UnfinishedError("the text ends within a string", at)
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", lambda each: _unescaped(each[1], at), found[1]), found.end()


def _unescaped(escape: str, at: int) -> str:
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    if escape not in _ESCAPES:
        raise EdnError(f"no escape \\{escape} in a string", at)
    return _ESCAPES[escape]


def _dispatch(text: str, at: int) -> tuple[Any, int]:
    follows = text[at + 1 : at + 2]
    if follows == "{":
        items, end = _collection(text, at + 2, "}")
        try:
            return frozenset(items), end
        except TypeError:
            return items, end
    if follows == "_":
        _, end = read(text, at + 2)
        return _NOTHING, end
    tag = _NAME.match(text, at + 1)
    if tag is None:
        raise UnfinishedError("the text ends within a tag", at)
    return read(text, tag.end())


def _name(text: str, at: int) -> tuple[Any, int]:
    if text[at] == "\\":
        found = _NAME.match(text, at + 1)
        name = found[0] if found else text[at + 1 : at + 2]
        return _CHARACTERS.get(name, name), at + 1 + len(name)
    found = _NAME.match(text, at)
    if found is None:
        raise EdnError(f"no form begins with {text[at]!r}", at)
    name = found[0]
    if name in _WORDS:
        return _WORDS[name], found.end()
    return (Keyword(name[1:]) if name.startswith(":") else Symbol(name)), found.end()
