"""Histories of Jepsen and Elle as operations: each invocation joined with its completion.

A history is in EDN or JSON, one map for each event, one after the other or in a list. Read are ``type``
(invoke, ok, fail, info), ``process``, ``f``, ``value`` and ``index``. Their order in the file is the order of
events; times are not used. A keyword is a text with its colon. Judges nothing.

Source: Jepsen's ``history.edn`` and the input of elle-cli.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from evidence.codes import NEVER, Outcome
from evidence.exchange import edn
from evidence.exchange.edn import Form
from protocol.errors import EvidenceError

_ENDS = {"ok": Outcome.OK, "fail": Outcome.FAIL, "info": Outcome.UNKNOWN}
_SIMPLE = re.compile(rb"[ \t]*\{[\w:/*+!?<>=\[\]{}# ,\t-]*\}[ \t\r,]*\n?")
_KEYWORD = re.compile(rb":[\w/*+!?<>=-]+")
_NIL = re.compile(rb"nil(?<=[\[,]nil)(?=[\],])")
_MAP = b"[0.5,"
"""How a map begins as a list; the data that is read so has no fractions."""
_BETWEEN = re.compile(r"(?:[\s,\])]|;[^\n]*)*")
"""What may stand between operations: blanks, commas, comments, the last bracket of a list around them."""
_WINDOW_BYTES = 1 << 16
_SHOWN = 80
_DECODER = json.JSONDecoder()

Fields = dict[str, Form]
Read = Callable[[str, int], tuple[Form, int]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its request, its result (if ok), and its positions in the order of events.

    ``completed`` is ``NEVER`` for an operation of unknown outcome. ``index`` and ``end_index`` are what the
    file calls its first and last event, ``line`` is where the last one stands.
    """

    process: int
    function: str
    asked: Form
    returned: Form
    invoked: int
    completed: int
    outcome: Outcome
    index: int
    end_index: int = 0
    line: int = 0


def read_operations(path: Path) -> list[Operation]:
    """The operations of a history in the order of their invocations.

    ``EvidenceError`` names line and value of unreadable input.
    """
    return sorted(completions(path), key=lambda one: one.invoked)


def completions(path: Path) -> Iterator[Operation]:
    """The operations in the order of their completions, then the operations that never completed.

    Operations of a process that is no number (the nemesis) are left out.
    """
    under_way: dict[int, Operation] = {}
    for event, (line, fields) in enumerate(_maps(path), start=1):
        kind, process = str(fields.get("type") or "").removeprefix(":"), fields.setdefault("process", 0)
        index = fields.get("index")
        number = int(index) if isinstance(index, int | float | str) else event - 1
        fields |= {"index": number, "line": line}
        where = f"{path}, line {line}"
        if not kind:
            has = ", ".join(f"{name} {value}" for name, value in fields.items())
            raise EvidenceError(f"{where}: an operation needs a type, this one has {has}")
        if not isinstance(process, int):
            continue
        value = fields.get("value")
        if kind == "invoke":
            if process in under_way:
                busy = under_way[process].index
                raise EvidenceError(
                    f"{where}: process {process} invokes while its operation {busy} is under way"
                )
            function = str(fields.get("f")).removeprefix(":")
            under_way[process] = Operation(
                process, function, value, None, event, NEVER, Outcome.UNKNOWN, number, number, line
            )
        elif kind not in _ENDS:
            raise EvidenceError(f"{where}: type is one of invoke, ok, fail, info, not {kind!r}")
        elif process not in under_way:
            raise EvidenceError(f"{where}: process {process} completes an operation that it had not invoked")
        else:
            outcome = _ENDS[kind]
            yield replace(
                under_way.pop(process),
                returned=value,
                completed=NEVER if outcome is Outcome.UNKNOWN else event,
                outcome=outcome,
                end_index=number,
                line=line,
            )
    yield from under_way.values()


def _maps(path: Path) -> Iterator[tuple[int, Fields]]:
    """The fields of each event, and the number of the line at which it begins."""
    try:
        with path.open("rb") as stream:
            begins = stream.read(_WINDOW_BYTES)
            if not begins.strip():
                raise EvidenceError(f"{path}: is empty; a history has at least one operation")
            blank = len(begins) - len(begins.lstrip())
            opening = blank + (begins[blank : blank + 1] in (b"[", b"("))
            stream.seek(opening)
            lines = enumerate(stream, start=1 + begins[:opening].count(b"\n"))
            for line, form in _events(path, lines, is_json=_is_json(path, begins)):
                if not isinstance(form, dict):
                    raise EvidenceError(f"{path}, line {line}: an operation is a map, this is {_shown(form)}")
                yield line, {str(name).removeprefix(":"): value for name, value in form.items()}
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror}") from error


def _is_json(path: Path, begins: bytes) -> bool:
    """JSON by its name or by a first key in double quotes; EDN otherwise."""
    if path.suffix.lower() in {".json", ".jsonl", ".ndjson"}:
        return True
    return path.suffix.lower() != ".edn" and begins.lstrip(b" \t\r\n[(")[1:].lstrip().startswith(b'"')


def _events(path: Path, lines: Iterator[tuple[int, bytes]], *, is_json: bool) -> Iterator[tuple[int, Form]]:
    """Each form with the line at which it begins. A map ends in a line with a closing bracket."""
    read = _read_json if is_json else edn.read
    begun, pending = 0, ""
    for number, line in lines:
        if not pending and not is_json and (quick := quickly(line)) is not None:
            yield number, quick
            continue
        begun, pending = (begun, pending) if pending else (number, "")
        pending += line.decode(errors="surrogateescape")
        if b"}" in line:
            try:
                forms = list(_forms(path, pending, begun, read))
            except edn.UnfinishedError:
                continue
            yield from forms
            pending = ""
    try:
        yield from _forms(path, pending, begun, read)
    except edn.UnfinishedError as error:
        raise EvidenceError(f"{path}, line {begun}: ends within an operation: {error}") from error


def _forms(path: Path, text: str, begun: int, read: Read) -> Iterator[tuple[int, Form]]:
    at = _past(text, 0)
    while at < len(text):
        try:
            form, end = read(text, at)
        except edn.UnfinishedError:
            raise
        except edn.EdnError as error:
            line = begun + text.count("\n", 0, error.at)
            raise EvidenceError(f"{path}, line {line}: {error}") from error
        except (ValueError, RecursionError) as error:  # a number of too many digits, too many brackets
            raise EvidenceError(f"{path}, line {begun}: a form cannot be read: {error}") from error
        yield begun + text.count("\n", 0, at), form
        at = _past(text, end)


def _past(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _read_json(text: str, at: int) -> tuple[Form, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        kind = edn.UnfinishedError if not rest or error.msg.startswith("Unterminated") else edn.EdnError
        raise kind(error.msg, error.pos) from error


def quickly(line: bytes) -> dict[Form, Form] | None:
    """A line of EDN that is one map of plain data, by way of JSON; None for any other: it is read slowly.

    Sets become lists, which are equivalent here.
    """
    if _SIMPLE.fullmatch(line) is None:
        return None
    text = b",".join(line.replace(b",", b" ").split())
    text = (
        _KEYWORD.sub(lambda word: b'"' + word[0] + b'"', text)
        .replace(b"#{", b"[")
        .replace(b"{", _MAP)
        .replace(b"}", b"]")
    )
    text = _NIL.sub(b"null", text.replace(_MAP + b"]", b"[0.5]"))
    try:
        found = json.loads(text)
        mapped = _mapped(found) if text.count(b"[0.5") > 1 else _as_map(found)
    except (ValueError, TypeError, RecursionError):
        return None
    return mapped if isinstance(mapped, dict) and ":type" in mapped else None


def _mapped(value: Form) -> Form:
    """Replaces lists that represent maps by maps."""
    if not isinstance(value, list) or not value:
        return value
    if type(value[0]) is float:
        return _as_map([_mapped(one) for one in value])
    return [_mapped(one) for one in value] if any(isinstance(one, list) for one in value) else value


def _as_map(items: list[Form]) -> dict[Form, Form]:
    """The keys and values after the number that marks a map; ``ValueError`` for a key without a value."""
    return dict(zip(items[1::2], items[2::2], strict=True))


def _shown(form: Form) -> str:
    text = f"[{' '.join(map(str, form))}]" if isinstance(form, list) else str(form)
    return repr(text[:_SHOWN]) if isinstance(form, list) else text[:_SHOWN]


def hashable(value: object) -> Hashable:
    """A value as a key: lists become tuples, also within."""
    return tuple(map(hashable, value)) if isinstance(value, list) else value


def text_of(value: object) -> str:
    """A value as its source would write it, for proofs."""
    is_word = isinstance(value, edn.Symbol | int) or (isinstance(value, str) and value.startswith(":"))
    return str(value) if is_word else repr(value)
