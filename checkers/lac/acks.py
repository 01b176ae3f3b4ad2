"""Acknowledgements on the wire, compared with what clients received: ok for an add, and a LAC.

The client acknowledges an add once AQ bookies of the write set have answered EOK
(``PendingAddOp#writeComplete``), and moves the LAC then (the replication protocol, "Writing to the ledger").
Here any AQ bookies count, for ensembles change while an add is under way; recovery's adds count as normal
ones, and an unknown status counts as EOK. What counts is what was passed on, by a fault rule too, and when:
no process had a frame before its ``forwarded_ns`` (``proxy/wirelog/record.go``).

``acked_too_soon``: a writer got ok when fewer than AQ bookies can have answered it. An id that was
acknowledged twice counts as acknowledged at the later time.
``acked_by_replaced``: AQ bookies had answered, and fewer than AQ of them are in the write set by any version
that may have been in force when the writer got ok. A new fragment begins at the first entry that is not
acknowledged, so the bookie that came in has to answer too. ``acked_by_former`` is the same of adds that were
invoked more than ``SETTLED_NS`` after the last change. Left out are adds that ended once a recovery may
have begun, whose closer may change the ensemble under an acknowledgement that is on its way.
``covers_unacked``: a client received a LAC when fewer than AQ acknowledgements of an entry that it covers can
have reached any client. Left out are LACs received once a recovery may have begun (a bookie that recovers
tells itself what no link carries), ids that no client sent (``covers_unsent`` has them), and a writer's own
LAC up to the add that returned it (``acked_too_soon`` has that).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.facts.ledgers import histories, operations_fact
from checkers.facts.parts import acked, identified, received_lac
from checkers.facts.versions import Version, duties, in_force
from checkers.facts.wire import LOGGED, answers
from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts, by_ledger, value_at
from checkers.judging.found import Found, first_rows, span_rows
from checkers.sets.ordering import begins, changes
from checkers.sets.spans import Bools, Ints, Spans, ints
from evidence.codes import NEVER, Kind, Message, Outcome, Status
from protocol.metadata import LedgerState

TABLES = ("operations", "ledgers", "frames")
TOO_SOON, REPLACED, FORMER = "acked_too_soon", "acked_by_replaced", "acked_by_former"
UNACKED = "covers_unacked"
EARLY = (TOO_SOON, REPLACED, FORMER)
"""What adds are found to be; ``UNACKED`` are LACs."""
KINDS = (*EARLY, UNACKED)
SETTLED_NS = 10 * 10**9
"""An add that is invoked so long after the last change of its ledger's bookies was not in progress then."""
_REFUSALS = tuple(sorted(set(Status) - {Status.EOK, Status.NONE}))
_WHO = ("client", "seq")


class AckedEarly(NamedTuple):
    """The proof of an add that got ok without AQ answers that count: of neighbours the first."""

    client: int
    due_ns: int
    seq: int


class Covering(NamedTuple):
    """The proof of an entry that was not acknowledged: the LAC that covered it first."""

    lac: int
    due_ns: int
    client: int
    seq: int


class Ack(NamedTuple):
    """When a bookie's acknowledgement of an entry reached a client first."""

    at_ns: int
    bookie: int
    client: int


def tried(rows: Rows) -> Rows:
    """Adds with an id that may have been sent."""
    adds = rows.where(kind=Kind.ADD).memo(identified)
    return adds.filter(adds["outcome"] != Outcome.FAIL)


def _received_lacs(batch: Batch) -> list[Rows]:
    """Who received which LAC; of a writer's adds only those whose LAC lies beyond the add."""
    received = batch.operations.memo(received_lac)
    return [part.filter((part["kind"] != Kind.ADD) | (part["lac"] > part["entry"])) for part in received]


WRITERS = operations_fact("writers", lambda rows: rows.memo(tried), key=("ledger", "client"))
"""Who may have sent adds to each ledger."""
FIRST_RECEIVED = LedgerFact(
    "first_received",
    "operations",
    _received_lacs,
    key=("ledger", "lac"),
    first_by=(("completed_ns", "ascending"),),
    also=_WHO,
)
"""Who received each LAC first, and when."""
FACTS = (WRITERS, LOGGED, FIRST_RECEIVED)


def unjudged(run: RunFacts) -> list[str]:
    """Why this rule cannot be judged in the run; empty where it can."""
    lacking = [] if run.wire else ["no wire log was kept"]
    return lacking + run.shortcomings(TABLES)


def check_acks(batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
    """Adds and LACs that came too soon, and the acknowledgements of the first of each run of neighbours."""
    if not run.wire:
        return Found()
    acks = _acks(batch.frames, run)
    acked_adds = _last_acked(batch.operations.memo(acked))
    acked_by, needed = _count_acks(acked_adds, acks), _needed(facts, acked_adds)
    early = acked_adds.filter(pa.array(acked_by < needed))
    in_time = acked_adds.filter(pa.array((needed > 0) & (acked_by >= needed)))
    replaced = in_time.filter(pa.array(_by_replaced(in_time, acks, facts, run)))
    covered = _covered(batch.operations.memo(tried), facts)
    late = _count_acks(covered, _first(acks, "ledger", "entry", "bookie")) < _needed(facts, covered)
    settled = _settled(replaced, facts)
    adds = (early, replaced.filter(pa.array(~settled)), replaced.filter(pa.array(settled)))
    unacked = _spans(UNACKED, covered.filter(pa.array(late)), *Covering._fields)
    rows = pa.concat_tables([*map(_too_early_rows, EARLY, adds), unacked])
    shown = Spans.from_entries(rows["ledger"], rows["first"]).has(*_columns(acks, "ledger", "entry"))
    ack = _spans("ack", acks.filter(pa.array(shown)), *Ack._fields)
    return Found.from_tables(rows, ack, acked_in_time=in_time.num_rows)


def _too_early_rows(kind: str, adds: pa.Table) -> pa.Table:
    ledger, entry, client, *proof = _columns(adds, "ledger", "entry", *AckedEarly._fields)
    return first_rows(kind, ledger, entry, like=[client], proof=proof)


def _spans(kind: str, rows: pa.Table, *proof: str) -> pa.Table:
    return span_rows(kind, *_columns(rows, "ledger", "entry"), proof=_columns(rows, *proof))


def _columns(rows: pa.Table, *names: str) -> list[Ints]:
    return [np.asarray(rows.column(name)) for name in names]


def _acks(frames: Rows, run: RunFacts) -> pa.Table:
    """When each bookie's first acknowledgement of an entry reached a client: answers that are no refusal."""
    parts = [answers(frames, kind).memo(reached) for kind in (Message.ADD, Message.RECOVERY_ADD)]
    names = {"ledger": "ledger", "entry": "entry", "client": "source", "bookie": "bookie"}
    columns = {name: np.concatenate([part[source] for part in parts]) for name, source in names.items()}
    acks = _table(at_ns=np.concatenate([part["forwarded_ns"] for part in parts]), **columns)
    acks = acks.filter(pc.is_in(acks.column("client"), pa.array(sorted(run.clients.values()), pa.int64())))
    return _first(acks, *names)


def _first(acks: pa.Table, *keys: str) -> pa.Table:
    """The first acknowledgement of each key."""
    first = acks.group_by([*keys], use_threads=False).aggregate([("at_ns", "min")])
    return first.rename_columns([*keys, "at_ns"])


def reached(rows: Rows) -> Rows:
    """Answers that were passed on, and are no refusal."""
    return rows.filter((rows["forwarded_ns"] != NEVER) & ~np.isin(rows["delivered"], _REFUSALS))


def _last_acked(adds: Rows) -> pa.Table:
    """The acknowledged adds, the last one where a client used an id several times, sorted."""
    names = ("client", "ledger", "entry")
    order = np.lexsort((adds["seq"], adds["completed_ns"], *(adds[name] for name in reversed(names))))
    keys = [adds[name][order] for name in names]
    at = order[np.append(changes(*keys)[1:], True)] if len(order) else order
    columns = {name: adds[name][at] for name in (*names, "seq", "invoked_ns")}
    return _table(due_ns=adds["completed_ns"][at], **columns)


def _count_acks(due: pa.Table, acks: pa.Table) -> Ints:
    """For each row the number of bookies that acknowledged in time; to its client, if they name one."""
    keys = [name for name in ("ledger", "entry", "client") if name in acks.column_names]
    row, _ = _in_time(due, acks, keys)
    return np.bincount(row, minlength=due.num_rows)


def _in_time(due: pa.Table, acks: pa.Table, keys: list[str]) -> list[Ints]:
    """Each acknowledgement that came by the time of a row: the number of the row, and the bookie."""
    wanted = due.select([*keys, "due_ns"]).append_column("row", pa.array(np.arange(due.num_rows)))
    both = wanted.join(acks, keys, join_type="inner", use_threads=False)
    return _columns(both.filter(pc.less_equal(both.column("at_ns"), both.column("due_ns"))), "row", "bookie")


def _by_replaced(adds: pa.Table, acks: pa.Table, facts: LedgerFacts, run: RunFacts) -> Bools:
    """Which acknowledged adds have AQ answers, and fewer in the write set of each version then in force."""
    ledger, entry, due_ns = _columns(adds, "ledger", "entry", "due_ns")
    found = np.zeros(adds.num_rows, dtype=np.bool_)
    early = due_ns < value_at(*facts.memo(recovery_began), ledger, missing=-1)
    moved = early & np.isin(ledger, facts.memo(_moved))
    if not moved.any():
        return found
    row, bookie = _in_time(adds, acks, ["ledger", "entry", "client"])
    has = {b: np.bincount(row[bookie == b], minlength=len(ledger)) > 0 for b in np.unique(bookie).tolist()}
    places = np.flatnonzero(moved)
    places = places[np.argsort(ledger[places], kind="stable")]
    for mine in np.split(places, begins(ledger[places])[1:]):
        known, enough = np.zeros((2, len(mine)), dtype=np.bool_)
        for version, then in _at(facts.memo(histories).versions[int(ledger[mine[0]])], due_ns[mine]):
            due = duties((version,), entry[mine], run.bookies)
            number = np.zeros(len(mine), dtype=np.int64)
            for b in due.keys() & has.keys():
                number += due[b] & has[b][mine]
            known |= then
            enough |= then & (number >= version.shape[2])
        found[mine] = known & ~enough
    return found


def _settled(adds: pa.Table, facts: LedgerFacts) -> Bools:
    """Which adds were invoked long after each version that was perhaps in force at their acknowledgement."""
    versions, found = facts.memo(histories).versions, []
    for ledger, invoked_ns, due_ns in zip(*_columns(adds, "ledger", "invoked_ns", "due_ns"), strict=True):
        changed_ns = max(one.latest_ns for one in in_force(versions[int(ledger)], due_ns, due_ns))
        found.append(changed_ns + SETTLED_NS < invoked_ns)
    return np.array(found, dtype=np.bool_)


def _moved(facts: LedgerFacts) -> list[int]:
    """The ledgers whose bookies were not the same in all versions; not those whose id was given twice."""
    return [
        ledger
        for ledger, chain in facts.memo(histories).versions.items()
        if len({version.fragments for version in chain}) > 1
        and len({version.version for version in chain}) == len(chain)
    ]


def _at(chain: Sequence[Version], at_ns: Ints) -> Iterator[tuple[Version, Bools]]:
    """Each version, and at which of these times it may have been in force."""
    next_ns = NEVER
    for version in reversed(chain):
        yield version, (version.earliest_ns <= at_ns) & (at_ns <= next_ns)
        next_ns = min(next_ns, version.latest_ns)


def _covered(adds: Rows, facts: LedgerFacts) -> pa.Table:
    """The entries of adds that a LAC covers, with the LAC that was received first and when."""
    covered, reports = facts.memo(_first_received)
    at = covered.place(adds["ledger"], adds["entry"])
    there = at >= 0
    names = ("ledger", "entry", *Covering._fields)
    columns = [adds["ledger"][there], adds["entry"][there], *(column[at[there]] for column in reports)]
    return _table(**dict(zip(names, columns, strict=True)))


def _first_received(facts: LedgerFacts) -> tuple[Spans, list[Ints]]:
    """For each LAC the entries that no lower one covers, and who first received it or a higher one.

    The columns are LAC, when, client and seq. Only LACs received before any recovery began, of ledgers whose
    metadata was seen whole and all whose writers are in the wire log.
    """
    ledger, *columns = (
        facts.columns(FIRST_RECEIVED)[name] for name in ("ledger", "lac", "completed_ns", *_WHO)
    )
    writers = facts.columns(WRITERS)
    unlogged = writers["ledger"][~np.isin(writers["client"], facts.columns(LOGGED)["source"])]
    held = columns[1] < value_at(*facts.memo(recovery_began), ledger, missing=-1)
    held &= ~np.isin(ledger, unlogged)
    ledger, columns = ledger[held], [column[held] for column in columns]
    lac, at_ns, *_ = columns
    first = np.where(changes(ledger), 0, np.concatenate([[0], lac[:-1] + 1])[: len(lac)])
    order = np.lexsort((-lac, at_ns, ledger))
    rank = np.argsort(order)
    earliest = order[np.minimum.accumulate(rank[::-1])[::-1]]  # ranks of lower ledgers are lower
    return Spans(ledger, first, lac), [column[earliest] for column in columns]


def recovery_began(facts: LedgerFacts) -> tuple[Ints, Ints]:
    """The ledgers whose metadata was seen whole, and when each may first have been IN_RECOVERY (or never)."""
    metadata = facts.memo(histories)
    return by_ledger(
        {
            ledger: min([one.earliest_ns for one in chain if one.state == LedgerState.IN_RECOVERY] or [NEVER])
            for ledger, chain in metadata.versions.items()
            if metadata.seen_whole(ledger)
        }
    )


def _quorums(facts: LedgerFacts) -> tuple[Ints, Ints]:
    """The ledgers whose ack quorum is known, and it; not those whose ids may have been given twice."""
    metadata = facts.memo(histories)
    chains = (
        (ledger, chain) for ledger, chain in metadata.versions.items() if ledger not in metadata.put_back
    )
    return by_ledger({ledger: min(one.shape[2] for one in chain) for ledger, chain in chains})


def _needed(facts: LedgerFacts, rows: pa.Table) -> Ints:
    """The ack quorum of each row's ledger, 0 where it is not known."""
    [ledger] = _columns(rows, "ledger")
    return value_at(*facts.memo(_quorums), ledger, missing=0)


def _table(**columns: Ints) -> pa.Table:
    return pa.table({name: pa.array(column.astype(np.int64, copy=False)) for name, column in columns.items()})


def quorum(facts: LedgerFacts, ledger: int) -> int:
    """The ack quorum of a ledger, 0 where it is not known."""
    return int(value_at(*facts.memo(_quorums), ints(ledger), missing=0)[0])
