"""The log checker: columns of transactions in, findings and a judgement out.

Elle's analysis for list-append (Kingsbury and Alvaro, VLDB 2020), in linear work for all but the
witnesses of cycles. Reads of transactions that did not commit prove nothing, nor does an element that several
transactions appended. A search that reaches its limit of work is ``unknown``, never ``valid``.

The one property of a whole run and not of single ledgers: cycles go through any rows, so a check gives the
rows themselves, those of the workload ``chain`` only. They become transactions. Source:
*Fencing* ("The scenario that violates persistence"), for what a log of several ledgers is to its readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from checkers.facts.alterations import fault_text, injected
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFacts, RunFacts
from checkers.judging.found import Found, capped, whole_rows
from checkers.log.cycles import CycleResult, SearchLimits, find_cycles
from checkers.log.direct import read_findings, within_findings
from checkers.log.edges import Edge, Edges, all_edges
from checkers.log.findings import PROPERTY, cycle_findings
from checkers.log.models import MODELS, STRONGEST, forbidden, ruled_out, weakest
from checkers.log.versions import Versions, version_orders
from evidence.codes import Kind, Outcome
from evidence.exchange.chains import NEEDED, chain_transactions, of_chains
from evidence.exchange.transactions import Micro, Transactions
from evidence.findings import Finding, Judgement, Verdict
from protocol.errors import UsageError
from protocol.faults import PUTS_BACK
from protocol.wording import counted

__all__ = ("Log", "SearchLimits", "judge_log")

_RESTS_ON = ("operations", "ledgers", "chains")


def judge_log(
    given: Transactions, *, model: str = STRONGEST, limits: SearchLimits | None = None
) -> Judgement:
    """Judge transactions over logs against a consistency model (a name of ``models.MODELS``).

    The findings are what the model forbids, ``anomaly`` if there is one; others are notes. ``counts``
    are exact for every class found: reads, transactions or components with a cycle. ``unknown`` without a
    finding when too little was seen or a search reached its limit (``limits``: work, not time).

    Raises ``UsageError`` for a model that there is not.
    """
    if model not in MODELS:
        raise UsageError(f"no consistency model {model!r}; there are {', '.join(MODELS)}")
    versions = version_orders(given)
    findings: list[Finding] = []
    counts: Counter[str] = Counter()
    for kind, number, found in (*read_findings(given, versions), *within_findings(given, versions)):
        counts[kind] += number
        findings.extend(capped(found))
    edges = all_edges(given, versions)
    seen = _seen(given, versions, edges)
    result = find_cycles(given, edges, limits or SearchLimits())
    del edges
    counts.update(result.counts)
    findings.extend(cycle_findings(given, versions, result))
    against = forbidden(model)
    wrong = [one for one in findings if one.kind in against]
    undecided = [kind for kind in result.undecided if kind in against]
    enough = seen["read_elements"] > 0 and not versions.several and not undecided
    return Judgement(
        property=PROPERTY,
        verdict=Verdict.ANOMALY if wrong else Verdict.VALID if enough else Verdict.UNKNOWN,
        needed=(
            f"for {model}: a committed read that shows an element, every element appended once, "
            "and no search at its limit"
        ),
        seen=seen,
        findings=capped(wrong),
        counts=dict(counts),
        notes=tuple(_notes(counts, model, versions.several, result, limits or SearchLimits())),
    )


def _seen(given: Transactions, versions: Versions, edges: Edges) -> Mapping[str, int]:
    """How much there was to judge."""
    ok, failed = given.outcome == Outcome.OK, given.outcome == Outcome.FAIL
    return {
        "transactions": len(given),
        "committed": int(ok.sum()),
        "failed": int(failed.sum()),
        "unknown": int((~ok & ~failed).sum()),
        "logs": len(given.key_names),
        "appends": int((given.kind == Micro.APPEND).sum()),
        "reads": len(versions.reads),
        "read_elements": int(given.length[versions.reads].sum()),
        **{
            f"{name}_edges": int(np.count_nonzero(edges.label == label))
            for name, label in (("ww", Edge.WW), ("wr", Edge.WR), ("rw", Edge.RW))
        },
    }


def _notes(
    counts: Mapping[str, int], model: str, several: int, result: CycleResult, limits: SearchLimits
) -> Iterator[str]:
    out = ruled_out(counts)
    if out:
        stronger = [name for name in out if name not in weakest(out)]
        yield f"ruled out: {', '.join(weakest(out))}" + (
            f"; so also {', '.join(stronger)}" if stronger else ""
        )
    beside = sorted(set(counts) - forbidden(model))
    if beside:
        yield f"found, and allowed by {model}: " + ", ".join(f"{kind} ({counts[kind]:,})" for kind in beside)
    if several:
        yield (
            f"{counted(several, 'append')} repeated an element that was appended to the same log before: "
            "who wrote it is not known, and no edge rests on it"
        )
    for kind in result.undecided:
        yield f"{kind}: undecided, the search reached its limit of {limits.edges:,} edges"


def _undone(run: RunFacts) -> Iterator[str]:
    """The faults that may have taken ledgers, with what was appended to them, out of the list of a log."""
    for fault in injected(run):
        if fault["kind"] in PUTS_BACK:
            yield f"{fault_text(fault)} may have taken ledgers out of a log, and their entries are not judged"


class Log(Checker):
    """Finds what no strictly serializable log shows its readers."""

    name = PROPERTY
    tables = ("operations",)
    needed = "whole evidence, a log of ledgers, a pass that showed an entry, and final reads of the whole log"
    kinds = (
        "duplicate-elements",
        "garbage-read",
        "G1a",
        "incompatible-order",
        "dirty-update",
        "G0-realtime",
        "G1c-realtime",
        "G-single-realtime",
    )
    figures = (
        "transactions", "committed", "failed", "unknown", "logs", "appends", "reads", "read_elements",
        "ww_edges", "wr_edges", "rw_edges", "passes",
    )  # fmt: skip

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """The rows of a run's logs; nothing of a run without one."""
        if not run.chains:
            return Found()
        rows = batch.operations.filter(of_chains(batch.operations, run.chains))
        return Found.from_tables(whole_rows("operation", rows["ledger"], [rows[name] for name in NEEDED]))

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:  # noqa: ARG002
        """Needs, beside what the log checker needs, a read of each log as a whole at the end."""
        required = self.name in run.required
        columns = dict(zip(NEEDED, found.columns("operation"), strict=False))
        if not run.chains or not columns:
            missing = "no log of ledgers" if not run.chains else "no client appended to a log or read it"
            judged = required or bool(run.chains)
            notes = [missing] if judged else []
            return self.judgement(run, (), seen={}, enough=False, idle=not judged, counts={}, notes=notes)
        given, unread = chain_transactions(columns, run.chains)
        known = {number: name for name, number in run.clients.items()}
        given = replace(given, caller_names={**given.caller_names, **known}, began_ns=run.began_ns)
        judged_log = judge_log(given)
        lacking = [*run.shortcomings(_RESTS_ON), *unread, *_undone(run)]
        passes = int((columns["kind"] == Kind.PASS).sum())
        verdict = judged_log.verdict
        if verdict is Verdict.VALID and lacking:
            verdict = Verdict.UNKNOWN
        return replace(
            judged_log,
            verdict=verdict,
            needed=self.needed,
            seen={**judged_log.seen, "passes": passes},
            counts={**dict.fromkeys(self.kinds, 0), **judged_log.counts},
            notes=(*lacking, *judged_log.notes),
        )
