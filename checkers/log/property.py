"""Log: what was appended to a log made of ledgers stays where it is, for every reader.

The one property of a whole run and not of single ledgers: cycles go through any rows, so a check gives the
rows themselves, those of the workload ``chain`` only. They become transactions, and the log checker
judges them as it judges those of any other store. Sources: Elle (see :mod:`checkers.log.checker`);
*Fencing* ("The scenario that violates persistence"), for what a log of several ledgers is to its readers.
"""

from __future__ import annotations

from dataclasses import replace

from checkers.contract import Batch, Found, LedgerFact, LedgerFacts, RunFacts
from checkers.facts.damage import shortcomings
from checkers.found import whole_rows
from checkers.log.checker import judge_log
from checkers.log.findings import PROPERTY
from evidence.codes import Kind
from evidence.exchange.chains import NEEDED, chain_transactions, of_chains
from evidence.findings import Judgement, Verdict

_RESTS_ON = ("operations", "ledgers", "chains")
_NEEDS = (
    "whole evidence, a log of ledgers, an acknowledged append, a pass that showed an entry, "
    "and final reads of the whole log"
)


class Log:
    """Finds what no strictly serializable log shows its readers."""

    name = PROPERTY
    tables: tuple[str, ...] = ("operations",)
    facts: tuple[LedgerFact, ...] = ()
    kinds: tuple[str, ...] = (
        *("duplicate-elements", "garbage-read", "G1a", "incompatible-order", "dirty-update"),
        *("G0-realtime", "G1c-realtime", "G-single-realtime"),
    )

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """The rows of a run's logs; nothing of a run without one."""
        if not run.chains:
            return Found()
        rows = batch.operations.where(of_chains(batch.operations, run.chains))
        return Found.of(whole_rows("operation", rows["ledger"], [rows[name] for name in NEEDED]))

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:  # noqa: ARG002
        """Needs, beside what the log checker needs, a read of each log as a whole at the end."""
        required = self.name in run.required
        columns = dict(zip(NEEDED, found.columns("operation"), strict=False))
        if not run.chains or not columns:
            missing = "no log of ledgers" if not run.chains else "no client appended to a log or read it"
            judged = required or bool(run.chains)
            return Judgement(
                property=self.name,
                verdict=Verdict.UNKNOWN if judged else Verdict.NOT_JUDGED,
                needed=_NEEDS,
                notes=(missing,) if judged else (),
            )
        given, unread = chain_transactions(columns, run.chains)
        known = {number: name for name, number in run.clients.items()}
        given = replace(given, caller_names={**given.caller_names, **known}, began_ns=run.began_ns)
        judged_log = judge_log(given)
        lacking = [*shortcomings(run, _RESTS_ON), *unread]
        passes = int((columns["kind"] == Kind.PASS).sum())
        verdict = judged_log.verdict
        if verdict is Verdict.VALID and lacking:
            verdict = Verdict.UNKNOWN
        return replace(
            judged_log,
            verdict=verdict,
            needed=_NEEDS,
            seen={**judged_log.seen, "passes": passes},
            counts={**dict.fromkeys(self.kinds, 0), **judged_log.counts},
            notes=(*lacking, *judged_log.notes),
        )
