"""Servers: BP-46's boot protocol as rules over events, by intervals.

A bookie that may have lost something marks what it may have lost before it serves, and ends limbo only when
nothing depends on it any more. What a bookie did comes from its log, what it answered from the wire log,
what a ledger was from the metadata store's. Each rule is one function with a line in ``RULES``.
"""

from __future__ import annotations

from checkers.contract import Batch, LedgerFact, LedgerFacts, RunFacts
from checkers.facts.ledgers import histories
from checkers.found import Found, capped
from checkers.servers.differences import differences
from checkers.servers.evidence import (
    LOG_READ,
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
