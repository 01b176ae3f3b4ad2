"""The class of a loss: whether what happened to the bookies explains it.

``forged``: the close that cut the entry off came after a denial that a rule of ours had made.
``unexplained``: a life of a bookie that acknowledged it never lost what it had, or shows it still.
``explained``: every such life died by a recorded fault with a disk that lacked it; that takes what
the disks held then. Anything else is ``undetermined``. Sources: the rules in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from checkers.boots import Boot, bookie_of, boots_of, disturbed, life_name
from checkers.contract import RunFacts
from checkers.damage import damage_to
from checkers.holders import Forgery, Holders
from checkers.losses import gathered
from checkers.observations import Census
from checkers.passes import Passes
from checkers.rules import rule_text
from checkers.spans import Bools, Ints, Spans
from checkers.stripes import Stripes
from checkers.versions import Histories
from checkers.wording import bookie_name, counted, entries_text
from evidence.codes import NEVER, Status

FORGED, UNEXPLAINED, EXPLAINED, UNDETERMINED = "forged", "unexplained", "explained", "undetermined"
CLASSES = (EXPLAINED, UNEXPLAINED, FORGED, UNDETERMINED)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of those who had entries.

    ``boots`` are the lives by their number; ``steady`` those that never lost what they had; ``copies``
    (bookie -> entries) what the last census pass showed. ``disks``, where it was recorded: for each
    life that a recorded fault ended uncleanly, what its disk held then, given that no repair was
    completed between the ends of the lives named. ``forged`` is all that lies beyond a close which
    followed a denial of ours.
    """

    held: Stripes
    doubtful: Stripes
    boots: Mapping[int, Boot]
    steady: frozenset[int]
    copies: Mapping[int, Spans]
    disks: Mapping[int, Spans] | None = None
    forged: Spans = field(default_factory=Spans.empty)


NOTHING = Known(Stripes.empty(), Stripes.empty(), {}, frozenset(), {})


def knowledge(holders: Holders, histories: Histories, census: Census, passes: Passes, run: RunFacts) -> Known:
    """What a run's whole wire log and its bookies' boots tell; ``NOTHING`` without either."""
    if why_not(run):
        return NOTHING
    judging = passes.get(census.last_pass)
    until_ns = judging.ended_ns if judging else NEVER  # who died later had lost nothing by then
    boots = {boot.life: boot for mine in boots_of(run).values() for boot in mine}
    spoiled = disturbed(run)
    steady = frozenset(
        life
        for life, boot in boots.items()
        if boot.bookie not in spoiled and not (boot.unclean and boot.dying_ns <= until_ns)
    )
    forged = Spans.beyond({ledger: histories.ends[ledger] for ledger, _ in _decisive(holders, histories)})
    return Known(holders.held, holders.doubtful, boots, steady, _copies(census), forged=forged)


def _copies(census: Census) -> dict[int, Spans]:
    """What the bookies showed in the last pass."""
    last = census.last_pass
    return {bookie: marks.spans() for (number, bookie), marks in census.present.items() if number == last}


def why_not(run: RunFacts) -> str | None:
    """Why nobody can say who had an entry, or None."""
    if not run.wire:
        return "no wire log was kept"
    if damage_to(run, ("frames",)):
        return "the wire log is damaged"
    if not run.complete or damage_to(run, ("servers", "faults")):
        return "the boots of the bookies were not recorded whole"
    return None


def undetermined_because(run: RunFacts) -> str:
    """Why losses of a run have no class."""
    because = why_not(run)
    if because:
        return f"{because}, so nobody can say which lives of which bookies had the entry"
    return "no life that acknowledged the entry provably kept it, and what disks held was not recorded"


def classified(lost: Spans, known: Known) -> dict[str, Spans]:
    """The lost entries by class."""
    forged = lost & known.forged
    rest = lost - forged
    parts: dict[str, list[tuple[int, Ints]]] = {name: [] for name in CLASSES}
    for ledger in rest.ledgers():
        entries = rest.of(ledger).entries()
        for name, mask in _proven(ledger, entries, known).items():
            parts[name].append((ledger, entries[mask]))
    found = {name: gathered(part) for name, part in parts.items()}
    found[FORGED] = forged
    found[UNDETERMINED] = rest - found[UNEXPLAINED] - found[EXPLAINED]
    return found


def _proven(ledger: int, entries: Ints, known: Known) -> dict[str, Bools]:
    """Masks of the entries that are proven to be of a class."""
    none = np.zeros(len(entries), dtype=np.bool_)
    kept, held, lacked = none.copy(), none.copy(), ~none
    for life, had in known.held.having(ledger, entries):
        copy = _copies_of(life, ledger, entries, known)
        kept |= had if life in known.steady else had & copy
        disk = known.disks.get(life) if known.disks is not None else None
        held |= had
        lacked &= ~had if disk is None else ~(had & disk.holds(ledger, entries))
    for _, had in known.doubtful.having(ledger, entries):
        lacked &= ~had
    return {UNEXPLAINED: kept, EXPLAINED: held & lacked & ~kept}


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
        yield from _afterwards(life, had & _copies_of(life, ledger, entries, known), had, known, run)


def _copies_of(life: int, ledger: int, entries: Ints, known: Known) -> Bools:
    return known.copies.get(bookie_of(life), Spans.empty()).holds(ledger, entries)


def _afterwards(life: int, shown: Bools, had: Bools, known: Known, run: RunFacts) -> Iterator[str]:
    """What became of what a life had; that it lived on is news only of what is not there any more."""
    boot = known.boots.get(life)
    if shown.any():
        found = counted(int(shown.sum()), "copy", "copies")
        yield f"the last census pass found {found} on {bookie_name(run, bookie_of(life))}"
    if np.array_equal(shown, had):
        return
    if life in known.steady:
        yield f"{life_name(run, life)} did not end uncleanly before that census"
    elif boot is not None and boot.ended_ns != NEVER:
        yield f"{life_name(run, boot.life)} {boot.how} at {boot.ended_ns} ns"


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
                f"recovery read of entry {entry}, passed on at {forgery.delivered_ns} ns"
            )
