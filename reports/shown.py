"""How many stored runs of an experiment show the same kind of anomaly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evidence.findings import Finding
from evidence.folder import every_mode, read_json
from protocol.errors import EvidenceError
from reports.page.stored import StoredMode

_SAME = ("scenario", "mode", "bookkeeper")


def shown_in_store(results: Path, mode: StoredMode, finding: Finding) -> tuple[int, int]:
    """(runs that show the kind of ``finding``, judged runs) of this scenario, mode and release.

    A run whose seeded defects, cures or settings differ is another experiment and is not counted.
    """
    shown = of = 0
    for folder in every_mode(results):
        try:
            run, verdict = folder.run(), read_json(folder.verdict_json)
        except EvidenceError:
            continue
        if not _same_experiment(run, mode.run):
            continue
        of += 1
        judgement = verdict["judgements"].get(finding.property, {})
        shown += any(one["kind"] == finding.kind for one in judgement.get("findings", ()))
    return shown, of


def _same_experiment(one: dict[str, Any], other: dict[str, Any]) -> bool:
    alike = all(one.get(key) == other.get(key) for key in _SAME)
    return alike and one["plan"].get("cluster") == other["plan"].get("cluster")
