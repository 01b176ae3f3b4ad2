"""Recoveries that did not end: stuck, stalled as promised, or not to be judged.

Source: *Closing Ledgers Safely* ("Quorum Coverage"): fencing and each recovery read are decided as long
as fewer than AQ bookies of a write set are unknown, and a bookie that kept its state and runs is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from checkers.contract import LedgerFacts, RunFacts
from checkers.facts.boots import Health
from checkers.facts.histories import Histories
from checkers.facts.ledgers import REFUSED
from checkers.facts.versions import Version
from checkers.facts.wording import counted, listed
from evidence.codes import NEVER, ErrorCode
from evidence.collect.logs import KEY_REFUSED
from evidence.findings import Finding
from protocol.addresses import name_of_id

NO_ANSWERS = (0, -8, -9, -15, -17, -18, -19, -23, -999)
"""Errors of an open that speak of time, connections or the metadata store, not of the bookies' answers."""


class Refusals(NamedTuple):
    """The final opens of one ledger that did not succeed, from the first invocation to the last end (ns)."""

    began_ns: int
    ended_ns: int
    number: int
    errors: frozenset[int]


def refusals_of(facts: LedgerFacts, ledger: int) -> Refusals:
    """Those of one ledger, which has some."""
    _, errors, began_ns, ended_ns, numbers = zip(*facts.of(REFUSED, ledger), strict=True)
    return Refusals(min(began_ns), max(ended_ns), sum(numbers), frozenset(errors))


@dataclass(frozen=True, slots=True)
class Refused:
    """What is to be said of one ledger; ``finding`` when it is stuck, else why it is not."""

    text: str
    stalled: bool = False
    finding: Finding | None = None


def refused(ledger: int, refusals: Refusals, histories: Histories, run: RunFacts) -> Refused | None:
    """Judge a ledger that no final open could recover; None when there is no ledger any more."""
    if ledger in histories.gone or ErrorCode.NO_SUCH_LEDGER_ON_METADATA in refusals.errors:
        return None
    name = run.ledger_text(ledger)
    health = Health(run, refusals.began_ns, refusals.ended_ns)
    version = histories.of.get(ledger, (None,))[-1]
    doubt = _doubt(refusals, version, health)
    if ledger in histories.put_back:
        doubt = "a fault of the run put its metadata back"
    if doubt or version is None:
        return Refused(f"{name}: could not be opened at the end {_errors(refusals)}: {doubt}")
    lossy = health.lossy()
    worst = max(_write_sets(version, run), key=lambda bookies: len(lossy.keys() & set(bookies)))
    lost = [lossy[bookie] for bookie in worst if bookie in lossy]
    duty = f"write set {listed(run.bookie_name(bookie) for bookie in worst)}, AQ {version.shape[2]}"
    if len(lost) >= version.shape[2]:
        text = f"{name}: stalled as promised {_errors(refusals)}: {'; '.join(lost)} ({duty})"
        return Refused(text, stalled=True)
    keyless = [
        bookie
        for bookie in sorted(set().union(*_write_sets(version, run)))
        if (ledger, bookie, _boot_number(health, bookie)) in run.once(_keys_refused)
    ]
    return Refused("", finding=_stuck(ledger, refusals, version, (lost, duty, keyless), run))


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
    unknown = [one for one in ensemble if name_of_id(one) not in health.run.bookies]
    if unknown or len(ensemble) != version.shape[0]:
        return f"its last ensemble is {listed(ensemble) or 'empty'}"
    return "; ".join(health.ailing())


def _write_sets(version: Version, run: RunFacts) -> Iterator[list[int]]:
    """The write sets that recovery asks: those of the last ensemble."""
    bookies = [run.bookies[name_of_id(one)] for one in version.fragments[-1][1]]
    return ([bookies[at] for at in positions] for positions in version.metadata().quorums.write_sets())


def _boot_number(health: Health, bookie: int) -> int:
    boot = health.boot(bookie)
    return boot.number if boot else 0


def _keys_refused(run: RunFacts) -> frozenset[tuple[int, int, int]]:
    """Ledger, bookie and boot wherever a bookie reported that it keeps another key than the ledger's."""
    told = (event for event in run.events(KEY_REFUSED) if event.server in run.bookies)
    return frozenset((event.ledger, run.bookies[event.server], event.boot) for event in told)


def _errors(refusals: Refusals) -> str:
    return f"({counted(refusals.number, 'attempt')}, error {listed(map(str, sorted(refusals.errors)))})"


def _stuck(
    ledger: int,
    refusals: Refusals,
    version: Version,
    why: tuple[Collection[str], str, Collection[int]],
    run: RunFacts,
) -> Finding:
    lost, duty, keyless = why
    names = listed(run.bookie_name(bookie) for bookie in keyless)
    state = version.metadata().state.name
    return run.finding(
        "availability/key_lost" if keyless else "availability/stuck",
        (ledger,),
        "recovery is stuck with every bookie up and no fault in force",
        f"metadata version {version.version}: {state}",
        f"opens with recovery between {run.time_text(refusals.began_ns)} and "
        f"{run.time_text(refusals.ended_ns)} were refused {_errors(refusals)}",
        f"every bookie was up all the while; of {duty}, "
        f"{'none had lost state' if not lost else 'only these had lost state: ' + '; '.join(lost)}",
        *([f"{names} refused the ledger's key, by its log"] if keyless else []),
    )
