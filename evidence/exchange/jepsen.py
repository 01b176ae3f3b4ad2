"""Histories of Jepsen and Elle (list-append) as transactions, read and written.

The value of an operation is a list of micro-operations, ``[:append key element]`` and ``[:r key [...]]``.
:mod:`evidence.exchange.operations` reads the file. Most lists that were read are prefixes of the longest
list of their log, which is stored once.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Hashable, Iterator
from pathlib import Path

import numpy as np

from evidence.codes import Outcome
from evidence.exchange.edn import Form, Symbol
from evidence.exchange.operations import Operation, completions, hashable
from evidence.exchange.transactions import NOT_KNOWN, Ints, Micro, Transactions
from protocol.errors import EvidenceError

_OWN = 10**17
"""Integers below this are elements themselves; others have numbers from ``_NAMED`` downward, and names."""
_NAMED = -9 * _OWN - 1
_SHARED = -1
"""Where a list starts that is a prefix of its log's longest list."""
_TYPES = {Outcome.OK: "ok", Outcome.FAIL: "fail"}


def read_jepsen(path: Path) -> Transactions:
    """The transactions of a history; ``EvidenceError`` names line and value of unreadable input."""
    columns = _Columns()
    for operation in completions(path):
        try:
            columns.take(operation)
        except ValueError as error:
            raise EvidenceError(f"{path}, line {operation.line}: {error}") from error
    return columns.done()


class _Columns:
    """Collects transactions; ``ValueError`` says what is wrong with one."""

    def __init__(self) -> None:
        self._rows = array("q")
        self._first = array("q", [0])
        self._micros = array("q")
        self._keys: dict[Hashable, int] = {}
        self._longest: list[list[Form]] = []
        self._numbers: list[array[int]] = []
        self._others = array("q")
        self._names: dict[Hashable, int] = {}

    def take(self, one: Operation) -> None:
        value = one.asked if one.returned is None or one.outcome is not Outcome.OK else one.returned
        if value is not None and not isinstance(value, list):
            raise ValueError(f"the value of an operation is a list of micro-operations, this is {value!r}")
        for micro in value or ():
            self._micros.extend(self._micro(micro, one.outcome))
        self._first.append(len(self._micros) // 5)
        self._rows.extend((one.process, one.invoked, one.completed, one.outcome, one.end_index))

    def done(self) -> Transactions:
        process, invoked, completed, outcome, number = _columns(self._rows)
        kind, key, element, start, length = _columns(self._micros)
        sizes = [0, *map(len, self._numbers)]
        begins = np.cumsum(np.array(sizes, dtype=np.int64))
        listed = (kind == Micro.READ) & (length >= 0)
        own = np.where(start == _SHARED, begins[key], start + begins[-1])
        return Transactions(
            process,
            invoked,
            completed,
            outcome,
            number,
            np.array(self._first, dtype=np.int64),
            kind,
            key,
            element,
            np.where(listed, own, 0),
            length,
            np.concatenate([np.array(part, dtype=np.int64) for part in (*self._numbers, self._others)]),
            key_names=tuple("nil" if name is None else str(name) for name in self._keys),
            element_names={number: str(name) for name, number in self._names.items()},
        )

    def _micro(self, micro: Form, outcome: Outcome) -> tuple[int, int, int, int, int]:
        """Kind, log, element, start and length of a micro-operation."""
        if not isinstance(micro, list) or len(micro) != 3 or not isinstance(micro[0], str):
            raise ValueError(
                f"a micro-operation is [:append key element] or [:r key list], this is {micro!r}"
            )
        function, name, value = micro[0].removeprefix(":"), hashable(micro[1]), micro[2]
        key = self._keys.setdefault(name, len(self._keys))
        if key == len(self._longest):
            self._longest.append([])
            self._numbers.append(array("q"))
        if function == "append":
            if value is None or isinstance(value, list):
                raise ValueError(f"an append has one element, not {value}")
            return Micro.APPEND, key, self._number(value), 0, 0
        if function != "r":
            raise ValueError(
                f"micro-operation {function!r}; there are append and r in list-append histories; the models "
                "set and log read others"
            )
        if value is None and outcome is not Outcome.OK:
            return Micro.READ, key, 0, 0, NOT_KNOWN
        if value is not None and not isinstance(value, list):
            raise ValueError(f"a read of a log returns a list, not {value}")
        elements = value or []
        return Micro.READ, key, 0, self._start(key, elements), len(elements)

    def _start(self, key: int, elements: list[Form]) -> int:
        """Where a list begins: ``_SHARED``, or its index among the lists that are no such prefixes."""
        longest = self._longest[key]
        if longest[: len(elements)] == elements:
            return _SHARED
        if elements[: len(longest)] == longest:
            self._numbers[key].extend(map(self._number, elements[len(longest) :]))
            self._longest[key] = elements
            return _SHARED
        start = len(self._others)
        self._others.extend(map(self._number, elements))
        return start

    def _number(self, element: Form) -> int:
        """The integer that stands for an element."""
        if type(element) is int and abs(element) < _OWN:
            return element
        if isinstance(element, Symbol):
            raise ValueError(f"an element is a number, a text or a keyword, not {str(element)!r}")
        return self._names.setdefault(hashable(element), _NAMED - len(self._names))


def _columns(cells: array[int]) -> Ints:
    """Rows of five cells as five columns."""
    return np.ascontiguousarray(np.array(cells, dtype=np.int64).reshape(-1, 5).T)


def jepsen_lines(given: Transactions, *, as_json: bool = False) -> Iterator[str]:
    """One line for each invocation and each completion, without line ends; EDN by default.

    Index and time are the line's number: what counts is the order. Transactions of unknown outcome are
    ``info`` at the end. Committed reads of unknown result have no place in the notation and are left out.
    """
    for index, (row, ended) in enumerate(_events(given)):
        outcome = Outcome(int(given.outcome[row]))
        kind = _TYPES.get(outcome, "info") if ended else "invoke"
        process = int(given.process[row])
        micros = [
            micro
            for micro in range(int(given.first[row]), int(given.first[row + 1]))
            if given.kind[micro] == Micro.APPEND or given.length[micro] >= 0 or outcome is not Outcome.OK
        ]
        value = [_written(given, micro, shown=ended) for micro in micros]
        if as_json:
            yield json.dumps(
                {"index": index, "time": index, "type": kind, "process": process, "f": "txn", "value": value}
            )
        else:
            values = " ".join(map(_micro_edn, value))
            yield (
                f"{{:index {index}, :time {index}, :type :{kind}, :process {process}, "
                f":f :txn, :value [{values}]}}"
            )


def _events(given: Transactions) -> Iterator[tuple[int, bool]]:
    """(transaction, whether it ends) in order; one without an outcome ends before its process's next one."""
    rows = len(given)
    when = np.concatenate((given.invoked, given.completed))
    is_end = np.repeat((False, True), rows)
    under_way: dict[int, int] = {}
    for event in np.lexsort((is_end, when)).tolist():
        row, ended = event % rows, event >= rows
        process = int(given.process[row])
        if not ended:
            if process in under_way:
                yield under_way[process], True
            under_way[process] = row
        elif under_way.get(process) == row:
            del under_way[process]
        else:
            continue
        yield row, ended


def _written(given: Transactions, micro: int, *, shown: bool) -> tuple[str, int | str, object]:
    """Function, key and value of a micro-operation; None for a list that is not shown."""
    key = _key(given, micro)
    if given.kind[micro] == Micro.APPEND:
        return "append", key, _element(given, int(given.element[micro]))
    if not shown or given.length[micro] < 0:
        return "r", key, None
    elements = given.list_of(micro).tolist()
    return "r", key, [_element(given, one) for one in elements] if given.element_names else elements


def _micro_edn(micro: tuple[str, int | str, object]) -> str:
    function, key, value = micro
    written = "nil" if value is None else json.dumps(value, separators=(" ", " "))
    return f"[:{function} {json.dumps(key)} {written}]"


def _key(given: Transactions, micro: int) -> int | str:
    name = given.key_names[int(given.key[micro])]
    return int(name) if name.removeprefix("-").isdigit() else name


def _element(given: Transactions, element: int) -> int | str:
    return given.element_names.get(element, element)
