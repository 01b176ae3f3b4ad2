"""Cycles in words: who takes part, and why each comes before the next.

Says for each edge the elements that make it, looked up again from the columns; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from checkers.facts.wording import counted
from checkers.log.cycles import Found, Result
from checkers.log.edges import Edge
from checkers.log.findings import finding, transaction_text
from checkers.log.versions import Versions
from checkers.log.witness import Cycle
from evidence.exchange.transactions import Micro, Transactions
from evidence.findings import Finding

_SHOWN_STEPS = 20


def cycle_findings(given: Transactions, versions: Versions, result: Result) -> Iterator[Finding]:
    """One finding for each component that was found."""
    for found in result.found:
        yield finding(found.kind, _said(found), tuple(_proof(given, versions, result, found.cycle)))


def _said(found: Found) -> str:
    among = f"among {counted(found.size, 'transaction')}"
    if found.cycle is None:
        return f"{found.kind}: a cycle {among}, proven by their edges; its search came to its limit"
    short = "the shortest cycle" + ("" if found.cycle.shortest else " found within the limit of work")
    return f"{found.kind}: {short} {among} has {len(found.cycle.steps):,}"


def _proof(given: Transactions, versions: Versions, result: Result, cycle: Cycle | None) -> Iterator[str]:
    if cycle is None:
        return
    rows = [int(result.rows[step.node]) for step in cycle.steps]
    shown = len(rows) if len(rows) <= _SHOWN_STEPS else _SHOWN_STEPS - 1
    for number, row in enumerate(rows[: shown + 1], start=1):
        yield f"T{number} is {transaction_text(given, row)}"
    for at, step in enumerate(cycle.steps[:shown]):
        after = (at + 1) % len(rows)
        one, other = (rows[at], f"T{at + 1}"), (rows[after], f"T{after + 1}")
        yield f"T{at + 1} < T{after + 1}: {_reason(given, versions, step.label, step.key, one, other)}"
    if shown < len(rows):
        yield f"and so on over {counted(len(rows) - shown, 'more step')} back to T1"


def _reason(
    given: Transactions,
    versions: Versions,
    label: Edge,
    key: int,
    one: tuple[int, str],
    other: tuple[int, str],
) -> str:
    (row, name), (next_row, next_name) = one, other
    if label == Edge.REALTIME:
        ended, began = given.completed[row], given.invoked[next_row]
        return (
            f"{name} completed at {given.time_text(int(ended))}, "
            f"before {next_name} was invoked at {given.time_text(int(began))} (real time)"
        )
    if label == Edge.PROCESS:
        return f"process {given.process[row]} completed {name} before it invoked {next_name} (process)"
    log = given.key_names[key]
    if label == Edge.WR:
        return f"{next_name} read {log} up to {_last_read(given, row, next_row, key)} of {name} (wr)"
    element, unread = _appended(given, versions, row if label == Edge.WW else -1, next_row, key)
    if label == Edge.WW:
        where = "and no read shows it" if unread else "the next in the order"
        return f"{next_name} appended {element} to {log} after {name}, {where} (ww)"
    where = ", which no read shows" if unread else ""
    return f"{name} read {log} without {element}, which {next_name} appended{where} (rw)"


def _micros(given: Transactions, row: int, key: int, kind: Micro) -> Sequence[int]:
    own = np.arange(int(given.first[row]), int(given.first[row + 1]))
    return [int(micro) for micro in own if given.key[micro] == key and given.kind[micro] == kind]


def _last_read(given: Transactions, writer: int, reader: int, key: int) -> str:
    """The element of the writer with which one of the reader's lists ends."""
    wrote = {int(given.element[micro]) for micro in _micros(given, writer, key, Micro.APPEND)}
    for micro in _micros(given, reader, key, Micro.READ):
        shown = given.list_of(micro)
        if len(shown) and int(shown[-1]) in wrote:
            return given.element_text(int(shown[-1]))
    return "the append"


def _appended(
    given: Transactions, versions: Versions, before: int, writer: int, key: int
) -> tuple[str, bool]:
    """The element that makes an edge to its writer, and whether no read shows it.

    The first in the order whose forerunner is not the writer's own, and is ``before``'s where that is given.
    """
    appends = _micros(given, writer, key, Micro.APPEND)
    shown = sorted((int(versions.version[micro]), micro) for micro in appends if versions.version[micro] >= 0)
    for version, micro in shown:
        earlier = int(versions.append[version - 1]) if version > versions.base[key] else -1
        owner = int(given.owner[earlier]) if earlier >= 0 else -1
        if owner != writer and before in (-1, owner):
            return given.element_text(int(given.element[micro])), False
    unread = [micro for micro in appends if versions.version[micro] < 0]
    micro = unread[0] if unread else appends[0]
    return given.element_text(int(given.element[micro])), bool(unread)
