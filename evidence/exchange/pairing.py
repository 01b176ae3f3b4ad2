"""Invocations and completions of Jepsen's operations, joined into transactions.

Independent of the notation: lines are passed with their fields and micro-operations as text.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from evidence.codes import NEVER, Outcome
from evidence.exchange.lines import Notation
from evidence.exchange.lists import Lists
from evidence.exchange.transactions import NOT_KNOWN, Ints, Micro, Transactions

_ENDS = {b"ok": Outcome.OK, b"fail": Outcome.FAIL, b"info": Outcome.UNKNOWN}
_NIL = (b"nil", b"null")
_SHOWN_BYTES = 80
Micros = list[tuple[bytes, bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Line:
    """One operation: micro-operations as their text, or as (function, key, value) where taken apart."""

    fields: dict[bytes, bytes]
    micros: bytes | Micros | None


class WrongError(ValueError):
    """What is wrong with an operation; the caller adds the line."""


class Pairing:
    """Joins each invocation with its completion and collects the columns."""

    def __init__(self, notation: Notation) -> None:
        self.lists = Lists()
        self._notation = notation
        self._event = 0
        self._open: dict[int, tuple[int, int, bytes | Micros | None]] = {}
        self._rows = tuple(array("q") for _ in range(5))
        self._first = array("q", [0])
        self._micros = tuple(array("q") for _ in range(5))
        self._keys: dict[bytes, int] = {}

    def take(self, line: Line) -> None:
        """Add one operation. Operations of a process that is no number (the nemesis) are skipped."""
        fields = line.fields
        self._event += 1
        kind, process = fields.get(b"type", b"").strip(b':"'), fields.get(b"process", b"")
        if not kind:
            raise WrongError(f"an operation needs a type, this one has {_shown(fields)}")
        if process and not process.isdigit():
            return
        number = int(process or 0)
        index = int(fields.get(b"index", b"%d" % (self._event - 1)))
        if kind == b"invoke":
            if number in self._open:
                busy = self._open[number][1]
                raise WrongError(f"process {number} invokes while its operation {busy} is under way")
            self._open[number] = self._event, index, line.micros
            return
        if kind not in _ENDS:
            raise WrongError(f"type is one of invoke, ok, fail, info, not {kind.decode()!r}")
        if number not in self._open:
            raise WrongError(f"process {number} completes an operation that it had not invoked")
        begun, _, asked = self._open.pop(number)
        outcome = _ENDS[kind]
        told = asked if line.micros is None or outcome is not Outcome.OK else line.micros
        ended = NEVER if outcome is Outcome.UNKNOWN else self._event
        self._row(number, begun, ended, outcome, index, told)

    def done(self) -> Transactions:
        """The columns; an operation that never completed is unknown."""
        for process, (begun, index, asked) in self._open.items():
            self._row(process, begun, NEVER, Outcome.UNKNOWN, index, asked)
        rows = [_column(column) for column in self._rows]
        kind, key, element, start, length = map(_column, self._micros)
        start, elements = self.lists.flat(key, start, (kind == Micro.READ) & (length >= 0))
        return Transactions(
            rows[0],
            rows[1],
            rows[2],
            rows[3],
            rows[4],
            _column(self._first),
            kind,
            key,
            element,
            start,
            length,
            elements,
            key_names=tuple(name.decode("utf-8", errors="replace").strip('"') for name in self._keys),
            element_names=self.lists.names(),
        )

    def _row(
        self,
        process: int,
        begun: int,
        ended: int,
        outcome: Outcome,
        index: int,
        told: bytes | Micros | None,
    ) -> None:
        micros = self._notation.micros.findall(told) if isinstance(told, bytes) else told or []
        for function, key, value in micros:
            self._micro(function, self._keys.setdefault(key, len(self._keys)), value, outcome)
        self._first.append(len(self._micros[0]))
        for column, cell in zip(self._rows, (process, begun, ended, int(outcome), index), strict=True):
            column.append(cell)

    def _micro(self, function: bytes, key: int, value: bytes, outcome: Outcome) -> None:
        if function == b"append":
            if value in _NIL or value[:1] == b"[":
                raise WrongError(f"an append has one element, not {value.decode()}")
            cells = Micro.APPEND, key, int(value), 0, 0
        elif function != b"r":
            raise WrongError(
                f"micro-operation {function.decode()!r}; there are append and r in "
                "list-append histories; the models set and log read others"
            )
        elif value in _NIL and outcome is not Outcome.OK:
            cells = Micro.READ, key, 0, 0, NOT_KNOWN
        elif value in _NIL:
            cells = Micro.READ, key, 0, *self.lists.add(key, b"")
        elif value[:1] != b"[":
            raise WrongError(f"a read of a log returns a list, not {value.decode()}")
        else:
            cells = Micro.READ, key, 0, *self._listed(key, _plain(value[1:-1]))
        for column, cell in zip(self._micros, cells, strict=True):
            column.append(cell)

    def _listed(self, key: int, text: bytes) -> tuple[int, int]:
        try:
            return self.lists.add(key, text)
        except ValueError as error:
            shown = text[:_SHOWN_BYTES].decode()
            raise WrongError(f"a list of {shown!r}: {error}") from error


def _plain(text: bytes) -> bytes:
    """A list's elements with one blank between."""
    if b"," in text or b"  " in text or text[:1] == b" " or text[-1:] == b" ":
        return b" ".join(text.replace(b",", b" ").split())
    return text


def _shown(fields: dict[bytes, bytes]) -> str:
    told = (f"{name.decode()} {value.decode()}" for name, value in fields.items())
    return ", ".join(told) or "no known field"


def _column(values: array[int]) -> Ints:
    """The same numbers as a NumPy column."""
    return np.frombuffer(values, dtype=np.int64) if values else np.empty(0, dtype=np.int64)
