"""Puts the page of one run together: verdict first, then for each mode its proof, its time, its numbers.

``templates/report.html`` and ``templates/mode.html`` are the page; here is what they show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evidence.findings import Judgement, Verdict
from evidence.folder import FoundRun, write_text
from evidence.shapes import DecidedTree, RunTree
from protocol.modes import MODES
from reports.document import CHARTS, document
from reports.page.census import census
from reports.page.diagram import diagram
from reports.page.proof import proof_of
from reports.page.stored import SEVERITY, StoredMode, stored_modes
from reports.page.timeline import timeline
from reports.results import repeat_command
from reports.seeded import seeded_lines
from reports.text import finding_line, load_text, rounded

NAME = "report.html"
MOST_FINDINGS = 12
MOST_NOTES = 12


def write_page(found: FoundRun, target: Path | None = None) -> Path:
    """Write the page of a run, in its folder unless ``target`` says where; return where.

    ``EvidenceError`` when the disk refuses.
    """
    path = target or found.path / NAME
    write_text(path, page(stored_modes(found)))
    return path


def page(modes: Sequence[StoredMode]) -> str:
    """The whole document of a run's modes."""
    run = modes[0].run
    source = run["plan"].get("source") or {}
    # A mode that is not as expected is shown first, then the most serious verdict.
    first = min(modes, key=lambda one: (one.comparison.get("met", True), SEVERITY.index(one.verdict.verdict)))
    return document(
        "report.html",
        run["scenario"],
        styles=(CHARTS[1], "base.css", "page.css"),
        scripts=(CHARTS[0], "lanes.js", "page.js"),
        run=run,
        cited=", ".join(part for part in (source.get("document"), source.get("section")) if part),
        seeded=[f"{mode.folder.mode}: {line}" for mode in modes for line in seeded_lines(mode.folder)],
        modes=[_mode(mode) for mode in modes],
        repeat=repeat_command([mode.run for mode in modes]),
        charts={
            mode.folder.mode: None if mode.lacking else {"lanes": timeline(mode), "load": mode.load}
            for mode in modes
        },
        first=first.folder.mode,
    )


def _mode(mode: StoredMode) -> dict[str, object]:
    """What the template shows of a mode."""
    name, names, conf = mode.folder.mode, mode.ledgers, mode.run["conf"]
    shown: dict[str, object] = {
        "name": name,
        "about": MODES[name].about if name in MODES else "",
        "verdict": mode.verdict,
        "met": mode.comparison.get("met"),
        "reasons": [str(one).removeprefix("as expected: ") for one in mode.comparison.get("reasons", ())],
        "load": load_text(mode.folder),
        "findings": [
            (one.property, finding_line(one, names), list(map(rounded, one.proof)))
            for one in mode.findings[:MOST_FINDINGS]
        ],
        "more_findings": len(mode.findings) - MOST_FINDINGS,
        "lacking": mode.lacking,
        "decisions": [_decision(one) for one in mode.comparison.get("decisions", ())],
        "properties": _properties(mode.verdict.judgements),
        "facts": _facts(mode.run),
        "settings": [
            (f"{whose} {key}", value)
            for whose, own in (("bookie", conf.get("bookie", {})), ("client", conf.get("client", {})))
            for key, value in sorted(own.items())
        ],
    }
    return shown if mode.lacking else shown | _evidence(mode)


def _evidence(mode: StoredMode) -> dict[str, object]:
    """What is shown of a mode only while its tables are there."""
    proof = proof_of(mode)
    return {
        "proof": proof,
        "diagram": diagram(proof, mode.began_ns) if proof else "",
        "totals": [[name, f"{number:,}", *rest] for name, number, *rest in mode.load.get("totals", [])],
        "census": census(mode),
    }


def _decision(one: DecidedTree) -> tuple[str, ...]:
    """What a client decided beside what the document demands."""
    met = f"{'yes' if one['met'] else 'NO'} ({one['shown']} of {one['of']})"
    return one["case"], one["document"], one["decision"], one["difference"], met


def _properties(judgements: Mapping[str, Judgement]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Each property with its verdict and what it rests on, the worst first."""
    ranked = sorted(judgements.items(), key=lambda item: SEVERITY.index(item[1].verdict))
    return [(name, one.verdict, list(_rests_on(one))) for name, one in ranked]


def _rests_on(judgement: Judgement) -> Iterable[tuple[str, str]]:
    """Lines as (class, text): what was counted, what it needed when it is unknown, notes."""
    notes = list(judgement.notes)
    if counts := _numbers((name, number) for name, number in judgement.counts.items() if number):
        yield "", f"found: {counts}"
    if judgement.verdict is Verdict.UNKNOWN:
        yield "", f"needed: {judgement.needed}"
    if seen := _numbers(judgement.seen.items()):
        yield "muted", f"seen: {seen}"
    yield from (("note", rounded(note)) for note in notes[:MOST_NOTES])
    if len(notes) > MOST_NOTES:
        yield "muted", f"and {len(notes) - MOST_NOTES} more notes"


def _numbers(named: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} = {number:,}" for name, number in named)


def _facts(run: RunTree) -> list[tuple[str, object]]:
    """What a reader needs to repeat or weigh it: no host, no path, no user."""
    return [
        ("BookKeeper", ", ".join(sorted(set(run["versions"].values())))),
        ("seed", run["seed"]),
        ("bookies", len(run["bookies"])),
        ("clients", ", ".join(run["clients"])),
        ("commit of Fencepost", f"{run['commit'][:12]}{' with changes' if run['dirty'] else ''}"),
    ]
