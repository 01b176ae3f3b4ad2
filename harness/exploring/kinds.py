"""The kinds of anomaly that a run showed, ``durability/lost``: what makes two failures the same one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from checkers.verdict import within_allowance
from evidence.findings import Finding, Judgement, Verdict
from evidence.folder import RunFolder, read_json
from evidence.names import ledger_names
from protocol.errors import EvidenceError


def kinds(judgements: Iterable[Judgement], allowance: int) -> frozenset[str]:
    """``property/kind`` of every anomaly that the plan's allowance does not excuse."""
    return frozenset(
        f"{finding.property}/{finding.kind}"
        for judgement in judgements
        if judgement.verdict is Verdict.ANOMALY and not within_allowance(judgement, allowance)
        for finding in judgement.findings
    )


def stored_kinds(folder: RunFolder, allowance: int) -> frozenset[str]:
    """The same of a run that was judged; ``EvidenceError`` for one that was not."""
    return kinds(_judgements(folder), allowance)


def stored_ledgers(folder: RunFolder) -> tuple[str, ...]:
    """The ledgers that have findings, by the names that the run gave them, each once."""
    names = ledger_names(folder)
    found = (finding.ledger for judgement in _judgements(folder) for finding in judgement.findings)
    return tuple(dict.fromkeys(names[ledger] for ledger in found if ledger in names))


def _judgements(folder: RunFolder) -> list[Judgement]:
    if not folder.verdict_json.is_file():
        raise EvidenceError(
            f"{folder.path} has not been judged, so nobody knows how it failed",
            remedy=f"judge it with `fencepost check {folder.path}`",
        )
    return [_judgement(tree) for tree in read_json(folder.verdict_json)["judgements"].values()]


def _judgement(tree: dict[str, Any]) -> Judgement:
    findings = [Finding(**finding) for finding in tree["findings"]]
    return Judgement(**{**tree, "verdict": Verdict(tree["verdict"]), "findings": findings})
