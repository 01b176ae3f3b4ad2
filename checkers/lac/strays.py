"""``acked_outside``: a bookie acknowledged an add that no version of the metadata gives to it.

A client sends an add to the write set of its entry, by the ensemble of the entry's fragment, and it writes a
new ensemble to the metadata before it sends an add there (the replication protocol, "Writing to the ledger"
and "Ensemble changes"). No reader asks for a copy elsewhere, so it must not count. Recovery's
adds are left out: recovery keeps a new ensemble to itself until it closes the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.contract import Batch, LedgerFacts, Rows, RunFacts
from checkers.facts.histories import Histories
from checkers.facts.ledgers import histories
from checkers.facts.versions import Version, duties
from checkers.facts.wire import proven_answers_about_entries
from checkers.facts.wording import entries_text, listed
from checkers.found import Found, Row, first_rows, kept
from checkers.sets.spans import Bools, Ints
from evidence.codes import Message, Status
from evidence.findings import Finding
from protocol.addresses import name_of_id

OUTSIDE = "acked_outside"


def check_strays(batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
    """Normal adds that bookies outside the write set acknowledged; the proof: when, the frame, and whose."""
    took = proven_answers_about_entries(batch.frames, Message.ADD).of(status=Status.EOK)
    took = took.where(np.isin(took["source"], sorted(run.clients.values())))
    stray = took.where(~_given(took, facts.once(histories), run))
    proof = [stray[name] for name in ("received_ns", "seq", "source")]
    return Found.of(first_rows(OUTSIDE, stray["ledger"], stray["entry"], like=[stray["bookie"]], proof=proof))


def _given(took: Rows, metadata: Histories, run: RunFacts) -> Bools:
    """Which rows some version gives to their bookie; all of a ledger whose versions were not all seen."""
    given = np.ones(took.number, dtype=np.bool_)
    for ledgers, chain in _alike(metadata, np.unique(took["ledger"])):
        mine = np.flatnonzero(np.isin(took["ledger"], ledgers))
        entry, bookie = took["entry"][mine], took["bookie"][mine]
        given[mine] = False
        for number, duty in duties(chain, entry, run.bookies).items():
            given[mine] |= duty & (bookie == number)
    return given


def _alike(metadata: Histories, ledgers: Ints) -> Iterator[tuple[list[int], tuple[Version, ...]]]:
    """Ledgers seen whole and not deleted, those with the same ensembles together, and the versions of one."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for ledger in ledgers.tolist():
        if metadata.seen_whole(ledger) and ledger not in metadata.deleted:
            places = {(version.shape, version.fragments) for version in metadata.of[ledger]}
            groups.setdefault(tuple(sorted(places)), []).append(ledger)
    for alike in groups.values():
        yield alike, metadata.of[alike[0]]


def stray_findings(rows: list[Row], facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """The anomalies that are shown, with the fragments of the last version."""
    for row in kept(rows):
        bookie, received_ns, seq, source = row.proof
        name, version = run.bookie_name(bookie), facts.once(histories).of[row.ledger][-1]
        yield run.finding(
            f"lac/{OUTSIDE}",
            row,
            f"{name} acknowledged {entries_text(row.first, row.last)}, which "
            "no version of the metadata gives to it",
            f"{name} answered EOK to the add of entry {row.first} by {run.client_name(source)} at "
            f"{run.time_text(received_ns)} (frame {seq})",
            *(
                f"metadata version {version.version}: from entry {first} on {listed(map(name_of_id, names))}"
                for first, names in version.fragments
            ),
        )
