"""How the log checker's findings are made: one per class and log (or component), the smallest proof.

Knows the names of transactions and micro-operations as a reader knows them, and no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from checkers.facts.wording import counted, operation_text
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions
from evidence.findings import Finding

PROPERTY = "log"
_SHOWN_MICROS, _SHOWN_ELEMENTS = 6, 8
_ENDED = {Outcome.OK: "", Outcome.FAIL: ", failed"}


def finding(kind: str, text: str, proof: Sequence[str], *, count: int = 1) -> Finding:
    """One finding of this checker."""
    return Finding(property=PROPERTY, kind=kind, count=count, text=text, proof=tuple(proof))


def per_log(
    given: Transactions, kind: str, said: str, keys: Ints, proofs: Iterator[Sequence[str]]
) -> tuple[int, Iterator[Finding]]:
    """One finding for each log of ``keys`` (one row an event), in the order of their first events.

    ``proofs`` is asked once for each log, for its first event.
    """
    logs, counts = np.unique(keys, return_counts=True)
    made = (
        finding(
            kind,
            f"log {given.key_names[int(log)]}: {said} ({counted(int(count), 'time')})",
            proof,
            count=int(count),
        )
        for log, count, proof in zip(logs, counts, proofs, strict=False)
    )
    return len(keys), made


def firsts(keys: Ints) -> NDArray[np.intp]:
    """Where each log first occurs in ``keys``, logs ascending."""
    return np.unique(keys, return_index=True)[1]


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
