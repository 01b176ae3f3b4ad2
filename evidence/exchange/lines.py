"""Patterns for common lines of a history, one for each notation: the fast way to read them.

The notation's complete reader reads a line that does not match to its last character, so that nothing is
skipped. Both give the same operations. Quantifiers of characters are possessive, because a line needs no
backtracking. Quantifiers of groups are not: Python before 3.11.5 never matches them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evidence.exchange import edn

_EDN_SCALAR = rb'(?:-?\d+|:[\w./*+!?<>=-]+|nil|true|false|"[^"\\\n]*")'
_EDN_FIELDS = rb"((?::(?!value[ ])[\w-]+[ ]" + _EDN_SCALAR + rb"[ ,]*+)*)"
_EDN_MICRO = rb"\[:(?:append|r)[ ](?:-?\d+|:[\w-]+)[ ](?:nil|-?\d{1,17}|\[[-0-9 ,]*+\])\]"
_JSON_SCALAR = rb'(?:-?\d+(?:\.\d+)?|"[^"\\\n]*"|null|true|false)'
_JSON_FIELDS = rb'((?:"(?!value")[\w-]+":[ ]?' + _JSON_SCALAR + rb"[ ,]*+)*)"
_JSON_MICRO = rb'\["(?:append|r)",[ ]?(?:-?\d+|"[\w-]+"),[ ]?(?:null|-?\d{1,17}|\[[-0-9 ,]*+\])\]'
_END = rb"\}[ \t\r,]*(?:\n|\Z|[\])]\s*\Z)"


@dataclass(frozen=True)
class Notation:
    """How one notation is read.

    Groups of ``line``: fields, the micro-operations' text, more fields; of ``fields``: name, value; of
    ``micros``: function, key, value. ``read(text, at)`` reads one form of any kind and returns its end.
    """

    name: str
    line: re.Pattern[bytes]
    fields: re.Pattern[bytes]
    micros: re.Pattern[bytes]
    read: Callable[[str, int], tuple[Any, int]]


def _read_json(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        kind = edn.UnfinishedError if not rest or error.msg.startswith("Unterminated") else edn.EdnError
        raise kind(error.msg, error.pos) from error


_DECODER = json.JSONDecoder()
EDN = Notation(
    "EDN",
    re.compile(
        rb"[ \t]*(?:#jepsen\.history\.Op[ ]?)?\{"
        + _EDN_FIELDS
        + rb"(?::value[ ](?:nil|\[((?:"
        + _EDN_MICRO
        + rb"[ ,]*+)*)\])[ ,]*)?"
        + _EDN_FIELDS
        + _END
    ),
    re.compile(rb":(type|process|index|f)[ ](" + _EDN_SCALAR + rb")"),
    re.compile(rb"\[:(append|r)[ ]([^ ]+)[ ](nil|-?\d+|\[[^\]]*\])\]"),
    edn.read,
)
JSON = Notation(
    "JSON",
    re.compile(
        rb"[ \t]*\{"
        + _JSON_FIELDS
        + rb'(?:"value":[ ]?(?:null|\[((?:'
        + _JSON_MICRO
        + rb"[ ,]*+)*)\])[ ,]*)?"
        + _JSON_FIELDS
        + _END
    ),
    re.compile(rb'"(type|process|index|f)":[ ]?(' + _JSON_SCALAR + rb")"),
    re.compile(rb'\["(append|r)",[ ]?("?[\w-]+"?),[ ]?(null|-?\d+|\[[^\]]*\])\]'),
    _read_json,
)
