"""Jepsen's histories that are not transactions over lists: operations with a function and any value.

Read as :mod:`evidence.exchange.jepsen` reads: EDN or JSON, one map after the other or in a list, their
order in the file is the order of events. An operation is an invocation with its completion. Judges
nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.codes import NEVER, Outcome
from evidence.exchange.edn import EdnError, Keyword, Symbol, UnfinishedError
from evidence.exchange.jepsen import notation_of
from evidence.exchange.lines import EDN, Notation
from protocol.errors import EvidenceError

_ENDS = {"ok": Outcome.OK, "fail": Outcome.FAIL, "info": Outcome.UNKNOWN}
_PLAIN = rb'(?:-?\d{1,18}|:[\w./*+!?<>=-]+|nil|true|false|"[^"\\\n]*")'
_FAST = re.compile(rb"[ \t]*\{(?::[\w-]+[ ]" + _PLAIN + rb"[ ,]*+)*\}[ \t\r,]*")
_FIELD = re.compile(rb":(type|process|f|value|index)[ ](" + _PLAIN + rb")")
_SIMPLE = re.compile(rb"[ \t]*\{[\w:/*+!?<>=\[\]{}# ,\t-]*\}[ \t\r,]*")
_BLANKS = re.compile(rb"[\s,]+")
_KEYWORD = re.compile(rb":([\w/*+!?<>=-]+)")
_NIL = re.compile(rb'(?<![\w"/*+!?<>=-])nil(?![\w"/*+!?<>=-])')
_MAP = b"[0.5"
"""How a map begins as a list; the data that is read so has no fractions."""
_WORDS: dict[bytes, Any] = {b"nil": None, b"true": True, b"false": False}
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its request, its result (if ok), and its positions in the order of events.

    ``completed`` is ``NEVER`` for an operation of unknown outcome.
    """

    process: int
    function: str
    asked: Any
    told: Any
    invoked: int
    completed: int
    outcome: Outcome
    index: int


def read_operations(path: Path) -> list[Operation]:
    """The operations of a history in the order of their invocations; those of the nemesis are left out.

    ``EvidenceError`` names line and value of unreadable input.
    """
    found: list[Operation] = []
    open_: dict[int, tuple[int, dict[str, Any], int]] = {}
    event = 0
    for line, fields in _maps(path):
        event += 1
        kind, process = str(fields.get("type")), fields.get("process")
        if kind not in _ENDS and kind != "invoke":
            raise EvidenceError(f"{path}, line {line}: type is one of invoke, ok, fail, info, not {kind!r}")
        if not isinstance(process, int):
            continue
        if kind == "invoke":
            if process in open_:
                raise EvidenceError(
                    f"{path}, line {line}: process {process} invokes while it has one under way"
                )
            open_[process] = event, fields, event - 1
            continue
        if process not in open_:
            raise EvidenceError(f"{path}, line {line}: process {process} completes what it had not invoked")
        begun, asked, number = open_.pop(process)
        ended = event if _ENDS[kind] is not Outcome.UNKNOWN else NEVER
        found.append(_operation(asked, fields, begun, ended, _ENDS[kind], number))
    for begun, asked, number in open_.values():
        found.append(_operation(asked, {}, begun, NEVER, Outcome.UNKNOWN, number))
    found.sort(key=lambda one: one.invoked)
    return found


def _operation(
    asked: dict[str, Any], told: dict[str, Any], begun: int, ended: int, outcome: Outcome, number: int
) -> Operation:
    return Operation(
        process=asked["process"],
        function=str(asked.get("f")),
        asked=asked.get("value"),
        told=told.get("value"),
        invoked=begun,
        completed=ended,
        outcome=outcome,
        index=int(asked.get("index", number)),
    )


def _maps(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each map of the file with the number of its first line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror}") from error
    if not data.strip():
        raise EvidenceError(f"{path}: is empty; a history has at least one operation")
    notation = notation_of(path, data)
    pending, begun = b"", 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not pending and _FAST.fullmatch(line):
            yield number, {name.decode(): _plain(value) for name, value in _FIELD.findall(line)}
            continue
        quick = quickly(line) if not pending and notation is EDN else None
        if quick is not None:
            yield number, quick
            continue
        begun = begun if pending else number
        pending += line + b"\n"
        try:
            forms = list(_forms(pending.decode("utf-8", errors="surrogateescape"), notation))
        except UnfinishedError:
            continue
        except EdnError as error:
            raise EvidenceError(f"{path}, line {begun}: {error}") from error
        pending = b""
        for form in forms:
            if not isinstance(form, dict):
                shown = repr(form)[:_SHOWN]
                raise EvidenceError(f"{path}, line {begun}: an operation is a map, this is {shown}")
            yield begun, {str(name): value for name, value in form.items()}
    if pending.strip(b" \t\r\n,"):
        raise EvidenceError(f"{path}, line {begun}: ends within an operation")


def quickly(line: bytes) -> dict[str, Any] | None:
    """A line of EDN that is one map of plain data, by way of JSON; None for any other: it is read slowly.

    Keywords become texts and sets become lists, which are equivalent here.
    """
    if _SIMPLE.fullmatch(line) is None:
        return None
    text = _BLANKS.sub(b",", line.strip(b" \t\r,"))
    text = _NIL.sub(b"null", _KEYWORD.sub(rb'"\1"', text)).replace(b"#{", b"[")
    text = text.replace(b"{", _MAP + b",").replace(b"}", b"]").replace(_MAP + b",]", _MAP + b"]")
    try:
        found = _mapped(json.loads(text))
    except (ValueError, TypeError):
        return None
    return found if isinstance(found, dict) and "type" in found else None


def _mapped(value: Any) -> Any:
    """Replaces lists that represent maps by maps."""
    if not isinstance(value, list) or not value:
        return value
    if type(value[0]) is float:
        inner = [_mapped(one) for one in value[1:]]
        if len(inner) % 2:
            raise ValueError("a map has a value for each key")
        return dict(zip(inner[::2], inner[1::2], strict=True))
    return [_mapped(one) for one in value] if any(isinstance(one, list) for one in value) else value


def _forms(text: str, notation: Notation) -> Iterator[Any]:
    """The maps of some lines; the brackets of a list around all of them are skipped."""
    at = 0
    while True:
        while at < len(text) and text[at] in " \t\r\n,[]()":
            at += 1
        if at >= len(text):
            return
        if text[at] == ";":
            at = text.find("\n", at)
            continue
        form, at = notation.read(text, at)
        yield form


def _plain(value: bytes) -> Any:
    if value in _WORDS:
        return _WORDS[value]
    if value[:1] == b":":
        return Keyword(value[1:].decode())
    return value[1:-1].decode() if value[:1] == b'"' else int(value)


def hashable(value: Any) -> Hashable:
    """A value as a key: lists become tuples, also within."""
    return tuple(map(hashable, value)) if isinstance(value, list) else value


def text_of(value: Any) -> str:
    """A value as its source would write it, for proofs."""
    if isinstance(value, Keyword):
        return f":{value}"
    return str(value) if isinstance(value, Symbol | int) else repr(value)
