"""Forces on the wire, compared with what their writer received.

A force is ok once the bookies have confirmed that they have synced the ledger (``ForceLedgerOp``: all of the
ensemble), and the LAC moves then. What a client may rely on is AQ copies (the replication protocol,
"Guarantees"), so here any AQ bookies count, and an unknown status counts as EOK. A confirmation counts if it
was passed on to the writer between the invocation of the force and its end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from checkers.facts.parts import identified
from checkers.facts.wire import LOGGED, answers
from checkers.facts.wording import operation_text
from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.lac.acks import quorum, reached
from evidence.codes import Kind, Message, Outcome
from evidence.findings import Finding
from protocol.wording import counted

FORCED_TOO_SOON = "forced_too_soon"


def _forces(batch: Batch) -> Rows:
    return batch.operations.where(kind=Kind.FORCE, outcome=Outcome.OK).memo(identified)


FORCES = LedgerFact(
    "forces",
    "operations",
    _forces,
    key=("ledger", "client", "seq"),
    values={"entry": "max", "invoked_ns": "min", "completed_ns": "max"},
)
"""The forces that ended ok after an add had been acknowledged, and from when to when they lasted (ns)."""
CONFIRMED = LedgerFact(
    "force_confirmed",
    "frames",
    lambda batch: answers(batch.frames, Message.FORCE).memo(reached),
    key=("ledger", "source", "bookie", "forwarded_ns"),
)
"""When a bookie's confirmation of a force was passed on to each client."""


def forced_too_soon(facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """Forces that ended ok when fewer than AQ bookies can have confirmed them; of clients in the wire log."""
    logged = set(facts.columns(LOGGED)["source"].tolist())
    for (ledger, client), forces in groupby(facts.rows(FORCES), key=itemgetter(0, 1)):
        passed = sorted((at, bookie) for _, _, bookie, at in facts.rows(CONFIRMED, ledger, client))
        needed, who = quorum(facts, ledger), run.client_name(client)
        for *_, seq, entry, invoked_ns, completed_ns in forces if client in logged else ():
            begin, end = (bisect_left(passed, (at,)) for at in (invoked_ns, completed_ns + 1))
            if len({bookie for _, bookie in passed[begin:end]}) >= needed:
                continue
            yield run.finding(
                f"lac/{FORCED_TOO_SOON}",
                (ledger, entry, entry),
                f"{who} got ok for a force before {counted(needed, 'bookie')} had confirmed it",
                f"metadata: the ack quorum is {needed}",
                f"{who} got ok at {run.time_text(completed_ns)} for a force after entry {entry} "
                f"({operation_text(seq)})",
                *(
                    f"{run.bookie_name(bookie)}'s confirmation was passed on to it at {run.time_text(at)}"
                    f"{', too late' if at > completed_ns else ''}"
                    for at, bookie in passed[begin:]
                ),
            )
