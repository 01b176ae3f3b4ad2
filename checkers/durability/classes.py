"""The class of a loss: whether what happened to the bookies explains it.

``forged``: the close that cut the entry off came after a denial that a rule of ours had made.
``put_back``: a fault of ours had put the ledger's metadata back in time, or removed it for a while.
``unexplained``: a life of a bookie that acknowledged it, and was to keep it to the end, never lost what it
had; or shows it still.
``explained``: every such life died by a recorded fault that may take what it had acknowledged, with a disk
that lacked it, or a fault took all of that disk, before anybody was repaired
(:mod:`checkers.durability.overlap`). Anything else is ``undetermined``.
Sources: the rules in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from checkers.contract import RunFacts
from checkers.durability.known import NOTHING, Known, why_not
from checkers.durability.known import knowledge as known_of
from checkers.durability.overlap import explained, never_lost
from checkers.facts.boots import bookie_of, life_name
from checkers.facts.disks import copied_disks
from checkers.facts.histories import Histories
from checkers.facts.holders import Forgery, Holders
from checkers.facts.losses import gathered
from checkers.facts.observations import Census
from checkers.facts.passes import Passes
from checkers.facts.rules import rule_text
from checkers.facts.wording import bookie_name, counted, entries_text, time_text
from checkers.sets.spans import Bools, Ints, Spans
from checkers.sets.stripes import Stripes
from evidence.codes import NEVER, Status
from protocol.faults import Loses

FORGED, UNEXPLAINED, EXPLAINED, UNDETERMINED = "forged", "unexplained", "explained", "undetermined"
PUT_BACK = "put_back"
CLASSES = (EXPLAINED, UNEXPLAINED, FORGED, PUT_BACK, UNDETERMINED)


def knowledge(
    holders: Holders, disks: Stripes, histories: Histories, census: Census, passes: Passes, run: RunFacts
) -> Known:
    """What is known of a run's holders, with all that lies beyond a close which followed a denial of ours."""
    known = known_of(holders, disks, histories, census, passes, run)
    if known is NOTHING:
        return known
    decisive = {ledger for ledger, _ in _decisive(holders, histories)}
    return replace(known, forged=Spans.beyond({ledger: histories.ends[ledger] for ledger in decisive}))


def undetermined_because(run: RunFacts) -> str:
    """Why losses of a run have no class."""
    because = why_not(run)
    if because:
        return f"{because}, so nobody can say which lives of which bookies had the entry"
    kept = "no life that acknowledged the entry provably kept it"
    if not copied_disks(run):
        return f"{kept}, and what disks held was not recorded"
    return f"{kept}, and it is not proven that all of them lost it by recorded faults before a repair"


def classified(lost: Spans, known: Known, histories: Histories) -> dict[str, Spans]:
    """The lost entries by class."""
    put_back = lost - lost.without(set(histories.put_back))
    forged = (lost - put_back) & known.forged
    rest = lost - put_back - forged
    parts: dict[str, list[tuple[int, Ints]]] = {name: [] for name in CLASSES}
    for ledger in rest.ledgers():
        entries = rest.of(ledger).entries()
        for name, mask in _proven(ledger, entries, known).items():
            parts[name].append((ledger, entries[mask]))
    found = {name: gathered(part) for name, part in parts.items()}
    found[FORGED] = forged
    found[PUT_BACK] = put_back
    found[UNDETERMINED] = rest - found[UNEXPLAINED] - found[EXPLAINED]
    return found


def _proven(ledger: int, entries: Ints, known: Known) -> dict[str, Bools]:
    """Masks of the entries that are proven to be of a class."""
    kept = never_lost(ledger, entries, known)
    return {UNEXPLAINED: kept, EXPLAINED: explained(ledger, entries, known) & ~kept}


def holder_proof(span: tuple[int, int, int], known: Known, run: RunFacts) -> Iterator[str]:
    """Sentences on who had acknowledged the entries of a (ledger, first, last), and what became of them."""
    ledger, first, last = span
    entries = np.arange(first, last + 1)
    having = dict(known.held.having(ledger, entries))
    for number in sorted({int(had.sum()) for had in having.values()}, reverse=True):
        names = [life_name(run, life) for life, had in having.items() if had.sum() == number]
        what = entries_text(first, last)
        part = what if number == len(entries) else f"{number:,} of {what}"
        yield f"{_all(names)} had acknowledged {part} (on the wire)"
    for life, had in having.items():
        yield from _afterwards(life, ledger, entries, had, known, run)


def _afterwards(
    life: int, ledger: int, entries: Ints, had: Bools, known: Known, run: RunFacts
) -> Iterator[str]:
    """What became of what a life had; that it lived on is news only of what is not there any more."""
    shown = had & known.copies_of(life, ledger, entries)
    boot = known.boots.get(life)
    if shown.any():
        found = counted(int(shown.sum()), "copy", "copies")
        yield f"the last census pass found {found} on {bookie_name(run, bookie_of(life))}"
    if np.array_equal(shown, had):
        return
    lasting = boot is not None and boot.unclean and boot.least_loss not in (None, Loses.MEMORY)
    if life in known.steady and not lasting:
        yield f"{life_name(run, life)} did not end uncleanly before that census"
    elif boot is not None and boot.ended_ns != NEVER:
        journaled = ", which takes no journaled add" if life in known.steady else ""
        disk = _disk(life, ledger, entries[had], known)
        wiped_ns = known.emptied.get(life)
        wiped = "" if wiped_ns is None else f"; a fault took all of its disk at {time_text(run, wiped_ns)}"
        ended = f"{boot.how} at {time_text(run, boot.ended_ns)}{journaled}"
        yield f"{life_name(run, boot.life)} {ended}{disk}{wiped}"


def _disk(life: int, ledger: int, entries: Ints, known: Known) -> str:
    """What the disk held, when its life ended uncleanly, of entries that this life had."""
    copied = known.copied.get(life)
    if copied is None:
        return ""
    if copied.why_not:
        return f"; what its disk held is not known: {copied.why_not}"
    held = int(dict(known.disks.having(ledger, entries)).get(life, np.zeros(1)).sum())
    if held == len(entries):
        return "; its disk held what it had acknowledged"
    return f"; its disk held {held:,} of the {len(entries):,}" if held else "; its disk held none of that"


def _all(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _decisive(holders: Holders, histories: Histories) -> Iterator[tuple[int, Forgery]]:
    """(ledger, forged denial) of the entries right behind ledgers' ends, passed on before the close."""
    for (ledger, entry), forgeries in sorted(holders.forgeries.items()):
        close = histories.closes.get(ledger)
        if close is not None and close.last_entry + 1 == entry:
            early = [forgery for forgery in forgeries if forgery.delivered_ns < close.latest_ns]
            yield from ((ledger, forgery) for forgery in sorted(early))


def forgery_proof(ledger: int, holders: Holders, histories: Histories, run: RunFacts) -> Iterator[str]:
    """Sentences on the denials of ours that the close of a ledger followed."""
    for of, forgery in _decisive(holders, histories):
        if of == ledger:
            entry = histories.ends[ledger] + 1
            yield (
                f"{rule_text(run, forgery.source, forgery.bookie, forgery.rule)} answered "
                f"{Status(forgery.status).name} in the name of {bookie_name(run, forgery.bookie)} to the "
                f"recovery read of entry {entry}, passed on at {time_text(run, forgery.delivered_ns)}"
            )
