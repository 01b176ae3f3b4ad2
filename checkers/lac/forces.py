"""Forces on the wire, compared with what their writer received.

A force is ok once the bookies have confirmed that they have synced the ledger (``ForceLedgerOp``: all of the
client's ensemble), and the LAC moves then. What a client may rely on is AQ copies of each entry (the
replication protocol, "Guarantees"), so here AQ bookies of every write set are enough, by the last ensemble of
any version of the metadata; where not every version was seen, any AQ bookies. An unknown status counts as
EOK. A confirmation counts if it was passed on to the writer between the invocation of the force and its end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from checkers.facts.ledgers import histories
from checkers.facts.parts import identified
from checkers.facts.versions import Version, duties
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


def _is_confirmed(by: Collection[int], ledger: int, facts: LedgerFacts, run: RunFacts) -> bool:
    """Whether these bookies may be enough: by some version, AQ of them in every write set."""
    metadata = facts.memo(histories)
    if not metadata.seen_whole(ledger):
        return len(by) >= quorum(facts, ledger)
    return any(_has_quorums(by, version, run) for version in metadata.versions[ledger])


def _has_quorums(by: Collection[int], version: Version, run: RunFacts) -> bool:
    """Whether every write set of the last ensemble has AQ of these bookies."""
    ensemble, _, ack = version.shape
    first = max((entry for entry, _ in version.fragments), default=0)
    due = duties((version,), np.arange(first, first + ensemble), run.bookies)
    confirmed = np.zeros(ensemble, dtype=np.int64)
    for bookie in by:
        confirmed += due.get(bookie, False)
    return bool((confirmed >= ack).all())


def forced_too_soon(facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """Forces that ended ok when too few bookies can have confirmed them; of clients in the wire log."""
    logged = set(facts.columns(LOGGED)["source"].tolist())
    for (ledger, client), forces in groupby(facts.rows(FORCES), key=itemgetter(0, 1)):
        passed = sorted((at, bookie) for _, _, bookie, at in facts.rows(CONFIRMED, ledger, client))
        needed, who = quorum(facts, ledger), run.client_name(client)
        for *_, seq, entry, invoked_ns, completed_ns in forces if client in logged else ():
            begin, end = (bisect_left(passed, (at,)) for at in (invoked_ns, completed_ns + 1))
            if _is_confirmed({bookie for _, bookie in passed[begin:end]}, ledger, facts, run):
                continue
            yield run.finding(
                f"lac/{FORCED_TOO_SOON}",
                (ledger, entry, entry),
                f"{who} got ok for a force before {counted(needed, 'bookie')} of each write set "
                "had confirmed it",
                f"metadata: the ack quorum is {needed}",
                f"{who} got ok at {run.time_text(completed_ns)} for a force after entry {entry} "
                f"({operation_text(seq)})",
                *(
                    f"{run.bookie_name(bookie)}'s confirmation was passed on to it at {run.time_text(at)}"
                    f"{', too late' if at > completed_ns else ''}"
                    for at, bookie in passed[begin:]
                ),
            )
