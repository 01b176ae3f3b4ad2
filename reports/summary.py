"""The whole run as a short Markdown page: modes, decisions, findings, and how to repeat it."""

from __future__ import annotations

from evidence.names import ledger_names
from reports.decisions import decision_table
from reports.marks import table
from reports.results import RunResult
from reports.seeded import seeded_lines
from reports.text import finding_line, load_text, rounded


def summary_markdown(result: RunResult) -> str:
    """``summary.md`` of a run."""
    rows = (
        (one.mode, one.verdict.verdict, one.verdict.headline, "yes" if one.comparison.met else "NO")
        for one in result.modes
    )
    parts = [
        *(f"**{mode.mode}: {line}**\n" for mode in result.modes for line in seeded_lines(mode.folder)),
        f"# {result.scenario}",
        "",
        *table(("mode", "verdict", "headline", "as expected"), rows),
        "",
        *(f"- {mode.mode}: {load}" for mode in result.modes if (load := load_text(mode.folder))),
    ]
    for mode in result.modes:
        if mode.comparison.decisions:
            parts += ["", f"## {mode.mode}: decisions", "", *decision_table(mode.comparison.decisions)]
    for mode in result.modes:
        names = ledger_names(mode.folder)
        findings = [one for judgement in mode.verdict.judgements.values() for one in judgement.findings]
        if not findings:
            continue
        parts += ["", f"## {mode.mode}", ""]
        for finding in findings:
            parts.append(f"- **{finding.property}** {finding_line(finding, names)}")
            parts += [f"  - {rounded(fact)}" for fact in finding.proof]
    parts += ["", "## Repeat", "", f"    {result.repeat}", ""]
    return "\n".join(parts)
