"""A run as text for a terminal, and its summary in Markdown: the verdict, each property, the smallest proof.

Shows what the plan and the judging said and adds nothing to it. A line for a terminal is (text, style).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap

from evidence.findings import Finding, Judgement, RunVerdict, Verdict
from evidence.folder import RunFolder
from evidence.recorders import ledger_name, ledger_names
from evidence.shapes import MachineLoad
from plans.expected.comparison import Comparison
from plans.expected.decisions import Decided
from protocol.modes import MODES
from protocol.wording import counted
from reports.marks import table
from reports.results import RunResult
from reports.seeded import seeded_lines

Line = tuple[str, str]

STYLE = {
    Verdict.VALID: "green",
    Verdict.ANOMALY: "red",
    Verdict.UNKNOWN: "yellow",
    Verdict.NOT_JUDGED: "dim",
}
_CLASSES = {
    "explained": "recorded faults took every copy",
    "unexplained": "no recorded fault explains the loss",
    "forged": "the close followed an answer that the run had injected",
    "put_back": "the run had set the ledger's metadata back",
    "undetermined": "it is not proven how every copy was lost",
}
"""The classes of a loss in a few words; the rules are in docs/verdicts/losses.md."""
HEADINGS = ("case", "document", "decision", "difference")
_WIDEST = (24, 44, 30, 40)
_GAP = "  "
_NO_DIFFERENCE = "-"
_EXACT_TIME = re.compile(r"\b\d+\.\d{9}(?= s\b)")
_SHOWN_FINDINGS = 3
BUSY = 0.5
"""From which share of a run's time with a wait for a core on reports say that its machine was busy."""


def mode_title(mode: str) -> str:
    """A mode and what it means."""
    return f"{mode}: {MODES[mode].about}" if mode in MODES else mode


def verdict_lines(verdict: RunVerdict, comparison: Comparison, folder: RunFolder) -> Iterator[Line]:
    """The headline, what is not valid with its proof, the plan's expectation, what clients decided."""
    names = ledger_names(folder)
    yield f"  {verdict.verdict.value.upper()}: {verdict.headline}", STYLE[verdict.verdict]
    yield f"    {property_row(verdict)}", "dim"
    for judgement in verdict.judgements.values():
        yield from _judgement_lines(judgement, names)
    for damage in verdict.damage:
        yield f"    damaged evidence: {damage}", "yellow"
    evidence = verdict.judgements.get("evidence")
    if evidence and (idle := evidence.seen.get("idle_faults", 0)):
        text = f"{idle} of {counted(evidence.seen['faults'], 'fault')} had no observed effect"
        yield f"    {text}; see the notes of `evidence` in verdict.json", "yellow"
    for reason in comparison.reasons:
        yield f"    {reason}", "" if comparison.met else "red"
    yield from decision_lines(comparison.decisions)


def _judgement_lines(judgement: Judgement, names: dict[int, str]) -> Iterator[Line]:
    if judgement.verdict in (Verdict.VALID, Verdict.NOT_JUDGED):
        return
    yield f"    {judgement.property}: {judgement.verdict.value}", STYLE[judgement.verdict]
    for finding in list(judgement.findings)[:_SHOWN_FINDINGS]:
        yield f"      {finding_line(finding, names)}", ""
        for fact in finding.proof:
            yield f"        - {rounded(fact)}", "dim"
    hidden = len(judgement.findings) - _SHOWN_FINDINGS
    if hidden > 0:
        yield f"      and {hidden} more in verdict.json", "dim"
    if judgement.verdict is Verdict.UNKNOWN:
        yield f"      needed: {judgement.needed}", "dim"
        for note in judgement.notes:
            yield f"      {rounded(note)}", "dim"


def finding_line(finding: Finding, names: Mapping[int, str]) -> str:
    """One finding as one line: what, where, how many, which class; of a whole ledger also the reason."""
    if finding.ledger < 0:
        return f"{finding.kind}: {finding.text}"
    where = ledger_name(names, finding.ledger)
    if finding.first_entry < 0:
        return f"{finding.kind}: {where}: {finding.text.partition(': ')[2]}"
    where += f" {finding.first_entry}"
    if finding.last_entry > finding.first_entry:
        where += f"..{finding.last_entry}"
    loss = f", class {finding.loss}: {_CLASSES[finding.loss]}" if finding.loss else ""
    return f"{finding.kind}: {where} ({finding.count:,} in all{loss})"


def rounded(text: str) -> str:
    """A proof with its times as ``fencepost explain`` shows them; ``verdict.json`` has the nanoseconds."""
    return _EXACT_TIME.sub(lambda time: f"{float(time[0]):.4f}", text)


def plain(text: str) -> str:
    """Text for a cell of Markdown: without line breaks, tags and code marks."""
    return text.replace("\n", " ").replace("<", "&lt;").replace("`", "'")


def busy_text(began: MachineLoad, ended: MachineLoad) -> str:
    """That the machine was busy, from what a run recorded as ``load`` at its beginning and end; else empty.

    It may explain a timeout, and is never part of a verdict.
    """
    share = ended.get("cpu_pressure")
    if share is None or share <= BUSY:
        return ""
    waited = f"processes waited for a core {_percent(share)} of the time (more than {_percent(BUSY)})"
    averages = (
        f"load average {began.get('average', 'unknown')} at the beginning, {ended['average']} at the end"
    )
    return f"the machine was busy: {waited}; {averages}"


def load_text(folder: RunFolder) -> str:
    """What a run took of the processor, and how busy its machine was; empty where that was not recorded."""
    ended = (folder.end() or {}).get("load") or {}
    if "cpu_s" not in ended:
        return ""
    spent_s = ended["cpu_s"]
    spent = "processor time unknown" if spent_s is None else f"{spent_s:.1f} s of processor time"
    if ended.get("cpu_pressure") is None:
        return f"{spent}; how long processes waited for a core is unknown"
    return "; ".join(filter(None, (spent, busy_text(folder.run().get("load", {}), ended))))


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def property_row(verdict: RunVerdict) -> str:
    """Every property with its verdict, on one line, grouped by verdict."""
    groups: dict[str, list[str]] = {}
    for name, judgement in verdict.judgements.items():
        groups.setdefault(judgement.verdict.value, []).append(name)
    return "; ".join(f"{value}: {', '.join(properties)}" for value, properties in groups.items())


def decision_lines(decisions: Sequence[Decided]) -> Iterator[tuple[str, str]]:
    """The table for a terminal as (text, style); none without decisions. Long cells go over several lines."""
    if not decisions:
        return
    rows = [_cells(one) for one in decisions]
    columns = list(zip(HEADINGS, *rows, strict=True))
    widths = [min(widest, max(map(len, column))) for widest, column in zip(_WIDEST, columns, strict=True)]
    for line in _wrapped(HEADINGS, widths):
        yield line, "dim"
    for one, row in zip(decisions, rows, strict=True):
        for line in _wrapped(row, widths):
            yield line, "" if one.met else "red"


def decision_table(decisions: Sequence[Decided]) -> Iterator[str]:
    """The table in Markdown, with a column that says whether the plan stated it so."""
    rows = ((*_cells(one), "yes" if one.met else "NO") for one in decisions)
    return table((*HEADINGS, "as expected"), rows)


def _cells(one: Decided) -> tuple[str, ...]:
    often = f" ({one.shown} of {one.of})" if one.of > 1 and one.met else ""
    return one.case, one.document, f"{one.decision}{often}", one.difference or _NO_DIFFERENCE


def _wrapped(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    columns = [wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*columns, fillvalue=""):
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        yield f"    {_GAP.join(padded)}".rstrip()


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
