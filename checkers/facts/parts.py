"""The parts of ``operations`` that several properties judge by, and which entries those are.

Ask for them by ``rows.memo``: then each is worked out once for all checkers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from checkers.judging.contract import Rows
from checkers.sets.marks import Marks
from checkers.sets.spans import Bools, Spans
from evidence.codes import Flag, Kind, Outcome, Proof

TELLING = (Kind.ADD, Kind.OPEN, Kind.READ, Kind.LAC, Kind.FORCE)
"""Kinds whose ``lac`` is a LAC that the client received (for WATCHED the column has another meaning)."""


def flagged(rows: Rows, flag: Flag) -> Bools:
    """Which rows have any of these flags."""
    found: Bools = (rows["flags"] & int(flag)) != 0
    return found


def identified(rows: Rows) -> Rows:
    """The rows with an entry id."""
    return rows.filter(rows["entry"] >= 0)


def acked(rows: Rows) -> Rows:
    """Acknowledged adds with an entry id."""
    return rows.where(kind=Kind.ADD, outcome=Outcome.OK).memo(identified)


def delivered(rows: Rows) -> Rows:
    """Entries that reads returned."""
    return rows.where(kind=Kind.ENTRY, outcome=Outcome.OK).memo(identified)


def proven(rows: Rows) -> Rows:
    """The rows whose payload proves itself."""
    return rows.where(proof=Proof.PROVES_ITSELF)


def final(rows: Rows) -> Rows:
    """The rows of final reads and opens."""
    return rows.filter(flagged(rows, Flag.FINAL))


def of_plan(rows: Rows) -> Rows:
    """The rows of the plan's own reads and opens, not of the final ones."""
    return rows.filter(~flagged(rows, Flag.FINAL))


def deleted(rows: Rows) -> Rows:
    """Deletes that may have been sent."""
    deletes = rows.where(kind=Kind.DELETE)
    return deletes.filter(deletes["outcome"] != Outcome.FAIL)


def recovered(rows: Rows) -> Rows:
    """Opens with recovery that ended ok."""
    opens = rows.where(kind=Kind.OPEN, outcome=Outcome.OK)
    return opens.filter(flagged(opens, Flag.RECOVERY))


def entries_of(rows: Rows) -> Spans:
    """The entries that the rows name."""
    return Spans.from_entries(rows["ledger"], rows["entry"])


def written(rows: Rows) -> Marks:
    """The entries that the rows name, marked by the client whose operation it was."""
    return Marks.from_rows(rows["ledger"], rows["entry"], rows["client"], rows["size_bytes"])


def signed(rows: Rows) -> Marks:
    """The entries that the rows name, marked by the writer that the payload names."""
    return Marks.from_rows(rows["ledger"], rows["entry"], rows["origin"], rows["size_bytes"])


def received_lac(rows: Rows) -> tuple[Rows, ...]:
    """The rows in which a client received a LAC, kind by kind."""
    parts = [rows.where(kind=kind, outcome=Outcome.OK) for kind in TELLING]
    received = (
        part.memo(_answers if kind == Kind.LAC else _with_lac)
        for kind, part in zip(TELLING, parts, strict=True)
    )
    return tuple(part for part in received if part.num_rows)


def _with_lac(rows: Rows) -> Rows:
    return rows.filter(rows["lac"] >= 0)


def _answers(rows: Rows) -> Rows:
    """LAC reads with their LAC: the answer that the caller got, where the handle's LAC stayed below it.

    The client raises its handle to the answer first (``LedgerHandle#asyncReadExplicitLastConfirmed``).
    """
    if (rows["result"] <= rows["lac"]).all():
        return _with_lac(rows)
    columns = {name: rows[name] for name in rows} | {"lac": np.maximum(rows["lac"], rows["result"])}
    return _with_lac(Rows.from_table(pa.table(columns)))
