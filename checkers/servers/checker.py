"""Servers: BP-46's boot protocol as rules over events, by intervals.

A bookie that may have lost something marks what it may have lost before it serves, and ends limbo only when
nothing depends on it any more. What a bookie did comes from its log, what it answered from the wire log,
what a ledger was from the metadata store's. Each rule is one function with a line in ``RULES``.

Where boots went by BookKeeper's own rules and not by BP-46's words, there is a note and no finding. BP-46
("Protection Mechanism", "The Full Boot-Up Sequence") puts all open ledgers in limbo, fences all ledgers of
the cluster, and ends limbo after the repair. The bookie marks and fences the ledgers that are not closed and
name it in their last ensemble, and ends limbo after the recovery, before the repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from checkers.contract import Batch, Event, LedgerFact, LedgerFacts, RunFacts
from checkers.facts.ledgers import histories
from checkers.facts.wording import counted
from checkers.found import Found, capped
from checkers.servers.evidence import (
    LOG_READ,
    Answer,
    Evidence,
    LoggedBoot,
    first_answers,
    logged_boots,
    repaired_answers,
)
from checkers.servers.rules import PROPERTY, RULES
from evidence.findings import Judgement, Verdict

_UP = ("listening", "registered", "answering")
_RESTS_ON = ("servers", "ledgers", "faults")


class Servers:
    """Finds a bookie that boots in another order than BP-46 promises."""

    name = PROPERTY
    tables: tuple[str, ...] = ("frames", "ledgers")
    kinds: tuple[str, ...] = tuple(RULES)
    facts: tuple[LedgerFact, ...] = ()

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """The first explicit answers of each boot about each ledger; the rules are over the whole run."""
        if not batch.frames.number:
            return Found()
        known = facts.once(histories)
        return Found.of(*first_answers(batch.frames), *repaired_answers(batch.frames, known, run))

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs the log of every boot, and a boot that could have broken one of the rules."""
        boots = logged_boots(run)
        lacking = [*run.shortcomings(_RESTS_ON), *_unread(boots, run)]
        evidence = Evidence(run, facts.once(histories), found)
        results = {
            kind: [] if lacking else [result for boot in boots for result in rule(evidence, boot)]
            for kind, rule in RULES.items()
        }
        broken = {kind: [finding for finding in each if finding] for kind, each in results.items()}
        findings = [finding for each in broken.values() for finding in each]
        tried = any(results.values())
        verdict = Verdict.VALID if tried else Verdict.UNKNOWN
        if not tried and not lacking and self.name not in run.required:
            verdict = Verdict.NOT_JUDGED
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else verdict,
            needed="whole evidence with the log of every boot of a bookie, and a boot after another",
            seen={
                "boots": len(boots),
                "suspicious": sum(boot.suspicious for boot in boots),
                "marked": sum(len(boot.marks) for boot in boots),
                **{f"tried_{kind}": len(each) for kind, each in results.items() if each},
            },
            findings=capped(findings),
            counts={kind: len(each) for kind, each in broken.items()},
            notes=(*lacking, *([] if lacking else differences(evidence, boots))),
        )


def _unread(boots: list[LoggedBoot], run: RunFacts) -> list[str]:
    """Boots that reached listening and whose log was not read: they may have done what it does not show.

    Releases before 4.15 have nothing of BP-46, and their logs none of our times: none of their logs is read.
    """
    read = {boot.record.bookie for boot in boots if boot.has(LOG_READ)}
    read |= {run.bookies[name] for name in run.guarded if name in run.bookies}
    silent = [boot for boot in boots if boot.has(*_UP) and not boot.has(LOG_READ)]
    return [f"the log of {boot.name} was not read" for boot in silent if boot.record.bookie in read]


def differences(evidence: Evidence, boots: Iterable[LoggedBoot]) -> list[str]:
    """A note for each difference that some boot showed, with the first example and how many there are."""
    ended = (boot for boot in boots if boot.has("preboot_start") and boot.has("preboot_end"))
    guarded = [boot for boot in ended if evidence.guarded(boot)]
    notes = []
    for shown in _SHOWN:
        found = [text for boot in guarded for text in shown(evidence, boot)]
        if found:
            more = f" ({counted(len(found), 'such case')} in all)" if len(found) > 1 else ""
            notes.append(f"differs from BP-46: {found[0]}{more}")
    return notes


def _others_unmarked(evidence: Evidence, boot: LoggedBoot) -> Iterator[str]:
    """Open ledgers that got no mark, for the bookie is not in their last ensemble."""
    began, ended = boot.all("preboot_start")[0], boot.all("preboot_end")[-1]
    span = began.earliest_ns, ended.latest_ns
    name = evidence.run.bookie_name(boot.record.bookie)
    for ledger in evidence.ledgers.known():
        unmarked = ledger not in boot.marks and evidence.ledgers.open_all_the_while(ledger, *span)
        if unmarked and evidence.ledgers.mine_at_no_time(ledger, name, *span):
            yield (
                f"{boot.name} neither fenced {evidence.ledger_name(ledger)} nor put it in limbo, for its "
                "last ensemble is of others; BP-46 does so with all open ledgers"
            )


def _closed_unfenced(evidence: Evidence, boot: LoggedBoot) -> Iterator[str]:
    """Closed ledgers of the bookie, which got no fence."""
    began = boot.all("preboot_start")[0]
    closed = [
        ledger
        for ledger in evidence.ledgers.known()
        if ledger not in boot.marks and evidence.ledgers.surely_closed_at(ledger, began.earliest_ns)
    ]
    if closed:
        yield (
            f"{boot.name} fenced no ledger that was closed before ({len(closed):,} of them); "
            "BP-46 fences all ledgers of the cluster"
        )


def _cleared_before_repair(evidence: Evidence, boot: LoggedBoot) -> Iterator[str]:
    """Explicit answers about a ledger that had been in limbo, before its repair had ended."""
    copies = boot.by_ledger("ledger_check_and_copy_end")
    for ledger, mark in boot.marks.items():
        for answer, how in _explicit(evidence, boot, ledger):
            end = copies.get(ledger)
            until_ns = end.earliest_ns if end else boot.record.dying_ns
            if mark.latest_ns < answer.asked_ns and answer.received_ns < until_ns:
                to = evidence.run.source_name(answer.source)
                yield (
                    f"{boot.name} {how} entry {answer.entry} of {evidence.ledger_name(ledger)} to "
                    f"{to} at {evidence.at(answer.received_ns)}, out of limbo, "
                    f"and {_repaired(evidence, end)}; BP-46 ends limbo after the repair"
                )
                break


def _explicit(evidence: Evidence, boot: LoggedBoot, ledger: int) -> Iterator[tuple[Answer, str]]:
    for how in ("denied", "showed"):
        answers = evidence.answers(how, boot)
        if ledger in answers:
            yield answers[ledger], how


def _repaired(evidence: Evidence, end: Event | None) -> str:
    if end is None:
        return "never ended the repair"
    entries = counted(int(end.detail.get("entries", 0)), "entry", "entries")
    return f"ended the repair, with {entries} copied, not before {evidence.at(end.earliest_ns)}"


_SHOWN: tuple[Callable[[Evidence, LoggedBoot], Iterator[str]], ...] = (
    _others_unmarked,
    _closed_unfenced,
    _cleared_before_repair,
)
