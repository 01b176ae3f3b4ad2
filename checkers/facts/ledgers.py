"""Facts of ledgers that several properties ask for (:class:`checkers.judging.contract.LedgerFact`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from checkers.facts.histories import Histories
from checkers.facts.parts import acked, deleted, final, identified, received_lac
from checkers.judging.contract import Batch, Columns, LedgerFact, LedgerFacts, Rows
from checkers.sets.ordering import begins, changes
from evidence.codes import Kind, Outcome


def highest(name: str, parts: Callable[[Rows], Sequence[Rows]], column: str) -> LedgerFact:
    """The highest value of each ledger in one column of some operations, and who got it: client, seq."""
    return LedgerFact(
        name,
        "operations",
        lambda batch: [tops(part, column) for part in parts(batch.operations)],
        first_by=((column, "descending"),),
        also=("client", "seq"),
    )


def tops(rows: Rows, column: str) -> Rows:
    """The rows with the highest value of their ledger in one column; operations come sorted by ledger."""
    if not rows.num_rows:
        return rows
    begin = begins(rows["ledger"])
    highest = np.maximum.reduceat(rows[column], begin)
    return rows.filter(rows[column] == np.repeat(highest, np.diff(np.append(begin, rows.num_rows))))


def operations_fact(
    name: str,
    pick: Callable[[Rows], Rows],
    *,
    key: tuple[str, ...] = ("ledger",),
    values: Mapping[str, str] = MappingProxyType({}),
) -> LedgerFact:
    """A fact of the operations that ``pick`` takes."""

    def rows(batch: Batch) -> Rows:
        picked = pick(batch.operations)
        return picked if values else picked.filter(changes(*(picked[column] for column in key)))

    return LedgerFact(name, "operations", rows, key=key, values=values)


HIGHEST_LAC = highest("highest_lac", lambda rows: rows.memo(received_lac), "lac")
"""The highest LAC that a client received; of equal ones that of the lower client number, then the earlier."""

HIGHEST_ACKED = highest("highest_acked", lambda rows: (rows.memo(acked),), "entry")
"""The highest entry acknowledged."""

HIGHEST_FORCED = highest(
    "highest_forced",
    lambda rows: (rows.where(kind=Kind.FORCE, outcome=Outcome.OK).memo(identified),),
    "entry",
)
"""The highest entry that was acknowledged before an ok force."""

RELEASED = operations_fact("released", deleted, values={"invoked_ns": "min"})
"""When a delete of the ledger that did not fail was first invoked."""


BORN = operations_fact(
    "born", lambda rows: rows.where(kind=Kind.CREATE, outcome=Outcome.OK), values={"invoked_ns": "max"}
)
"""When the last create that gave a ledger this id was invoked: again, where a fault emptied the metadata."""


_OPEN = ("ledger", "error", "invoked_ns", "completed_ns")


def _not_opened(batch: Batch) -> Columns:
    opens = batch.operations.where(kind=Kind.OPEN).memo(final)
    rows = opens.filter(opens["outcome"] != Outcome.OK)
    lasted_ns = rows["completed_ns"] - rows["invoked_ns"]
    number = np.ones(rows.num_rows, dtype=np.int64)
    return {**{name: rows[name] for name in _OPEN}, "number": number, "lasted_ns": lasted_ns}


OPENED = operations_fact(
    "opened_at_the_end",
    lambda rows: rows.where(kind=Kind.OPEN).memo(final).where(outcome=Outcome.OK),
    values={"invoked_ns": "min"},
)
"""The ledgers of which a final open succeeded, and when the first such one was invoked (ns)."""
REFUSED = LedgerFact(
    "refused_at_the_end",
    "operations",
    _not_opened,
    key=("ledger", "error"),
    values={"invoked_ns": "min", "completed_ns": "max", "number": "sum", "lasted_ns": "max"},
)
"""By ledger and error: the final opens that did not succeed, and how long the longest of them lasted."""


def histories(facts: LedgerFacts) -> Histories:
    """The versions of every ledger's metadata. Ask for them by ``facts.memo(histories)``."""
    return Histories(facts.ledgers)


class Pass(NamedTuple):
    """First question and last answer of one pass of the census (ns)."""

    began_ns: int
    ended_ns: int


Passes = Mapping[int, Pass]
"""Number of the pass -> when."""
PASS_TIMES = LedgerFact(
    "pass_times",
    "census",
    lambda batch: batch.census,
    key=("ledger", "pass_number"),
    values={"asked_ns": "min", "answered_ns": "max"},
)
"""By ledger and pass of the census: its first question and its last answer (ns)."""


def passes(facts: LedgerFacts) -> Passes:
    """When each pass of the run began and ended, over all ledgers. Needs ``PASS_TIMES``."""
    columns = facts.columns(PASS_TIMES)
    number = columns["pass_number"]
    return {
        one: Pass(
            int(columns["asked_ns"][number == one].min()), int(columns["answered_ns"][number == one].max())
        )
        for one in np.unique(number).tolist()
    }
