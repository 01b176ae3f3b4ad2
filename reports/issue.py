"""A run as Markdown for an issue of the project under test: what happened, in which steps, and the proof.

States what was judged; names no host, user or path. For a shrunk run, the steps are its smallest plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evidence.findings import Verdict
from evidence.folder import FoundRun
from evidence.recorders import read_lines
from protocol.modes import MODES
from reports.explain.moments import format_moments
from reports.page.proof import proof_of
from reports.page.stored import SEVERITY, StoredMode, stored_modes
from reports.redaction import redactor_for
from reports.repeating import repeat_command
from reports.seeded import seeded_lines
from reports.text import finding_line, rounded

SHRUNK = "shrunk.yaml"
MOST_STEPS = 30
MOST_FINDINGS = 5
_DECIDING = ("journalWriteData", "journalSyncData", "dataIntegrityChecking", "ledgerStorageClass")
"""Settings that are always shown; others when the plan or the user set them."""


def issue_markdown(found: FoundRun) -> str:
    """The text; for several modes it describes the mode with the most serious verdict."""
    mode = min(stored_modes(found), key=lambda one: SEVERITY.index(Verdict(one.verdict["verdict"])))
    shrunk = found.path / SHRUNK
    minimal = shrunk.read_text(encoding="utf-8") if shrunk.is_file() else None
    return redactor_for(found).text("\n".join([*_lines(mode, minimal), ""]))


def _lines(mode: StoredMode, minimal: str | None) -> Iterator[str]:
    run = mode.run
    for line in seeded_lines(mode.folder):
        yield from (f"**{line}**", "")
    yield f"# {_safe(mode.verdict['headline'])} (BookKeeper {run['bookkeeper']})"
    yield ""
    about = MODES[mode.folder.mode].about if mode.folder.mode in MODES else "custom settings"
    yield f"Seen on real servers with BookKeeper {', '.join(sorted(set(run['versions'].values())))}, "
    yield f"{len(run['bookies'])} bookies, mode `{mode.folder.mode}`: {about}."
    source = run["plan"].get("source") or {}
    cited = ", ".join(part for part in (source.get("document"), source.get("section")) if part)
    if cited:
        yield f"What should hold: {_safe(cited)}."
    yield from ("", "## What was found", "")
    yield from _findings(mode)
    yield from ("", "## Steps", "")
    yield from _minimal(minimal) if minimal else _steps(mode)
    yield from _proof(mode)
    yield from ("", "## Settings that matter", "", "```properties")
    yield from (f"{key}={value}" for key, value in sorted(_settings(run).items()))
    yield from ("```", "", "## Repeat", "")
    yield from ("With Fencepost, a test harness for Apache BookKeeper, at commit", f"`{run['commit']}`:", "")
    yield f"    {repeat_command([run])}"


def _findings(mode: StoredMode) -> Iterator[str]:
    if not mode.findings:
        yield f"No anomaly: the verdict is `{mode.verdict['verdict']}`."
    names = mode.tables.ledgers
    for one in mode.findings[:MOST_FINDINGS]:
        yield f"- **{one.property}** {_safe(finding_line(one, names))}"
        yield from (f"  - {_safe(rounded(fact))}" for fact in one.proof)
    if len(mode.findings) > MOST_FINDINGS:
        yield f"- and {len(mode.findings) - MOST_FINDINGS:,} more"


def _minimal(text: str) -> Iterator[str]:
    yield from (
        "The smallest plan that still shows it, found by removing steps, targets, work and servers:",
        "",
    )
    yield from ("```yaml", *text.rstrip().splitlines(), "```")


def _steps(mode: StoredMode) -> Iterator[str]:
    done = [one for one in read_lines(mode.folder.steps).records if one.get("round") == 1 and one.get("text")]
    for number, one in enumerate(done[:MOST_STEPS], start=1):
        at_s = (one["began_ns"] - mode.began_ns) / 1e9
        yield f"{number}. {_safe(str(one['text']))} ({at_s:.2f} s)"
    if len(done) > MOST_STEPS:
        yield f"\nand {len(done) - MOST_STEPS:,} more; `fencepost shrink` makes them few."


def _proof(mode: StoredMode) -> Iterator[str]:
    proof = None if mode.lacking else proof_of(mode)
    if proof is None:
        return
    yield from ("", f"## The life of {_safe(proof.title)}", "", "Seconds since the run began.", "", "```text")
    yield from (line.replace("```", "'''") for line in format_moments(proof.moments, mode.began_ns))
    if proof.hidden:
        yield f"  {proof.hidden:,} moments in the middle are left out"
    yield "```"


def _settings(run: Mapping[str, Any]) -> dict[str, str]:
    own = (run.get("user_conf") or {}).get("bookie") or {}
    chosen = {*_DECIDING, *(run["plan"].get("cluster") or {}).get("bookie_conf", {}), *own}
    conf = run["conf"]["bookie"]
    return {key: conf[key] for key in chosen if key in conf}


def _safe(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return text.replace("\n", " ").replace("<", "&lt;").replace("`", "'")
