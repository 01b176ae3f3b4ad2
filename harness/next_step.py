"""What to do after a run that did not end as expected: the next command or document."""

from __future__ import annotations

import shlex

from evidence.findings import Verdict
from harness.judging import anomalies_unstated
from reports.results import ModeResult, RunResult

NEW = "docs/how-to/find-new-bugs.md"


def next_step(result: RunResult) -> str:
    """One sentence for the mode that decides the exit code; empty when every mode is as expected."""
    wrong = [mode for mode in result.modes if not mode.comparison.met]
    for mode in wrong:
        if mode.comparison.unexpected or mode.comparison.contradicted:
            return f"{_explain(result, mode)}follow {NEW} from step 2, with {result.path} as RUN"
    return _again(wrong[0]) if wrong else ""


def _explain(result: RunResult, mode: ModeResult) -> str:
    """The command for the first entry, else the first ledger, of what was not expected, if it has any."""
    found = [one for one in anomalies_unstated(mode.verdict, mode.folder) if one.ledger]
    if not found:
        return ""
    first = next((one for one in found if one.first >= 0), found[0])
    subject = first.ledger.removeprefix("ledger ") + (f":{first.first}" if first.first >= 0 else "")
    return f"fencepost explain {shlex.quote(str(result.path))} {subject} --mode {mode.mode}; then "


def _again(mode: ModeResult) -> str:
    if mode.verdict.damage:
        return "repeat it; `damaged evidence:` above says what is missing or was changed"
    if mode.verdict.verdict is Verdict.UNKNOWN:
        return "repeat it on a machine that does nothing else; `needed:` above says what was missing"
    if mode.comparison.missed:
        return "repeat it with --times 5; what had to break may be fixed, or prevented by your settings"
    return "repeat it on a machine that does nothing else; the lines below the verdict say what was missing"
