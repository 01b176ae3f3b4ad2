"""Recoveries that did not end: stuck, stalled as promised, or not to be judged.

Source: *Closing Ledgers Safely* ("Quorum Coverage"): fencing and each recovery read are decided as long
as fewer than AQ bookies of a write set are unknown, and a bookie that kept its state and runs is not.
"""

from __future__ import annotations

from typing import NamedTuple

from checkers.contract import LedgerFacts, RunFacts
from checkers.facts.boots import Health, life_of
from checkers.facts.ledgers import REFUSED, histories
from checkers.facts.versions import Version
from checkers.facts.wording import counted, listed
from evidence.codes import NEVER, ErrorCode
from evidence.collect.logs import KEY_REFUSED
from evidence.findings import Finding

NO_ANSWERS = (0, -8, -9, -15, -17, -18, -19, -23, -999)
"""Errors of an open that speak of time, connections or the metadata store, not of the bookies' answers."""


class Refusals(NamedTuple):
    """The final opens of one ledger that did not succeed, from the first invocation to the last end (ns)."""

    began_ns: int
    ended_ns: int
    number: int
    errors: frozenset[int]

    def __str__(self) -> str:
        errors = listed(map(str, sorted(self.errors)))
        return f"({counted(self.number, 'attempt')}, error {errors})"


class Refused(NamedTuple):
    """What is to be said of one ledger; ``finding`` when it is stuck, else why it is not."""

    text: str
    stalled: bool = False
    finding: Finding | None = None


def refused(ledger: int, facts: LedgerFacts, run: RunFacts) -> Refused | None:
    """Judge a ledger that no final open could recover; None when there is no ledger any more."""
    metadata, name = facts.once(histories), run.ledger_text(ledger)
    _, errors, began_ns, ended_ns, numbers = zip(*facts.of(REFUSED, ledger), strict=True)
    refusals = Refusals(min(began_ns), max(ended_ns), sum(numbers), frozenset(errors))
    if ledger in metadata.gone or ErrorCode.NO_SUCH_LEDGER_ON_METADATA in refusals.errors:
        return None
    health = Health(run, refusals.began_ns, refusals.ended_ns)
    version = metadata.of.get(ledger, (None,))[-1]
    doubt = _doubt(refusals, version, health)
    if ledger in metadata.put_back:
        doubt = "a fault of the run put its metadata back"
    if doubt or version is None:
        return Refused(f"{name}: could not be opened at the end {refusals}: {doubt}")
    lossy, ack = health.lossy(), version.shape[2]
    ensemble = [run.bookies[name] for name in version.last_ensemble]
    write_sets = [[ensemble[at] for at in places] for places in version.metadata().quorums.write_sets()]
    worst = max(write_sets, key=lambda bookies: len(lossy.keys() & set(bookies)))
    lost = "; ".join(lossy[bookie] for bookie in worst if bookie in lossy)
    duty = f"write set {listed(map(run.bookie_name, worst))}, AQ {ack}"
    if sum(bookie in lossy for bookie in worst) >= ack:
        return Refused(f"{name}: stalled as promised {refusals}: {lost} ({duty})", stalled=True)
    keyless = [
        run.bookie_name(bookie)
        for bookie in sorted(set(ensemble))
        if (boot := health.boot(bookie)) and (ledger, boot.life) in run.once(_keys_refused)
    ]
    stuck = run.finding(
        "availability/key_lost" if keyless else "availability/stuck",
        (ledger,),
        "recovery is stuck with every bookie up and no fault in force",
        f"metadata version {version.version}: {version.metadata().state.name}",
        f"opens with recovery between {run.time_text(refusals.began_ns)} and "
        f"{run.time_text(refusals.ended_ns)} were refused {refusals}",
        f"every bookie was up all the while; of {duty}, "
        f"{f'only these had lost state: {lost}' if lost else 'none had lost state'}",
        *([f"{listed(keyless)} refused the ledger's key, by its log"] if keyless else []),
    )
    return Refused("", finding=stuck)


def _doubt(refusals: Refusals, version: Version | None, health: Health) -> str:
    """Why it is unknown whether progress was promised; empty when it is known."""
    if version is None:
        return "its metadata was not seen"
    if version.closed:
        return "it is CLOSED, which takes no recovery"
    if refusals.ended_ns == NEVER:
        return "an open had no outcome"
    if refusals.errors <= set(NO_ANSWERS):
        return "that error does not speak of what bookies answered"
    try:
        version.metadata()
    except ValueError as error:
        return str(error)
    ensemble = version.fragments[-1][1] if version.fragments else ()
    if set(version.last_ensemble) - health.run.bookies.keys() or len(ensemble) != version.shape[0]:
        return f"its last ensemble is {listed(ensemble) or 'empty'}"
    return "; ".join(health.ailing())


def _keys_refused(run: RunFacts) -> frozenset[tuple[int, int]]:
    """Ledger and life wherever a bookie reported that it keeps another key than the ledger's."""
    told = (event for event in run.events(KEY_REFUSED) if event.server in run.bookies)
    return frozenset((event.ledger, life_of(run.bookies[event.server], event.boot)) for event in told)
