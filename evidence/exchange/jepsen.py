"""Histories of Jepsen and Elle (list-append), in EDN or JSON, as transactions.

One operation is a map with ``type`` (invoke, ok, fail, info), ``process``, ``value`` (micro-operations
``[:append k v]`` and ``[:r k [...]]``), and perhaps ``index``, ``time``, ``f`` and others. A file holds
one after the other, or a list of them. Their order in the file is the order of events, as for Elle; times
are not used. Invalid input is an ``EvidenceError`` with the line and the value.

Source: Jepsen's ``history.edn`` and the input of elle-cli.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

from evidence.exchange.edn import EdnError, Keyword, Symbol, UnfinishedError
from evidence.exchange.lines import EDN, JSON, Notation
from evidence.exchange.lists import Lists
from evidence.exchange.pairing import Line, Pairing, WrongError
from evidence.exchange.transactions import Transactions
from protocol.errors import EvidenceError

_WINDOW_BYTES = 1 << 16
_SHOWN_CHARACTERS = 80


def read_jepsen(path: Path) -> Transactions:
    """The transactions of a history; ``EvidenceError`` names line and value of unreadable input."""
    try:
        with path.open("rb") as stream:
            if path.stat().st_size == 0:
                raise EvidenceError(f"{path}: is empty; a history has at least one operation")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _read(path, data)
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror}") from error


def _read(path: Path, data: mmap.mmap) -> Transactions:
    notation = notation_of(path, data)
    pairing = Pairing(notation)
    at, end = _opening(data), len(data)
    while at < end:
        found = notation.line.match(data, at)
        try:
            if found is not None:
                fields = dict(notation.fields.findall(found[1] + found[3]))
                at = found.end()
                pairing.take(Line(fields, found[2]))
                continue
            line, after = _slowly(data, at, notation, pairing.lists)
            if line is not None:
                pairing.take(line)
            at = after
        except (WrongError, EdnError) as error:
            before = data[: min(at if found is None else found.start(), end)]
            exact = isinstance(error, EdnError) and not isinstance(error, UnfinishedError)
            within = data[len(before) : len(before) + getattr(error, "at", 0)] if exact else b""
            within = within or _blanks(data, len(before))
            number = before.count(b"\n") + within.count(b"\n") + 1
            raise EvidenceError(f"{path}, line {number}: {error}") from error
    return pairing.done()


def notation_of(path: Path, data: mmap.mmap | bytes) -> Notation:
    """JSON by its name or by a first key in double quotes; EDN otherwise."""
    if path.suffix.lower() in {".json", ".jsonl", ".ndjson"}:
        return JSON
    begins = data[:_WINDOW_BYTES].lstrip(b" \t\r\n[(")
    return JSON if path.suffix.lower() != ".edn" and begins[1:].lstrip().startswith(b'"') else EDN


def _opening(data: mmap.mmap) -> int:
    """Past the bracket of a list that holds all operations."""
    begin = data[:_WINDOW_BYTES]
    blank = len(begin) - len(begin.lstrip())
    return blank + 1 if begin[blank : blank + 1] in (b"[", b"(") else blank


def _blanks(data: mmap.mmap, at: int) -> bytes:
    """The blanks before the form that begins after ``at``."""
    ahead = data[at : at + _WINDOW_BYTES]
    return ahead[: len(ahead) - len(ahead.lstrip(b" \t\r\n,"))]


def _slowly(data: mmap.mmap, at: int, notation: Notation, lists: Lists) -> tuple[Line | None, int]:
    """One operation of any form, and where it ends; None for blanks, commas and the last bracket."""
    size = _WINDOW_BYTES
    while True:
        raw = data[at : at + size]
        text = raw.decode("utf-8", errors="surrogateescape")
        begin = len(text) - len(text.lstrip(" \t\r\n,"))
        if begin == len(text) or text[begin:].strip() in ("]", ")"):
            return None, at + len(raw)
        if notation is EDN and text[begin] == ";":
            line = text.find("\n", begin)
            return None, at + (len(raw) if line < 0 else line)
        try:
            form, end = notation.read(text, begin)
        except UnfinishedError:
            if at + size >= len(data):
                raise
            size *= 2
            continue
        shown = text[begin : begin + _SHOWN_CHARACTERS].split("\n")[0]
        used = len(text[:end].encode("utf-8", errors="surrogateescape"))
        return _line(form, shown, lists), at + used


def _line(form: Any, shown: str, lists: Lists) -> Line:
    if not isinstance(form, dict):
        raise WrongError(f"an operation is a map, this is {shown!r}")
    fields = {
        str(name).encode(): _token(value)
        for name, value in form.items()
        if str(name) in {"type", "process", "index", "f"}
    }
    value = form.get(Keyword("value"))
    if value is None or b"type" not in fields or not fields.get(b"process", b"0").isdigit():
        return Line(fields, None)
    if not isinstance(value, list):
        raise WrongError(f"the value of an operation is a list of micro-operations, this is {value!r}")
    return Line(fields, [_micro(one, lists) for one in value])


def _token(value: Any) -> bytes:
    """A value as written in a line that the fast parser reads."""
    if isinstance(value, str) and not isinstance(value, Keyword | Symbol):
        return f'"{value}"'.encode()
    return (":" + value if isinstance(value, Keyword) else "nil" if value is None else str(value)).encode()


def _micro(one: Any, lists: Lists) -> tuple[bytes, bytes, bytes]:
    if not isinstance(one, list) or len(one) != 3 or not isinstance(one[0], str):
        raise WrongError(f"a micro-operation is [:append key element] or [:r key list], this is {one!r}")
    function, key, value = one
    if isinstance(value, list):
        numbers = b" ".join(b"%d" % lists.number(each) for each in value)
        return function.encode(), _token(key), b"[" + numbers + b"]"
    if function == "append":
        return b"append", _token(key), b"%d" % lists.number(value)
    return function.encode(), _token(key), _token(value)
