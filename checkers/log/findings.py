"""How the log checker's findings are made: one per class and log (or component), with the smallest proof.

Of a cycle the proof says who takes part, and for each edge which elements make it, looked up again from the
columns. Knows the names of transactions and micro-operations as a reader knows them, and no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from checkers.facts.wording import operation_text
from checkers.log.cycles import CycleResult, FoundCycle
from checkers.log.edges import Edge
from checkers.log.versions import Versions
from checkers.log.witness import Cycle, Step
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions
from evidence.findings import Finding
from protocol.wording import counted

PROPERTY = "log"
_SHOWN_MICROS, _SHOWN_ELEMENTS, _SHOWN_STEPS = 6, 8, 20
FoundClass = tuple[str, int, Iterator[Finding]]
"""A class of findings, the exact number of its events, and the findings."""
_ENDED = {Outcome.OK: "", Outcome.FAIL: ", failed"}


def per_log(
    given: Transactions, kind: str, text: str, keys: Ints, proof: Callable[[int], Iterable[str]]
) -> Iterator[FoundClass]:
    """One finding for each log of ``keys`` (one row an event); nothing where there is no event.

    ``proof`` is asked for the place of each log's first event, of those findings that are looked at.
    """
    if len(keys):
        logs, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
        made = (
            Finding(
                property=PROPERTY,
                kind=kind,
                count=count,
                text=f"log {given.key_names[log]}: {text} ({counted(count, 'time')})",
                proof=tuple(proof(first)),
            )
            for log, first, count in zip(logs.tolist(), firsts.tolist(), counts.tolist(), strict=True)
        )
        yield kind, len(keys), made


def transaction_text(given: Transactions, row: int) -> str:
    """``process 3, operation 25: append x 1, read y [1 2]``."""
    first, end = int(given.first[row]), int(given.first[row + 1])
    micros = [micro_text(given, micro) for micro in range(first, min(end, first + _SHOWN_MICROS))]
    if end - first > _SHOWN_MICROS:
        micros.append(f"and {end - first - _SHOWN_MICROS} more")
    ended = _ENDED.get(Outcome(int(given.outcome[row])), ", outcome unknown")
    return f"{name(given, row)}{ended}: {', '.join(micros)}"


def name(given: Transactions, row: int) -> str:
    """``process 3, operation 25``, or ``w1, operation 25`` where callers are known."""
    if given.caller is not None:
        who = int(given.caller[row])
        return f"{given.caller_names.get(who, f'client {who}')}, {operation_text(int(given.number[row]))}"
    return f"process {given.process[row]}, operation {given.number[row]}"


def micro_text(given: Transactions, micro: int) -> str:
    """``append x 1`` or ``read y [1 2]``; of a long list the end, for that is what decides."""
    key = given.key_names[int(given.key[micro])]
    if given.kind[micro] == Micro.APPEND:
        return f"append {key} {given.element_text(given.element[micro])}"
    if given.length[micro] < 0:
        return f"read {key}"
    return f"read {key} {list_text(given, given.list_of(micro))}"


def list_text(given: Transactions, elements: Ints) -> str:
    """``[1 2 3]`` or ``[... 62 63]``."""
    shown = [given.element_text(int(one)) for one in elements[-_SHOWN_ELEMENTS:]]
    if len(elements) > len(shown):
        shown.insert(0, "...")
    return f"[{' '.join(shown)}]"


def cycle_findings(given: Transactions, versions: Versions, result: CycleResult) -> Iterator[Finding]:
    """One finding for each component that was found."""
    for found in result.found:
        proof = () if found.cycle is None else tuple(_proof(given, versions, result.rows, found.cycle))
        yield Finding(property=PROPERTY, kind=found.kind, count=1, text=_summary(found), proof=proof)


def _summary(found: FoundCycle) -> str:
    among = f"among {counted(found.size, 'transaction')}"
    if found.cycle is None:
        return f"{found.kind}: a cycle {among}, proven by their edges; its search reached its limit"
    short = "the shortest cycle" + ("" if found.cycle.shortest else " found within the limit of work")
    return f"{found.kind}: {short} {among} has {len(found.cycle.steps):,}"


def _proof(given: Transactions, versions: Versions, rows: Ints, cycle: Cycle) -> Iterator[str]:
    """Who takes part, and what each edge says; ``rows`` are the transactions behind nodes."""
    number = len(cycle.steps)
    shown = number if number <= _SHOWN_STEPS else _SHOWN_STEPS - 1
    taking_part = [int(rows[step.node]) for step in cycle.steps[: shown + 1]]
    for at, row in enumerate(taking_part, start=1):
        yield f"T{at} is {transaction_text(given, row)}"
    for at, step in enumerate(cycle.steps[:shown]):
        after = (at + 1) % number
        reason = _reason(
            given, versions, step, (taking_part[at], taking_part[after]), (f"T{at + 1}", f"T{after + 1}")
        )
        yield f"T{at + 1} < T{after + 1}: {reason}"
    if shown < number:
        yield f"and so on over {counted(number - shown, 'more step')} back to T1"


def _reason(
    given: Transactions, versions: Versions, step: Step, rows: tuple[int, int], names: tuple[str, str]
) -> str:
    (row, next_row), (name, next_name) = rows, names
    if step.label == Edge.REALTIME:
        ended, began = given.completed[row], given.invoked[next_row]
        return (
            f"{name} completed at {given.time_text(int(ended))}, "
            f"before {next_name} was invoked at {given.time_text(int(began))} (real time)"
        )
    if step.label == Edge.PROCESS:
        return f"process {given.process[row]} completed {name} before it invoked {next_name} (process)"
    log = given.key_names[step.key]
    if step.label == Edge.WR:
        return f"{next_name} read {log} up to {_last_read(given, row, next_row, step.key)} of {name} (wr)"
    element, unread = _appended(given, versions, row if step.label == Edge.WW else -1, next_row, step.key)
    if step.label == Edge.WW:
        where = "and no read shows it" if unread else "the next in the order"
        return f"{next_name} appended {element} to {log} after {name}, {where} (ww)"
    where = ", which no read shows" if unread else ""
    return f"{name} read {log} without {element}, which {next_name} appended{where} (rw)"


def _micros(given: Transactions, row: int, key: int, kind: Micro) -> list[int]:
    own = range(int(given.first[row]), int(given.first[row + 1]))
    return [micro for micro in own if given.key[micro] == key and given.kind[micro] == kind]


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
