"""Answers: a bookie that must have an entry does not deny it.

Sources: *Closing Ledgers Safely* ("Beware of Ledger Truncation": one wrong "no such entry" is enough),
BP-46 ("A note on Response Codes", limbo). Only explicit negatives to reads of an entry are denials;
they count as the bookie gave them, whatever became of them on their way. Each rule is one function
with a line in ``RULES``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from checkers.answers.denials import ACKS, DENIALS, Said, Sayings, Teller, scan_sayings, teller
from checkers.answers.duties import Duties
from checkers.answers.held import Disks
from checkers.contract import Chunk, RunFacts
from checkers.facts.boots import life_name, life_of
from checkers.facts.damage import damage_to, shortcomings
from checkers.facts.disks import scan_disks
from checkers.facts.histories import histories_of
from checkers.facts.obliged import merge_earliest
from checkers.facts.parts import deleted, earliest
from checkers.facts.versions import Versions, scan_versions
from checkers.facts.wire import source_name
from checkers.facts.wording import bookie_name, entries_text, ledger_text, time_text
from checkers.sets.capping import capped
from checkers.sets.moments import Index, Pieces, pairs
from checkers.sets.spans import Bools, Ints, Spans
from checkers.sets.stripes import Stripes
from evidence.codes import Message, Status
from evidence.findings import Finding, Judgement, Verdict

_WORDS = {Status.ENOENTRY: "no such entry", Status.ENOLEDGER: "no such ledger"}
_ASKED = {Message.READ: "read", Message.RECOVERY_READ: "recovery read"}


@dataclass(frozen=True, slots=True)
class Told:
    """The summary; ``released`` is ledger -> first delete that may have been sent (ns).

    ``disks`` is what lives' disks held when they died uncleanly.
    """

    sayings: Sayings
    versions: Versions
    released: Mapping[int, int]
    disks: Stripes


class Answers:
    """Convicts a boot that denies what it acknowledged or its disk held, or denies where limbo was due."""

    name = "answers"
    tables: tuple[str, ...] = ("frames", "ledgers", "operations", "holdings")
    kinds: tuple[str, ...] = ("denied_own_ack", "denied_held", "limbo_not_shown")

    def scan(self, chunk: Chunk, run: RunFacts) -> Told:  # noqa: ARG002  # as agreed
        """Frames, metadata and deletes of one chunk."""
        released = earliest(deleted(chunk.operations))
        return Told(
            chunk.frames.once(scan_sayings), scan_versions(chunk), released, chunk.holdings.once(scan_disks)
        )

    def merge(self, left: Told, right: Told) -> Told:
        """Both."""
        return Told(
            left.sayings | right.sayings,
            left.versions | right.versions,
            merge_earliest(left.released, right.released),
            left.disks | right.disks,
        )

    def conclude(self, summary: Told, run: RunFacts) -> Judgement:
        """Needs an answer to a read that can be laid at the door of one boot."""
        trial = Trial(summary, run)
        findings = [finding for name in RULES for finding in trial.findings(name)] if run.wire else []
        lacking = shortcomings(run, ("frames", "ledgers", "operations", "servers"))
        enough = run.wire and summary.sayings.reads > 0 and not lacking
        idle = not run.wire or not (summary.sayings.reads or lacking)
        verdict = Verdict.VALID if enough else Verdict.UNKNOWN
        if idle and self.name not in run.required:
            verdict = Verdict.NOT_JUDGED
        notes = (
            [*lacking] if run.wire else ["the run kept no wire log, so nobody knows what bookies answered"]
        )
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else verdict,
            needed="whole evidence with a wire log, and an answer to a read from a known boot of a bookie",
            seen={
                "acknowledged": summary.sayings.acks,
                "read": summary.sayings.reads,
                "denied": summary.sayings.denials,
            },
            findings=capped(findings),
            counts={
                kind: sum(finding.count for finding in findings if finding.kind == kind) for kind in RULES
            },
            notes=tuple(notes),
        )


class Hit(NamedTuple):
    """A range of entries that one boot denied and must not have: the denial's times, and why not."""

    first: int
    last: int
    received_ns: int
    asked_ns: int
    teller: Teller
    why: str


Life = tuple[int, int, int]
"""(ledger, bookie, boot)."""


class Trial:
    """What the rules look into: who denied something of which ledger, and when."""

    def __init__(self, summary: Told, run: RunFacts) -> None:
        """Of one run."""
        self.run = run
        self._index = Index(summary.sayings.moments)
        self._said: dict[Life, list[tuple[Teller, int]]] = {}
        for ledger, who in self._index.known():
            one = teller(who)
            self._said.setdefault((ledger, one.bookie, one.boot), []).append((one, who))
        answered = {life[1:] for life in self._said}
        self.duties = Duties(
            histories_of(summary.versions),
            summary.released,
            run,
            lambda bookie, boot: (bookie, boot) in answered,
        )
        self.disks = Disks(summary.disks, run)
        self.lives = [
            life for life, said in sorted(self._said.items()) if any(one.said in DENIALS for one, _ in said)
        ]

    def heard(self, life: Life, kinds: Collection[Said]) -> Iterator[tuple[Teller, Pieces]]:
        """The moments of these kinds, by who said what to whom."""
        for one, who in self._said[life]:
            if one.said in kinds:
                yield one, self._index.of(life[0], who)

    def findings(self, name: str) -> Iterator[Finding]:
        """What one rule finds, a finding for each span of entries of one life."""
        rule = RULES[name]
        for life in self.lives:
            hits = sorted(rule.hits(self, life))
            spans = Spans.of_ranges(life[0], [hit.first for hit in hits], [hit.last for hit in hits])
            for _, first, last in spans if hits else ():
                example = next(hit for hit in hits if hit.first == first)
                yield self._finding(name, life, (first, last), example, rule.text)

    def _finding(self, name: str, life: Life, part: tuple[int, int], hit: Hit, text: str) -> Finding:
        ledger, bookie, boot = life
        first, last = part
        who = f"{bookie_name(self.run, bookie)} (boot {boot})"
        asked, status = DENIALS[hit.teller.said]
        question = f"{source_name(self.run, hit.teller.source)}'s {_ASKED[asked]} of entry {first}"
        return Finding(
            property=Answers.name,
            kind=name,
            ledger=ledger,
            first_entry=first,
            last_entry=last,
            count=last - first + 1,
            text=f"{ledger_text(self.run, ledger)}: {who} denied {entries_text(first, last)}{text}",
            proof=(
                hit.why,
                f"{who} answered {_WORDS[status]} to {question}: asked not before "
                f"{time_text(self.run, hit.asked_ns)}, received by {time_text(self.run, hit.received_ns)}",
            ),
        )


def own_acks_denied(trial: Trial, life: Life) -> Iterator[Hit]:
    """Denials asked for after the same boot's EOK to an add of the entry had been received."""
    if damage_to(trial.run, ("ledgers", "servers")):
        return
    until_ns = trial.duties.until_ns(life[0], life[1])
    for (to, denials), (of, acks) in product(trial.heard(life, DENIALS), trial.heard(life, ACKS)):
        firsts = acks.firsts()
        both = pairs(denials, firsts)
        early, late = denials.early[both.left], denials.late[both.left]
        acked = firsts.late[both.right]
        wrong = (acked < early) & (late < until_ns)
        word = "add" if of.said is Said.ADDED else "recovery add"
        columns = (both.first, both.last, late, early, acked)
        for first, last, late_ns, early_ns, acked_ns in _rows(columns, wrong):
            by = time_text(trial.run, acked_ns)
            why = f"the same boot answered EOK to the {word} of entry {first}, received by {by}"
            yield Hit(first, last, late_ns, early_ns, to, why)


def held_denied(trial: Trial, life: Life) -> Iterator[Hit]:
    """Denials of what the bookie's own disk held when an earlier boot of it died."""
    ledger, bookie, boot = life
    if damage_to(trial.run, ("ledgers", "servers", "faults")):
        return
    until_ns = trial.duties.until_ns(ledger, bookie)
    for died, spans in trial.disks.before(ledger, bookie, boot):
        name = life_name(trial.run, int(life_of(bookie, died)))
        for to, denials in trial.heard(life, DENIALS):
            both = pairs(denials, spans)
            early, late = denials.early[both.left], denials.late[both.left]
            for first, last, late_ns, early_ns in _rows(
                (both.first, both.last, late, early), late < until_ns
            ):
                why = (
                    f"its disk held {entries_text(first, last)} when {name} died, and nobody changed it since"
                )
                yield Hit(first, last, late_ns, early_ns, to, why)


def limbo_hidden(trial: Trial, life: Life) -> Iterator[Hit]:
    """Denials in a boot that owed "unknown" for the ledger."""
    ledger, bookie, boot = life
    if shortcomings(trial.run, ("ledgers", "servers")):
        return
    limbo = trial.duties.limbo(ledger, bookie, boot)
    if limbo is None:
        return
    why = (
        f"boot {limbo.crashed} had not ended in order; {ledger_text(trial.run, ledger)} was not closed and "
        f"had {bookie_name(trial.run, bookie)} in its last ensemble since boot {limbo.boot} began: "
        "limbo was due"
    )
    for to, denials in trial.heard(life, DENIALS):
        for first, last, early_ns, late_ns in _rows(denials, denials.late < limbo.until_ns):
            yield Hit(first, last, late_ns, early_ns, to, why)


def _rows(columns: tuple[Ints, ...], pick: Bools) -> Iterator[tuple[int, ...]]:
    return zip(*(column[pick].tolist() for column in columns), strict=True)


class Rule(NamedTuple):
    """One kind of finding: what is told of the denied entries, and the denials that break it."""

    text: str
    hits: Callable[[Trial, Life], Iterable[Hit]]


RULES: Mapping[str, Rule] = {
    "denied_own_ack": Rule(" that it had acknowledged", own_acks_denied),
    "denied_held": Rule(" that its disk had held", held_denied),
    "limbo_not_shown": Rule(" where limbo was due", limbo_hidden),
}
