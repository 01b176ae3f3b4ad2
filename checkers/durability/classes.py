"""The class of a loss: whether the recorded faults explain it.

A *life* is one boot of a bookie.

``forged``: the ledger was closed below the entry after a rule of the run had forged a denial of it.
``put_back``: a fault of the run had put the ledger's metadata back in time, or removed it for a while.
``unexplained``: a life that acknowledged the entry, and had to keep it to the end, never lost it, or still
shows it.
``explained``: every life that acknowledged the entry ended by a recorded fault that may take it, with a
disk that lacked it, or a fault took all of that disk; no bookie was repaired in between
(:mod:`checkers.durability.overlap`).
``undetermined``: anything else.

Source: the rules in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checkers.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.durability.holders import Holders, Lives, why_not
from checkers.durability.overlap import explained, never_lost
from checkers.facts.boots import bookie_of, life_name
from checkers.facts.disks import copied_disks
from checkers.facts.ledgers import histories
from checkers.facts.versions import gathered
from checkers.facts.wire import answers, denies, rule_text
from checkers.facts.wording import counted, entries_text
from checkers.sets.spans import Ints, Spans
from evidence.codes import NEVER, FrameFlag, Message, Status
from protocol.faults import Loses

FORGED, UNEXPLAINED, EXPLAINED, UNDETERMINED = "forged", "unexplained", "explained", "undetermined"
PUT_BACK = "put_back"
CLASSES = (EXPLAINED, UNEXPLAINED, FORGED, PUT_BACK, UNDETERMINED)

_FORGERY = ("ledger", "entry", "forwarded_ns", "seq", "source", "bookie", "rule", "delivered")


def _forgeries(batch: Batch) -> Rows:
    rows = answers(batch.frames, Message.RECOVERY_READ)
    return rows.where(((rows["flags"] & int(FrameFlag.FORGED)) != 0) & denies(rows["delivered"]))


FORGERIES = LedgerFact("forged_denials", "frames", _forgeries, key=_FORGERY)
"""The denials of recovery reads that rules of the run forged, as they were passed on."""


def _decisive(facts: LedgerFacts) -> Mapping[int, list[tuple[int, ...]]]:
    """Ledger -> forged denials of the first entry after its end, passed on before the close, in order."""
    found: dict[int, list[tuple[int, ...]]] = {}
    closes = facts.once(histories).closes
    for ledger, entry, *forgery in facts.of(FORGERIES):
        close = closes.get(ledger)
        if close is not None and close.last_entry + 1 == entry and forgery[0] < close.latest_ns:
            found.setdefault(ledger, []).append(tuple(forgery))
    return found


def forgery_proof(ledger: int, facts: LedgerFacts, run: RunFacts) -> Iterator[str]:
    """Sentences on the forged denials after which a ledger was closed."""
    entry = facts.once(histories).ends[ledger] + 1
    for forwarded_ns, _, source, bookie, rule, status in facts.once(_decisive).get(ledger, ()):
        yield (
            f"{rule_text(run, source, bookie, rule)} answered {Status(status).name} in the name of "
            f"{run.bookie_name(bookie)} to the recovery read of entry {entry}, "
            f"passed on at {run.time_text(forwarded_ns)}"
        )


def undetermined_because(run: RunFacts) -> str:
    """Why losses of a run have no class."""
    because = why_not(run)
    if because:
        return f"{because}, so which lives of which bookies had the entry is unknown"
    kept = "no life that acknowledged the entry provably kept it"
    if not copied_disks(run):
        return f"{kept}, and what disks held was not recorded"
    return f"{kept}, and it is not proven that all of them lost it by recorded faults before a repair"


def classified(lost: Spans, holders: Holders, known: Lives | None, facts: LedgerFacts) -> dict[str, Spans]:
    """The lost entries by class; ``holders`` are the lives that had them."""
    put_back = lost - lost.without(set(facts.once(histories).put_back))
    rest = lost - put_back
    if not known:
        return {name: put_back if name == PUT_BACK else Spans.empty() for name in CLASSES} | {
            UNDETERMINED: rest
        }
    forged = _forged(rest, facts)
    rest = rest - forged
    kept: list[tuple[int, Ints]] = []
    took: list[tuple[int, Ints]] = []
    for ledger in rest.ledgers():
        entries = rest.of(ledger).entries()
        never = never_lost(ledger, entries, holders, known)
        kept.append((ledger, entries[never]))
        took.append((ledger, entries[explained(ledger, entries, holders, known) & ~never]))
    found = {UNEXPLAINED: gathered(kept), EXPLAINED: gathered(took), FORGED: forged, PUT_BACK: put_back}
    undetermined = rest - found[UNEXPLAINED] - found[EXPLAINED]
    return {name: found.get(name, undetermined) for name in CLASSES}


def _forged(lost: Spans, facts: LedgerFacts) -> Spans:
    """The entries beyond a close that followed a forged denial."""
    ends = {ledger: facts.once(histories).ends[ledger] for ledger in facts.once(_decisive)}
    return lost & Spans.beyond(ends)


def holder_proof(
    span: tuple[int, int, int], lives: Mapping[int, tuple[int, ...]], known: Lives, run: RunFacts
) -> Iterator[str]:
    """Sentences that name the lives which had acknowledged entries of a span, and what became of them.

    ``lives`` are the numbers of entries that each life had, and how many of these the last census and the
    life's disk showed.
    """
    _, first, last = span
    what, size = entries_text(first, last), last - first + 1
    for number in sorted({had for had, *_ in lives.values()}, reverse=True):
        names = [life_name(run, life) for life, (had, *_) in lives.items() if had == number]
        part = what if number == size else f"{number:,} of {what}"
        yield f"{_all(names)} had acknowledged {part} (on the wire)"
    for life, numbers in lives.items():
        yield from _afterwards(life, numbers, known, run)


def _afterwards(life: int, numbers: tuple[int, ...], known: Lives, run: RunFacts) -> Iterator[str]:
    """What became of the entries of a life; that it did not end is stated only if copies are missing."""
    had, shown, on_disk = numbers
    boot = known.boots.get(life)
    if shown:
        copies = counted(shown, "copy", "copies")
        yield f"the last census pass found {copies} on {run.bookie_name(bookie_of(life))}"
    if shown == had:
        return
    lasting = boot is not None and boot.unclean and boot.least_loss not in (None, Loses.MEMORY)
    if life in known.steady and not lasting:
        yield f"{life_name(run, life)} did not end uncleanly before that census"
    elif boot is not None and boot.ended_ns != NEVER:
        journaled = ", which takes no journaled add" if life in known.steady else ""
        disk = _disk(life, had, on_disk, known)
        wiped_ns = known.emptied.get(life)
        wiped = "" if wiped_ns is None else f"; a fault took all of its disk at {run.time_text(wiped_ns)}"
        ended = f"{boot.how} at {run.time_text(boot.ended_ns)}{journaled}"
        yield f"{life_name(run, boot.life)} {ended}{disk}{wiped}"


def _disk(life: int, had: int, on_disk: int, known: Lives) -> str:
    """How many of a life's entries its disk held when the life ended uncleanly."""
    copied = known.copied.get(life)
    if copied is None:
        return ""
    if copied.why_not:
        return f"; what its disk held is not known: {copied.why_not}"
    if on_disk == had:
        return "; its disk held what it had acknowledged"
    return f"; its disk held {on_disk:,} of the {had:,}" if on_disk else "; its disk held none of that"


def _all(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
