"""A run as Markdown for an issue of the project under test, in the form of BookKeeper's bug reports.

States what was judged; names no host, user or path. For a shrunk run, the steps are its smallest plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from evidence.findings import Finding, Verdict, read_verdict
from evidence.folder import FoundRun, every_mode
from evidence.recorders import read_lines
from evidence.shapes import RunTree, Settings, StepLine
from plans.grammar.rounds import ledger_and_round
from protocol.errors import EvidenceError
from protocol.modes import MODES
from protocol.wording import counted
from reports.document import render
from reports.explain.moments import format_moments
from reports.page.proof import Proof, proof_of
from reports.page.stored import SEVERITY, StoredMode, stored_modes
from reports.redaction import redactor_for
from reports.results import repeat_command
from reports.seeded import seeded_lines
from reports.text import finding_line, plain

SHRUNK = "shrunk.yaml"
MOST_STEPS = 30
MOST_FINDINGS = 5
MOST_LOG_LINES = 12
_COMPONENTS = {
    "answers": "Bookie",
    "closing": "Ledger recovery",
    "content": "Client",
    "durability": "Bookie",
    "fencing": "Bookie",
    "lac": "Client",
    "metadata": "Ledger metadata",
    "order": "Client",
    "placement": "Placement policy",
    "recovery": "Ledger recovery",
    "replicas": "AutoRecovery",
    "servers": "Data integrity check",
}
"""Where a violated property shows; the cause may be elsewhere."""
_DECIDING = ("journalWriteData", "journalSyncData", "dataIntegrityChecking", "ledgerStorageClass")
"""Settings that are always shown; others when they are not BookKeeper's defaults."""
_OF_THE_MACHINE = re.compile(
    r"Director|Address|Uri|Interface|Loopback|bookieId|bookiePort|http|Threads|Cache|Buffer|Pool|Preallo|PreAlloc"
    r"|minUsable|TopologyScript|ensemblePlacementPolicy$"
)
"""Paths, addresses and sizes with which several bookies share one machine."""
_ERROR = re.compile(r"^\d+ \d+ ERROR +(.*)$")
_HARMLESS = "this is okay if it is the first time"


def issue_markdown(found: FoundRun, results: Path | None = None) -> str:
    """The text; for several modes it describes the mode with the most serious verdict.

    Raises ``EvidenceError`` when that mode was not judged.
    ``results`` is the store in which the runs that showed the same are counted, or None.
    """
    mode = min(stored_modes(found), key=lambda one: SEVERITY.index(one.verdict.verdict))
    if not mode.verdict.judgements:
        raise EvidenceError(
            f"the mode {mode.folder.mode} was not judged to its end", remedy="`fencepost check` does that"
        )
    shrunk = found.path / SHRUNK
    run, proof = mode.run, None if mode.lacking else proof_of(mode)
    host, source = run.get("host") or {}, run["plan"].get("source") or {}
    seeded, pages = seeded_lines(mode.folder), list(pages_of(run["scenario"]))
    text = render(
        "issue.md.jinja",
        seeded=seeded,
        title=_title(mode, [] if seeded else pages),
        verdict=mode.verdict,
        pages=pages,
        minimal=shrunk.read_text(encoding="utf-8").rstrip() if shrunk.is_file() else "",
        steps=_steps(mode),
        settings=_settings(run),
        run=run,
        repeat=repeat_command([run]),
        cited=", ".join(part for part in (source.get("document"), source.get("section")) if part),
        **_findings(mode),
        proof=proof,
        moments=list(_moments(proof, mode)) if proof else [],
        errors=_errors(mode),
        often=list(_often(mode, results)),
        releases=", ".join(sorted(set(run["versions"].values()))),
        mode=mode.folder.mode,
        about=MODES[mode.folder.mode].about if mode.folder.mode in MODES else "custom settings",
        system=" ".join(str(host[key]) for key in ("system", "kernel", "machine") if host.get(key)),
    )
    return redactor_for(found).text(str(text))


def _title(mode: StoredMode, pages: Sequence[tuple[str, str]]) -> str:
    """Component and symptom: ``Bookie: entries 0..49 lost (DbLedgerStorage, BookKeeper 4.18.0)``.

    A run that went as its plan states has the title of the one page that describes it.
    """
    release = f"BookKeeper {mode.run['bookkeeper']}"
    if len(pages) == 1 and mode.findings and mode.comparison.get("met"):
        return f"{pages[0][1]} ({release})"
    if not mode.findings:
        return f"{plain(mode.verdict.headline)} ({release})"
    first = mode.findings[0]
    storage = str(mode.run["conf"]["bookie"].get("ledgerStorageClass", "")).rpartition(".")[2]
    where = ", ".join(part for part in (storage, release) if part)
    component = _COMPONENTS.get(first.property, first.property.capitalize())
    return f"{component}: {plain(_symptom(mode, first))} ({where})"


def _symptom(mode: StoredMode, finding: Finding) -> str:
    if finding.kind == "lost" and mode.verdict.judgements[finding.property].counts.get("acknowledged_gone"):
        return mode.verdict.headline.partition(";")[0]
    where = f" in {mode.ledger_name(finding.ledger)}" if finding.ledger >= 0 else ""
    return f"{finding.kind.replace('_', ' ')}, {finding.count:,}{where}"


def pages_of(scenario: str) -> Iterator[tuple[str, str]]:
    """Pages of findings that name the scenario as their reproduction: name and title."""
    row = r"^\| \*\*Reproduce\*\* \|.*`fencepost run "
    command = re.compile(rf"(?:^fencepost run |{row}){re.escape(scenario)}(?![\w/-])", re.M)
    homes = [parent / "docs" / "findings" for parent in Path(__file__).parents]
    for page in sorted(page for home in homes for page in home.glob("*.md") if page.name != "README.md"):
        text = page.read_text(encoding="utf-8")
        if command.search(text):
            yield page.name, text.partition("\n")[0].removeprefix("# ")


def _findings(mode: StoredMode) -> dict[str, object]:
    """The first findings of the most serious one's ledger, and how many more there are."""
    names = mode.ledgers
    shown = [one for one in mode.findings if one.ledger == mode.findings[0].ledger][:MOST_FINDINGS]
    more = len(mode.findings) - len(shown)
    return {
        "findings": [(one, finding_line(one, names)) for one in shown],
        "more_findings": counted(more, "more finding") if more else "",
    }


def _steps(mode: StoredMode) -> dict[str, object]:
    """The steps of the round in which the most serious finding's ledger was created.

    Without the waits until a fault has acted: the fault's step says what it does.
    """
    done: list[StepLine] = [
        one
        for one in read_lines(mode.folder.steps).records
        if one.get("text") and "began_ns" in one and one.get("params", {}).get("condition") != "acted"
    ]
    own = mode.round_of(mode.findings[0].ledger) if mode.findings else None
    first_ns = own[0] if own else mode.began_ns
    shown = [one for one in done if own is None or own[0] <= one["began_ns"] <= own[1]]
    return {
        "round": shown[-1].get("round") if own and shown else None,
        "rounds": len({one.get("round") for one in done} - {None}),
        "shown": [
            (str(one["text"]), f"{(one['began_ns'] - first_ns) / 1e9:.2f}") for one in shown[:MOST_STEPS]
        ],
        "more": len(shown) - MOST_STEPS,
    }


def _moments(proof: Proof, mode: StoredMode) -> Iterator[str]:
    for place, line in enumerate(format_moments(proof.moments, mode.began_ns)):
        if place in proof.gaps:
            yield f"  ({proof.gaps[place]:,} left out)"
        yield line


def _errors(mode: StoredMode) -> list[str]:
    """Errors in the logs of bookies, each once: texts that differ in numbers only are one."""
    found: dict[str, str] = {}
    for log in mode.folder.boot_logs():
        server, boot = log.parent.name, log.stem.replace("boot-", "boot ")
        if server not in mode.run["bookies"]:
            continue
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if (error := _ERROR.match(line)) and _HARMLESS not in line:
                found.setdefault(re.sub(r"\d+", "#", error[1]), f"{server} {boot}  ERROR {error[1]}"[:200])
    more = len(found) - MOST_LOG_LINES
    return [*list(found.values())[:MOST_LOG_LINES], *([f"and {more:,} more"] if more > 0 else [])]


def _often(mode: StoredMode, results: Path | None) -> Iterator[str]:
    if not mode.findings:
        yield "Not shown."
        return
    first = mode.findings[0]
    rounds = mode.run["plan"].get("rounds", 1)
    if rounds > 1:
        alike = [one for one in mode.findings if (one.property, one.kind) == (first.property, first.kind)]
        own = {ledger_and_round(mode.ledger_name(one.ledger), rounds)[1] for one in alike if one.ledger >= 0}
        yield f"In {len(own)} of {rounds} rounds of this run."
    if results is not None:
        shown, of = _shown_in_store(results, mode, first)
        if of:
            yield (
                f"In {shown} of {of} stored runs of `{mode.run['scenario']}` in mode `{mode.folder.mode}` "
                f"on BookKeeper {mode.run['bookkeeper']}."
            )


def _shown_in_store(results: Path, mode: StoredMode, finding: Finding) -> tuple[int, int]:
    """(runs that show the kind of ``finding``, runs that decided its property) of this scenario and mode.

    A run whose seeded defects, cures or settings differ is another experiment and is not counted.
    """
    shown = of = 0
    for folder in every_mode(results):
        try:
            run, verdict = folder.run(), read_verdict(folder)
        except EvidenceError:
            continue
        judgement = verdict.judgements.get(finding.property)
        if _experiment(run) != _experiment(mode.run) or judgement is None:
            continue
        of += judgement.verdict is not Verdict.UNKNOWN
        shown += any(one.kind == finding.kind for one in judgement.findings)
    return shown, of


def _experiment(run: RunTree) -> list[object]:
    """What runs of one experiment share."""
    plan = run["plan"]
    return [
        *(run.get(key) for key in ("scenario", "mode", "bookkeeper")),
        *(plan.get("cluster"), plan.get("vary") or {}, run.get("user_conf") or {}),
    ]


def _settings(run: RunTree) -> dict[str, list[tuple[str, str]]]:
    """Bookies' and clients' settings, without those of this machine unless the plan or the user set them."""
    conf, own, planned = run["conf"], run.get("user_conf") or {}, run["plan"].get("cluster") or {}
    return {
        "bookies": _shown(conf.get("bookie"), planned.get("bookie_conf"), own.get("bookie")),
        "clients": _shown(conf.get("client"), planned.get("client_conf"), own.get("client")),
    }


def _shown(conf: Settings | None, *chosen: Settings | None) -> list[tuple[str, str]]:
    """Settings by key, without those of this machine unless they were ``chosen``."""
    keys = {*_DECIDING, *(key for settings in chosen for key in settings or ())}
    return sorted(
        (key, value) for key, value in (conf or {}).items() if key in keys or not _OF_THE_MACHINE.search(key)
    )
