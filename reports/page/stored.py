"""The data of a report: one mode of a stored run, and which parts can be shown.

Reads the results of judging. A missing part gives a reason to show, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from checkers.judging.verdict import severity
from evidence.collection import read_collection
from evidence.findings import Finding, RunVerdict, Verdict, read_verdict
from evidence.folder import FoundRun, read_json
from evidence.recorders import ledger_name
from evidence.shapes import ModeTree
from protocol.addresses import OBSERVER
from protocol.errors import EvidenceError
from reports.explain.rows import Tables
from reports.explain.story import in_planned_order
from reports.page.load import COLUMNS, LoadTree, load_over_time

SEVERITY = (Verdict.ANOMALY, Verdict.UNKNOWN, Verdict.VALID, Verdict.NOT_JUDGED)


@dataclass(frozen=True)
class StoredMode(Tables):
    """One mode: ``comparison`` is what its run's verdict says of the plan's expectation, empty if nothing.

    Its tables are there only when :attr:`lacking` is empty, names of ledgers always.
    """

    comparison: ModeTree

    @cached_property
    def verdict(self) -> RunVerdict:
        """``verdict.json``; if it is missing, an ``unknown`` without judgements."""
        try:
            return read_verdict(self.folder)
        except EvidenceError as error:
            damaged = self.folder.verdict_json.exists()
            why = f"not judged: {error}" if damaged else "not judged to its end; `fencepost check` does that"
            return RunVerdict(self.run["scenario"], self.folder.mode, Verdict.UNKNOWN, why, {})

    @cached_property
    def lacking(self) -> str:
        """Why there are no tables to show, empty when there are."""
        try:
            read_collection(self.folder)
        except EvidenceError as error:
            return f"{error}"
        return ""

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """Every finding that was kept, the worst property first."""
        found = [finding for one in self.verdict.judgements.values() for finding in one.findings]
        return sorted(
            found, key=lambda one: (severity(one.property), -one.count, one.ledger, one.first_entry)
        )

    @cached_property
    def load(self) -> LoadTree:
        """What clients did over time, ready for charts."""
        operations = self.table("operations", columns=COLUMNS)
        return load_over_time(operations, self.began_ns, int(self.run["clients"].get(OBSERVER, -1)))

    def ledger_name(self, ledger: int) -> str:
        """Its name in the plan, else its number."""
        return ledger_name(self.ledgers, ledger)


def stored_modes(found: FoundRun) -> list[StoredMode]:
    """The modes of a run in the order of its plan."""
    whole = compared_modes(found.path)
    return [StoredMode(folder, whole.get(folder.mode, {})) for folder in in_planned_order(found.modes)]


def compared_modes(run: Path) -> Mapping[str, ModeTree]:
    """What the verdict of a whole run says of each mode; nothing for a run without a verdict.

    Nor for a mode that was judged again by itself, with another verdict than the one compared.
    """
    try:
        modes: Mapping[str, ModeTree] = read_json(run / "verdict.json").get("modes", {})
    except EvidenceError:
        return {}
    return {name: mode for name, mode in modes.items() if _is_of(mode, run / name / "verdict.json")}


def _is_of(mode: ModeTree, verdict: Path) -> bool:
    try:
        now = read_json(verdict)
    except EvidenceError:
        return True
    return all(mode.get(name) == now.get(name) for name in ("verdict", "headline"))
