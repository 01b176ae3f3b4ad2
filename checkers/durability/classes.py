"""The class of a loss: whether the recorded faults explain it.

``forged``: the ledger was closed below the entry after a rule of the run had forged a denial of it, and no
client had received enough denials of bookies themselves to close it there.
``put_back``: a fault of the run had put the ledger's metadata back in time, or removed it for a while.
``unexplained``: a boot that acknowledged the entry, and had to keep it to the end, never lost it, or still
shows it.
``explained``: every boot that acknowledged the entry ended by a recorded fault that may take it, with a
disk that lacked it, or a fault took all of that disk; and all had lost it at one time.
``undetermined``: anything else.

All holders have lost an entry at one time when between the first of their ends and the last of their losses
no repair was completed by a bookie that should hold it. If a close cut the entry off, fewer than an ack
quorum of them may still have had it then. A repair before the first of them makes a holder as
well, though nothing of it crossed the wire, and so does a disk that held it. Copies that replication made are
known by the metadata that names them. What the last census shows was not lost. Source: the rules in
``docs/verdicts/losses.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from checkers.durability.holders import Holders, KnownBoots, having, why_not
from checkers.facts.boots import bookie_of, boot_name
from checkers.facts.disks import copied_disks
from checkers.facts.ledgers import histories
from checkers.facts.versions import Version, duties, gathered, in_force
from checkers.facts.wire import answers, denies, proven_answers, rule_text
from checkers.facts.wording import entries_text
from checkers.judging.contract import Batch, Event, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.sets.spans import Bools, Ints, Spans, ints
from evidence.codes import NEVER, FrameFlag, Message, Status
from protocol.faults import Loses
from protocol.wording import counted

FORGED, UNEXPLAINED, EXPLAINED, UNDETERMINED = "forged", "unexplained", "explained", "undetermined"
PUT_BACK = "put_back"
CLASSES = (EXPLAINED, UNEXPLAINED, FORGED, PUT_BACK, UNDETERMINED)

_FORGERY = ("ledger", "entry", "forwarded_ns", "seq", "source", "bookie", "rule", "delivered")


def _forgeries(batch: Batch) -> Rows:
    rows = answers(batch.frames, Message.RECOVERY_READ)
    return rows.filter(((rows["flags"] & int(FrameFlag.FORGED)) != 0) & denies(rows["delivered"]))


FORGERIES = LedgerFact("forged_denials", "frames", _forgeries, key=_FORGERY)
"""The denials of recovery reads that rules of the run forged, as they were passed on."""


def _honest(batch: Batch) -> Rows:
    rows = proven_answers(batch.frames, Message.RECOVERY_READ)
    return rows.filter(denies(rows["status"]) & denies(rows["delivered"]))


HONEST = LedgerFact(
    "honest_denials",
    "frames",
    _honest,
    key=("ledger", "entry", "source", "bookie"),
    values={"forwarded_ns": "min"},
)
"""The denials of recovery reads by bookies themselves; when each was first passed on to a client (ns)."""


def _decisive(facts: LedgerFacts) -> Mapping[int, list[tuple[int, ...]]]:
    """Ledger -> forged denials of the first entry after its end, passed on before the close, in order."""
    found: dict[int, list[tuple[int, ...]]] = {}
    metadata = facts.memo(histories)
    for ledger, entry, *forgery in facts.rows(FORGERIES):
        if metadata.ends.get(ledger) == entry - 1 and forgery[0] < metadata.closed_ns[ledger]:
            found.setdefault(ledger, []).append(tuple(forgery))
    return found


def _closable(ledger: int, facts: LedgerFacts, known: KnownBoots) -> bool:
    """Whether one client had received denials of bookies themselves that suffice to close a ledger there.

    They suffice if WQ - AQ + 1 of them are from the write set of the entry after the end, by each version
    that may have been in force meanwhile.
    """
    metadata = known.histories
    entry, closed_ns = metadata.ends[ledger] + 1, metadata.closed_ns[ledger]
    received: dict[int, dict[int, int]] = {}
    for _, _, source, bookie, forwarded_ns in facts.rows(HONEST, ledger, entry):
        if forwarded_ns < closed_ns:
            received.setdefault(source, {})[bookie] = forwarded_ns
    return metadata.seen_whole(ledger) and any(
        all(
            len(denied.keys() & duties((one,), ints([entry]), known.bookies)) > one.shape[1] - one.shape[2]
            for one in in_force(metadata.versions[ledger], min(denied.values()), closed_ns)
        )
        for denied in received.values()
    )


def forgery_proof(ledger: int, facts: LedgerFacts, run: RunFacts) -> Iterator[str]:
    """Sentences on the forged denials after which a ledger was closed."""
    entry = facts.memo(histories).ends[ledger] + 1
    for forwarded_ns, _, source, bookie, rule, status in facts.memo(_decisive).get(ledger, ()):
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


def classified(
    lost: Spans, holders: Holders, known: KnownBoots | None, facts: LedgerFacts
) -> dict[str, Spans]:
    """The lost entries by class; ``holders`` are the boots that had them."""
    put_back = lost - lost.without(set(facts.memo(histories).put_back))
    rest = lost - put_back
    found = dict.fromkeys(CLASSES, Spans.empty()) | {PUT_BACK: put_back}
    if not known:
        return found | {UNDETERMINED: rest}
    ends = {
        ledger: facts.memo(histories).ends[ledger]
        for ledger in facts.memo(_decisive)
        if not _closable(ledger, facts, known)
    }
    forged = rest & Spans.beyond(ends)
    rest = rest - forged
    kept: list[tuple[int, Ints]] = []
    took: list[tuple[int, Ints]] = []
    for ledger in rest.ledgers():
        entries = rest.of_ledger(ledger).entries()
        never = _never_lost(ledger, entries, holders, known)
        kept.append((ledger, entries[never]))
        took.append((ledger, entries[_explained(ledger, entries, holders, known) & ~never]))
    found |= {UNEXPLAINED: gathered(kept), EXPLAINED: gathered(took), FORGED: forged}
    return found | {UNDETERMINED: rest - found[UNEXPLAINED] - found[EXPLAINED]}


def _explained(ledger: int, entries: Ints, holders: Holders, known: KnownBoots) -> Bools:
    """Mask of the entries of one ledger that are proven to have been lost so."""
    if not known.histories.seen_whole(ledger):
        return np.zeros(len(entries), dtype=np.bool_)
    chain = known.histories.versions[ledger]
    due = duties(chain, entries, known.bookies)
    overlap = _Overlap(entries, dict(having(holders.on_disk, ledger, entries)), known)
    for boot_id, had in (*having(holders.held, ledger, entries), *overlap.on_disk.items()):
        overlap.lost_with(boot_id, had)
    for spared in (holders.doubtful, *holders.shown.values()):
        overlap.proven &= ~spared.holds(ledger, entries)
    repairs, died_ns = list(_repairs(ledger, chain[0].earliest_ns, due, known)), overlap.first_ns.copy()
    # Before the first death a repair makes a holder, later it undoes the loss.
    for boot_id, repair, duty in repairs:
        overlap.lost_with(boot_id, duty & (repair.latest_ns < died_ns))
    for _, repair, duty in repairs:
        between = (repair.latest_ns >= overlap.first_ns) & (repair.earliest_ns <= overlap.last_ns)
        overlap.proven &= ~(duty & between)
    # Who repaired without a log, or replicated, may have made copies on bookies that were not asked.
    unseen = [known.boots[boot_id].started_ns for boot_id in known.unlogged]
    moves = [new.earliest_ns for old, new in pairwise(chain) if _moved(old, new)]
    overlap.proven &= overlap.last_ns < min([*unseen, *moves], default=NEVER)
    overlap.proven &= ~_cut_off(ledger, entries, overlap.had, known)
    return overlap.proven & (overlap.first_ns < NEVER)


def _cut_off(ledger: int, entries: Ints, had: Mapping[int, Bools], known: KnownBoots) -> Bools:
    """Mask of the entries beyond the end that an ack quorum of bookies still had when the ledger was closed.

    Too few of them can have denied such an entry, so what they lost later is not why it was cut off.
    """
    metadata, number = known.histories, np.zeros(len(entries), dtype=np.int64)
    if ledger not in metadata.ends:
        return number > 0
    close, closed_ns = metadata.closes[ledger], metadata.closed_ns[ledger]
    for boot_id, mask in had.items():
        boot = known.boots.get(boot_id)
        if boot and boot.started_ns < closed_ns < boot.dying_ns:
            number += mask
    return (entries > close.last_entry) & (number >= close.shape[2])


def _repairs(
    ledger: int, since_ns: int, due: Mapping[int, Bools], known: KnownBoots
) -> Iterator[tuple[int, Event, Bools]]:
    """The boot and the end of each check that can have found this ledger, and the entries due by it."""
    for boot_id, repair in (*known.repairs.get(-1, ()), *known.repairs.get(ledger, ())):
        duty = due.get(bookie_of(boot_id))
        if repair.latest_ns >= since_ns and duty is not None:
            yield boot_id, repair, duty


def _never_lost(ledger: int, entries: Ints, holders: Holders, known: KnownBoots) -> Bools:
    """Mask of the entries that a holder, responsible to the end, never lost, or that it shows still.

    No fault that hit it may take what it had, or its disk held it at its death and nothing can have changed
    that since. A bookie that the metadata does not name any more collects its copies lawfully.
    """
    kept = np.zeros(len(entries), dtype=np.bool_)
    on_disk = dict(having(holders.on_disk, ledger, entries))
    due = _to_the_end(ledger, entries, known)
    for boot_id, had in having(holders.held, ledger, entries):
        kept |= had & holders.shown_by(boot_id).holds(ledger, entries)
        if bookie_of(boot_id) in due:
            duty = had & due[bookie_of(boot_id)]
            if boot_id in known.unpowered:
                kept |= duty & holders.durable.get(boot_id, Spans.empty()).holds(ledger, entries)
            elif boot_id in known.steady:
                kept |= duty
            if boot_id in on_disk and boot_id not in known.altered:
                kept |= duty & on_disk[boot_id]
    return kept


def _to_the_end(ledger: int, entries: Ints, known: KnownBoots) -> dict[int, Bools]:
    """Bookie -> the entries that the last version gives to it; none for bookies that a version dropped."""
    if not known.histories.seen_whole(ledger):
        return {}
    chain = known.histories.versions[ledger]
    ceased = {known.bookies.get(name) for old, new in pairwise(chain) for name in old.bookies - new.bookies}
    due = duties(chain[-1:], entries, known.bookies)
    return {bookie: mask for bookie, mask in due.items() if bookie not in ceased}


class _Overlap:
    """Some entries of one ledger: which are still proven, and from when to when their holders lost them.

    ``had`` are the holders with what they had, ``on_disk`` is what boots' disks held of it at their deaths.
    """

    def __init__(self, entries: Ints, on_disk: Mapping[int, Bools], known: KnownBoots) -> None:
        self.on_disk, self._known = on_disk, known
        self._none = np.zeros(len(entries), dtype=np.bool_)
        self.had: dict[int, Bools] = {}
        self.proven = ~self._none
        self.first_ns = np.full(len(entries), NEVER, dtype=np.int64)
        self.last_ns = np.full(len(entries), -1, dtype=np.int64)

    def lost_with(self, boot_id: int, had: Bools) -> None:
        """A boot had these; they were lost at its death, where its disk is known, or by a wipe after it."""
        self.had[boot_id] = self.had.get(boot_id, self._none) | had
        boot = self._known.boots.get(boot_id)
        if boot is None:
            self.proven &= ~had
            return
        died_ns = boot.ended_ns if boot_id in self._known.fallen else NEVER
        lost_ns = np.where(self._lacking(boot_id), died_ns, self._known.emptied.get(boot_id, NEVER))
        gone = had & (lost_ns < NEVER)
        self.proven &= ~had | gone
        self.first_ns[gone] = np.minimum(self.first_ns[gone], boot.dying_ns)
        self.last_ns[gone] = np.maximum(self.last_ns[gone], lost_ns[gone])

    def _lacking(self, boot_id: int) -> Bools:
        """What a disk provably lacked when its boot had ended."""
        copied = self._known.copied.get(boot_id)
        if copied is None or copied.why_not:
            return self._none
        return ~self.on_disk.get(boot_id, self._none)


def _moved(old: Version, new: Version) -> bool:
    """Whether replication replaced a bookie: in an open ledger's last fragment, clients do that too."""
    before = old.fragments if old.closed else old.fragments[:-1]
    after = dict(new.fragments)
    return any(after.get(first) != bookies for first, bookies in before)


def holder_proof(
    span: tuple[int, int, int], counts: Mapping[int, tuple[int, ...]], known: KnownBoots, run: RunFacts
) -> Iterator[str]:
    """Sentences that name the boots which had acknowledged entries of a span, and what became of them.

    ``counts`` are the numbers of entries that each boot had, and how many of these the last census and the
    boot's disk showed.
    """
    _, first, last = span
    what, size = entries_text(first, last), last - first + 1
    for number in sorted({had for had, *_ in counts.values()}, reverse=True):
        names = [boot_name(run, boot_id) for boot_id, (had, *_) in counts.items() if had == number]
        part = what if number == size else f"{number:,} of {what}"
        yield f"{_all(names)} had acknowledged {part} (on the wire)"
    for boot_id, numbers in counts.items():
        yield from _afterwards(boot_id, numbers, known, run)


def _afterwards(boot_id: int, numbers: tuple[int, ...], known: KnownBoots, run: RunFacts) -> Iterator[str]:
    """What became of the entries of a boot; that it did not end is stated only if copies are missing."""
    had, shown, on_disk = numbers
    boot = known.boots.get(boot_id)
    if shown:
        copies = counted(shown, "copy", "copies")
        yield f"the last census pass found {copies} on {run.bookie_name(bookie_of(boot_id))}"
    if shown == had:
        return
    lasting = boot is not None and boot.unclean and boot.least_loss not in (None, Loses.MEMORY)
    if boot_id in known.steady and not lasting:
        yield f"{boot_name(run, boot_id)} did not end uncleanly before that census"
    elif boot is not None and boot.ended_ns != NEVER:
        journaled = ", which takes no journaled add" if boot_id in known.steady else ""
        disk = _disk(boot_id, had, on_disk, known)
        wiped_ns = known.emptied.get(boot_id)
        wiped = "" if wiped_ns is None else f"; a fault took all of its disk at {run.time_text(wiped_ns)}"
        ended = f"{boot.how} at {run.time_text(boot.ended_ns)}{journaled}"
        yield f"{boot_name(run, boot.id)} {ended}{disk}{wiped}"


def _disk(boot_id: int, had: int, on_disk: int, known: KnownBoots) -> str:
    """How many of a boot's entries its disk held when the boot ended uncleanly."""
    copied = known.copied.get(boot_id)
    if copied is None:
        return ""
    if copied.why_not:
        return f"; what its disk held is not known: {copied.why_not}"
    if on_disk == had:
        return "; its disk held what it had acknowledged"
    return f"; its disk held {on_disk:,} of the {had:,}" if on_disk else "; its disk held none of that"


def _all(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
