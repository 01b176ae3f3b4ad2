"""What ``lac`` says of acknowledgements that came too soon, or from replaced bookies (:mod:`.acks`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from checkers.facts.ledgers import histories
from checkers.facts.versions import duties, in_force
from checkers.facts.wire import LOGGED
from checkers.facts.wording import entries_text, operation_text
from checkers.judging.contract import LedgerFacts, RunFacts
from checkers.judging.found import Found, Row, capped_rows
from checkers.lac.acks import EARLY, KINDS, TOO_SOON, UNACKED, Ack, AckedEarly, Covering, quorum, unjudged
from checkers.sets.spans import ints
from evidence.findings import Finding
from protocol.wording import counted


def ack_rows(found: Found, facts: LedgerFacts, run: RunFacts) -> tuple[dict[str, list[Row]], list[int]]:
    """The rows of each kind, whose proofs are :class:`AckedEarly` or :class:`Covering`, and some writers.

    No rows where the rule cannot be judged, and none too soon of these writers: their links are not in the
    wire log.
    """
    if unjudged(run):
        return {kind: [] for kind in KINDS}, []
    logged = set(facts.columns(LOGGED)["source"].tolist())
    rows = {kind: sorted(found.firsts(kind, 1), key=lambda row: (row.proof[0], row)) for kind in EARLY}
    unlogged = {AckedEarly(*row.proof).client for row in rows[TOO_SOON]} - logged
    rows[TOO_SOON] = [row for row in rows[TOO_SOON] if AckedEarly(*row.proof).client in logged]
    return {**rows, UNACKED: found.runs(UNACKED)}, sorted(unlogged)


def ack_findings(
    rows: Mapping[str, list[Row]], found: Found, facts: LedgerFacts, run: RunFacts
) -> Iterator[Finding]:
    """The proof is of the first entry of each row."""
    acks = {where: [Ack(*one) for one in proofs] for where, proofs in found.by_entry("ack").items()}
    for kind, those in rows.items():
        state = _not_acked if kind == UNACKED else partial(_acked_early, kind)
        yield from (state(row, acks.get(row[:2], []), facts, run) for row in capped_rows(those))


def _acked_early(kind: str, row: Row, acks: list[Ack], facts: LedgerFacts, run: RunFacts) -> Finding:
    client, due_ns, seq = AckedEarly(*row.proof)
    who, number = run.client_name(client), quorum(facts, row.ledger)
    them, chain = "it" if row.first == row.last else "them", facts.memo(histories).versions[row.ledger]
    how = f"before {counted(number, 'bookie')} had acknowledged {them}"
    if kind != TOO_SOON:
        how = "by answers of bookies that had been replaced"
    return run.finding(
        f"lac/{kind}",
        row,
        f"{who} got ok for {entries_text(row.first, row.last)} {how}",
        f"metadata: the ack quorum is {number}",
        *(
            f"metadata version {version.version}, then in force: entry {row.first} belongs to "
            f"{', '.join(map(run.bookie_name, sorted(duties((version,), ints([row.first]), run.bookies))))}"
            for version in (in_force(chain, due_ns, due_ns) if kind != TOO_SOON else ())
        ),
        f"{who} got ok for entry {row.first} at {run.time_text(due_ns)} ({operation_text(seq)})",
        *_answers([ack for ack in acks if ack.client == client], due_ns, run),
    )


def _answers(acks: list[Ack], due_ns: int, run: RunFacts) -> Iterator[str]:
    """When bookies' acknowledgements were passed on to the writer, by time."""
    if not acks:
        yield "no bookie's acknowledgement was ever passed on to it"
    elif min(acks).at_ns > due_ns:
        yield "until then no acknowledgement had been passed on to it"
    for at_ns, bookie, _ in sorted(acks):
        when, late = ("not before", ", too late") if at_ns > due_ns else ("at", "")
        yield (
            f"{run.bookie_name(bookie)}'s acknowledgement was passed on to it {when} "
            f"{run.time_text(at_ns)}{late}"
        )


def _not_acked(row: Row, acks: list[Ack], facts: LedgerFacts, run: RunFacts) -> Finding:
    lac, due_ns, client, seq = Covering(*row.proof)
    what, number = f"{run.client_name(client)} received LAC {lac}", quorum(facts, row.ledger)
    return run.finding(
        f"lac/{UNACKED}",
        row,
        f"{what} before {counted(number, 'bookie')} had acknowledged {entries_text(row.first, row.last)}",
        f"metadata: the ack quorum is {number}",
        f"{what} by {run.time_text(due_ns)} ({operation_text(seq)})",
        *_acknowledged(row.first, acks, due_ns, run),
    )


def _acknowledged(entry: int, acks: list[Ack], due_ns: int, run: RunFacts) -> Iterator[str]:
    """When bookies' acknowledgements of an entry were first passed on to a client, by time."""
    first = {bookie: at_ns for at_ns, bookie, _ in sorted(acks, reverse=True)}
    for at_ns, bookie in sorted((at_ns, bookie) for bookie, at_ns in first.items()):
        late = ", too late" if at_ns > due_ns else ""
        yield (
            f"{run.bookie_name(bookie)}'s acknowledgement of entry {entry} was passed on not "
            f"before {run.time_text(at_ns)}{late}"
        )
    if not first:
        yield f"no bookie's acknowledgement of entry {entry} was ever passed on"
