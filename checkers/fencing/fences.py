"""Facts of fencing: what bookies answered to it, when ledgers were known to be closed; and words for both.

Two things date a close: a CLOSED version of the metadata that was seen, and an open with recovery
that returned ok. A close without a date precedes nothing. A bookie's answers count as it gave them, in one
known boot. Sources: *Fencing*; ``ReadEntryProcessorV3`` (an EOK to a fencing read is sent when the fence is
done, an explicit negative without waiting for it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from checkers.contract import Batch, Columns, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.facts.boots import bookie_of, boots_of, life_name
from checkers.facts.ledgers import histories
from checkers.facts.parts import flagged
from checkers.facts.wire import is_sure, lives
from checkers.facts.wording import operation_text
from evidence.codes import NEVER, Direction, Flag, FrameFlag, Kind, Outcome, Status

_ANSWER = ("ledger", "status", "received_ns", "seq", "source", "entry")


def _answered(batch: Batch) -> Columns:
    answers = batch.frames.of(way=Direction.ANSWER)
    fencing = answers.where((answers["flags"] & int(FrameFlag.FENCING)) != 0)
    sure = fencing.where(is_sure(fencing))
    return {"life": lives(sure), **{name: sure[name] for name in _ANSWER}}


def _recovered(batch: Batch) -> Rows:
    opens = batch.operations.of(kind=Kind.OPEN, outcome=Outcome.OK)
    return opens.where(flagged(opens, Flag.RECOVERY) & (opens["completed_ns"] != NEVER))


ANSWERED = LedgerFact(
    "answered_fencing",
    "frames",
    _answered,
    key=("ledger", "life", "status"),
    first_by=(("received_ns", "ascending"), ("seq", "ascending")),
    also=("source", "entry"),
)
"""What each life of a bookie first answered to fencing a ledger, by status; ``entry`` -1 reads the LAC."""
RECOVERED = LedgerFact(
    "told_closed",
    "operations",
    _recovered,
    key=("ledger", "result"),
    first_by=(("completed_ns", "ascending"),),
    also=("client", "seq"),
)
"""By last entry the first open with recovery that found the ledger closed."""


class Close(NamedTuple):
    """Proof that a ledger was closed at ``last_entry`` by ``at_ns``."""

    at_ns: int
    last_entry: int
    text: str


def dated_closes(facts: LedgerFacts) -> Mapping[int, Mapping[int, int]]:
    """Ledger -> last entry -> by when it was closed there first (ns).

    A ledger whose metadata a fault of the run put back may not have stayed closed: it has no date.
    """
    metadata, found = facts.once(histories), dict[int, dict[int, int]]()
    closes = [(one.ledger, one.last_entry, one.latest_ns) for one in metadata.all_closes]
    for ledger, end, at_ns, *_ in (*closes, *facts.of(RECOVERED)):
        if at_ns != NEVER and ledger not in metadata.put_back:
            ends = found.setdefault(ledger, {})
            ends[end] = min(at_ns, ends.get(end, NEVER))
    return found


def closes_of(ledger: int, facts: LedgerFacts, run: RunFacts) -> list[Close]:
    """The closes of one ledger that have a date, the earliest first."""
    closes = [
        Close(
            version.latest_ns,
            version.last_entry,
            f"{version.closed_text}, in force by {run.time_text(version.latest_ns)}",
        )
        for version in facts.once(histories).of.get(ledger, ())
        if version.closed and version.latest_ns != NEVER
    ]
    for _, last_entry, at_ns, client, seq in facts.of(RECOVERED, ledger):
        told = f"received its end {last_entry} ({operation_text(seq)})"
        text = f"{run.client_name(client)} had recovered it by {run.time_text(at_ns)} and {told}"
        closes.append(Close(at_ns, last_entry, text))
    return sorted(closes)


class Answer(NamedTuple):
    """A row of ``ANSWERED``."""

    ledger: int
    life: int
    status: int
    received_ns: int
    seq: int
    source: int
    entry: int

    def text(self, run: RunFacts) -> str:
        """``b2 boot 1 answered ENOENTRY to the fencing read of the LAC by recoverer at 7 ns (frame 3)``."""
        what = "the LAC" if self.entry < 0 else f"entry {self.entry}"
        return (
            f"{life_name(run, self.life)} answered {status_name(self.status)} to the fencing read of {what} "
            f"by {run.source_name(self.source)} at {run.time_text(self.received_ns)} (frame {self.seq})"
        )


def answers_of(facts: LedgerFacts, *key: int) -> list[Answer]:
    """The first answers to fencing, of (ledger, life, status), or of all whose key begins so."""
    return [Answer(*row) for row in facts.of(ANSWERED, *key)]


def status_name(status: int) -> str:
    """``EOK``, or the number of a status that has no name."""
    try:
        return Status(status).name
    except ValueError:
        return f"status {status}"


def story(
    taken: Iterable[tuple[int, ...]], ledger: int, entry: int, facts: LedgerFacts, run: RunFacts
) -> list[str]:
    """In order of time: who took the add of an entry, what they had answered to fencing, their deaths.

    What a restart made a bookie forget shows here. ``taken`` are (life, when it acknowledged, frame).
    """
    boots = {boot.life: boot for mine in boots_of(run).values() for boot in mine}
    events: set[tuple[int, str]] = set()
    for life, at_ns, seq in taken:
        when = f"at {run.time_text(at_ns)} (frame {seq})"
        events.add((at_ns, f"{life_name(run, life)} acknowledged entry {entry} {when}"))
        before = [one for one in answers_of(facts, ledger) if bookie_of(one.life) == bookie_of(life)]
        if not before:
            name = run.bookie_name(bookie_of(life))
            events.add((at_ns, f"{name} answered no fencing read of this ledger"))
        for answer in before:
            events.add((answer.received_ns, answer.text(run)))
            boot = boots.get(answer.life)
            if boot is not None and answer.received_ns <= boot.ended_ns <= at_ns:
                ended = f"{life_name(run, boot.life)} {boot.how} at {run.time_text(boot.ended_ns)}"
                events.add((boot.ended_ns, ended))
    return [said for _, said in sorted(events)]
