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

from collections.abc import Iterable, Iterator

from checkers.facts.ledgers import histories
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, Event, LedgerFacts, RunFacts
from checkers.judging.found import Found
from checkers.servers.evidence import LOG_READ, LoggedBoot, first_answers, logged_boots
from checkers.servers.repairers import REPAIR_ENDED, repair_ended
from checkers.servers.rules import RULES, Broken
from evidence.findings import Finding, Judgement
from protocol.wording import counted

_UP = ("listening", "registered", "answering")
_RESTS_ON = ("servers", "ledgers", "faults")


class Servers(Checker):
    """Finds a bookie that boots in another order than BP-46 promises, and autorecovery that just ends."""

    name = "servers"
    tables = ("frames", "ledgers")
    needed = "whole evidence with the log of every boot of a bookie, and a boot after another"
    kinds = (*RULES, REPAIR_ENDED)
    figures = ("boots", "suspicious", "marked", *(f"tried_{kind}" for kind in RULES))

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """The first explicit answers of each boot about each ledger; the rules are over the whole run."""
        frames = batch.frames
        return Found.from_tables(
            *(first_answers(frames, facts.memo(histories), run) if frames.num_rows else ())
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs the log of every boot, and a boot that could have broken one of the rules."""
        boots = logged_boots(run, facts.memo(histories), found)
        lacking = [*run.shortcomings(_RESTS_ON), *_unread(boots)]
        unseen = [] if lacking else run.shortcomings(("frames",))
        tried = {
            kind: [] if lacking else [result for boot in boots for result in rule(boot)]
            for kind, rule in RULES.items()
        }
        findings = [
            Finding(self.name, kind, one.ledger, text=one.text, proof=one.proof)
            for kind, results in (*tried.items(), (REPAIR_ENDED, [] if lacking else repair_ended(run)))
            for one in results
            if isinstance(one, Broken)
        ]
        return self.judgement(
            run,
            findings,
            seen={
                "boots": len(boots),
                "suspicious": sum(boot.suspicious for boot in boots),
                "marked": sum(len(boot.marks) for boot in boots),
                **{f"tried_{kind}": len(results) for kind, results in tried.items() if results},
            },
            enough=any(tried.values()),
            lacking=[*lacking, *unseen],
            idle=not (any(tried.values()) or lacking),
            notes=[] if lacking else differences(boots),
        )


def _unread(boots: list[LoggedBoot]) -> list[str]:
    """Boots that reached listening and whose log was not read: they may have done what it does not show.

    Releases before 4.15 have nothing of BP-46, and their logs none of our times: none of their logs is read.
    """
    read = {boot.bookie for boot in boots if boot.has(LOG_READ)}
    silent = [boot for boot in boots if boot.has(*_UP) and not boot.has(LOG_READ)]
    return [f"the log of {boot.name} was not read" for boot in silent if boot.bookie in read or boot.guarded]


def differences(boots: Iterable[LoggedBoot]) -> list[str]:
    """A note for each difference that some boot showed, with the first example and how many there are."""
    ended = [boot for boot in boots if boot.has("preboot_start") and boot.has("preboot_end")]
    notes = []
    for shown in (_others_unmarked, _closed_unfenced, _cleared_before_repair):
        found = [text for boot in ended if boot.guarded for text in shown(boot)]
        if found:
            more = f" ({counted(len(found), 'such case')} in all)" if len(found) > 1 else ""
            notes.append(f"differs from BP-46: {found[0]}{more}")
    return notes


def _others_unmarked(boot: LoggedBoot) -> Iterator[str]:
    """Open ledgers that got no mark, for the bookie is not in their last ensemble."""
    span = boot.all("preboot_start")[0].earliest_ns, boot.all("preboot_end")[-1].latest_ns
    for ledger in boot.ledgers.versions:
        unmarked = ledger not in boot.marks and boot.ledgers.open_all_the_while(ledger, *span)
        if unmarked and not any(boot.bookie in names for names in boot.ledgers.last_ensembles(ledger, *span)):
            yield (
                f"{boot.name} neither fenced {boot.run.ledger_text(ledger)} nor put it in limbo, for its "
                "last ensemble is of others; BP-46 does so with all open ledgers"
            )


def _closed_unfenced(boot: LoggedBoot) -> Iterator[str]:
    """Closed ledgers of the bookie, which got no fence."""
    began_ns = boot.all("preboot_start")[0].earliest_ns
    unfenced = (ledger for ledger in boot.ledgers.versions if ledger not in boot.marks)
    closed = sum(boot.ledgers.surely_closed_at(ledger, began_ns) for ledger in unfenced)
    if closed:
        yield (
            f"{boot.name} fenced no ledger that was closed before ({closed:,} of them); "
            "BP-46 fences all ledgers of the cluster"
        )


def _cleared_before_repair(boot: LoggedBoot) -> Iterator[str]:
    """Explicit answers about a ledger that had been in limbo, before its repair had ended."""
    copies, run = boot.by_ledger("ledger_check_and_copy_end"), boot.run
    answers = {how: boot.answers(how) for how in ("denied", "showed")}
    for ledger, mark in boot.marks.items():
        end = copies.get(ledger)
        until_ns = end.earliest_ns if end else boot.record.dying_ns
        for how, answer in ((how, those[ledger]) for how, those in answers.items() if ledger in those):
            if mark.latest_ns < answer.asked_ns and answer.received_ns < until_ns:
                yield (
                    f"{boot.name} {how} entry {answer.entry} of {run.ledger_text(ledger)} to "
                    f"{run.source_name(answer.source)} at {run.time_text(answer.received_ns)}, out of limbo, "
                    f"and {_repaired(boot, end)}; BP-46 ends limbo after the repair"
                )
                break


def _repaired(boot: LoggedBoot, end: Event | None) -> str:
    if end is None:
        return "never ended the repair"
    entries = counted(int(end.detail.get("entries", 0)), "entry", "entries")
    return f"ended the repair, with {entries} copied, not before {boot.run.time_text(end.earliest_ns)}"
