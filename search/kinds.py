"""The kinds of a run's failures, such as ``durability/lost``; two failures of one kind count as the same.

Anomalies, and one kind that no checker reports: the cluster did not become quiet after everything was
healed. No document limits how long that may take, so it is no anomaly, but a search looks for it as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from checkers.verdict import within_allowance
from evidence.findings import Finding, Judgement, Verdict
from evidence.folder import RunFolder, read_json
from evidence.names import ledger_names
from evidence.recorders import read_lines
from harness.finals import NOT_QUIET
from plans.expectations import standing
from protocol.errors import EvidenceError

NEVER_QUIET = "quiet/never"


def kinds(judgements: Iterable[Judgement]) -> frozenset[str]:
    """``property/kind`` of every anomaly that the plan's allowance does not excuse."""
    return frozenset(
        f"{finding.property}/{finding.kind}"
        for judgement in judgements
        if judgement.verdict is Verdict.ANOMALY and not within_allowance(judgement)
        for finding in judgement.findings
    )


def known_kinds(folder: RunFolder) -> frozenset[str]:
    """The known defects that any plan of a run's mode and release may meet (:mod:`plans.expectations`)."""
    facts = folder.run()
    known = standing(facts["mode"], facts["bookkeeper"])
    return frozenset(f"{defect.property}/{defect.kind}" for defect in known)


def stored_kinds(folder: RunFolder) -> frozenset[str]:
    """The kinds of a judged run; ``EvidenceError`` when it was not judged."""
    return shown(folder, _judgements(folder))


def shown(folder: RunFolder, judgements: Iterable[Judgement]) -> frozenset[str]:
    """All kinds of a run: those of what was judged in it, and whether it was never quiet."""
    return kinds(judgements) | ({NEVER_QUIET} if not_quiet(folder) else frozenset())


def not_quiet(folder: RunFolder) -> str:
    """Why the cluster did not become quiet at the end of a run; empty when it did, or no step waited."""
    told = (record["error"] for record in read_lines(folder.steps).records if record.get("step") == NOT_QUIET)
    return str(next(told, ""))


def stored_ledgers(folder: RunFolder) -> tuple[str, ...]:
    """The ledgers that have findings, by the names that the run gave them, each once."""
    names = ledger_names(folder)
    found = (finding.ledger for judgement in _judgements(folder) for finding in judgement.findings)
    return tuple(dict.fromkeys(names[ledger] for ledger in found if ledger in names))


def _judgements(folder: RunFolder) -> list[Judgement]:
    if not folder.verdict_json.is_file():
        raise EvidenceError(
            f"{folder.path} has not been judged, so its failure is not known",
            remedy=f"judge it with `fencepost check {folder.path}`",
        )
    return [_judgement(tree) for tree in read_json(folder.verdict_json)["judgements"].values()]


def _judgement(tree: dict[str, Any]) -> Judgement:
    findings = [Finding(**finding) for finding in tree["findings"]]
    return Judgement(**{**tree, "verdict": Verdict(tree["verdict"]), "findings": findings})
