"""Transactions as a history of Jepsen's, line by line, which Jepsen, Elle and this project read.

The inverse of :mod:`evidence.exchange.jepsen`: invocations and completions in the order of their times. What
was invoked at the moment of a completion stands before it, for it did not come after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from evidence.codes import Outcome
from evidence.exchange.transactions import Micro, Transactions

_TYPES = {Outcome.OK: "ok", Outcome.FAIL: "fail"}


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
        if as_json:
            value = [_micro_json(given, micro, shown=ended) for micro in micros]
            yield json.dumps(
                {"index": index, "time": index, "type": kind, "process": process, "f": "txn", "value": value}
            )
        else:
            values = " ".join(_micro_edn(given, micro, shown=ended) for micro in micros)
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


def _micro_json(given: Transactions, micro: int, *, shown: bool) -> list[object]:
    key = _key(given, micro)
    if given.kind[micro] == Micro.APPEND:
        return ["append", key, _element(given, int(given.element[micro]))]
    if not shown or given.length[micro] < 0:
        return ["r", key, None]
    return ["r", key, [_element(given, one) for one in given.list_of(micro).tolist()]]


def _micro_edn(given: Transactions, micro: int, *, shown: bool) -> str:
    if shown and given.length[micro] > 0 and not given.element_names:
        elements = str(given.list_of(micro).tolist()).replace(",", "")
        return f"[:r {json.dumps(_key(given, micro))} {elements}]"
    function, key, value = _micro_json(given, micro, shown=shown)
    return f"[:{function} {json.dumps(key)} {_edn(value)}]"


def _edn(value: object) -> str:
    if value is None:
        return "nil"
    if isinstance(value, list):
        return f"[{' '.join(map(json.dumps, value))}]"
    return json.dumps(value)


def _key(given: Transactions, micro: int) -> int | str:
    name = given.key_names[int(given.key[micro])]
    return int(name) if name.removeprefix("-").isdigit() else name


def _element(given: Transactions, element: int) -> int | str:
    return given.element_names.get(element, element)
