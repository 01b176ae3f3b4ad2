"""Metadata: each version of a ledger's metadata is well formed and may follow those before.

Sources: the replication protocol ("Ledgers"), *Closing Ledgers Safely* (figure 3). The rules
themselves are :mod:`protocol.metadata`; in-place replacement of a fragment's bookies is legal. What no
move may do, no sequence of moves may do: two versions are compared also where those between them were not
seen.
A change of the store's content by an injected fault is no move of BookKeeper's: a note names it, and what
follows from it is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from checkers.facts.alterations import lives_hidden, put_back_notes
from checkers.facts.ledgers import histories
from checkers.facts.versions import Version
from checkers.facts.wording import listed, some_notes
from checkers.judging.contract import Checker, LedgerFacts, RunFacts
from checkers.judging.found import Found, capped
from evidence.findings import Finding, Judgement, Verdict
from protocol.metadata import LedgerMetadata, illegal_move, malformed


class Metadata(Checker):
    """Finds malformed versions, illegal moves, and one version number with two contents."""

    name = "metadata"
    tables = ("ledgers",)
    kinds = ("malformed", "illegal_move", "two_versions")

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:  # noqa: ARG002
        """Needs at least one version; that others were not seen is no violation."""
        known = facts.once(histories)
        chains = [chain for chains in known.chains.values() for chain in chains]
        findings = [finding for chain in chains if not lives_hidden(run) for finding in _judged(chain, run)]
        gaps = {ledger: unseen for ledger in known.of if (unseen := known.gaps(ledger))}
        lacking = run.shortcomings(self.tables)
        enough = bool(known.of) and not lacking
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence, and at least one version of one ledger",
            seen={
                "ledgers": len(known.of),
                "versions": sum(map(len, chains)),
                **({"put_back": len(known.put_back)} if known.put_back else {}),
                "not_seen": sum(last - first + 1 for unseen in gaps.values() for first, last in unseen),
            },
            findings=capped(findings),
            counts={kind: sum(finding.kind == kind for finding in findings) for kind in self.kinds},
            notes=(*lacking, *_not_seen(gaps, run), *put_back_notes(known, run)),
        )


def _judged(chain: tuple[Version, ...], run: RunFacts) -> Iterator[Finding]:
    """What is wrong with the versions of one ledger."""
    known = [_metadata(version) for version in chain]
    for version, metadata in zip(chain, known, strict=True):
        if wrong := metadata if isinstance(metadata, str) else malformed(metadata):
            yield _finding("malformed", version, wrong, (_sentence(version),), run)
    for (old, before), (new, after) in pairwise(zip(chain, known, strict=True)):
        if old.version == new.version:
            if old.what != new.what:
                proof = (_sentence(old), _sentence(new))
                yield _finding("two_versions", new, "one version number, two contents", proof, run)
        elif isinstance(before, str) or isinstance(after, str):
            continue  # malformed: that was reported
        elif wrong := illegal_move(before, after):
            yield _finding("illegal_move", new, wrong, (_sentence(old), _sentence(new)), run)


def _metadata(version: Version) -> LedgerMetadata | str:
    """What the version says, or why it cannot be."""
    try:
        return version.metadata()
    except ValueError as error:
        return str(error)


def _sentence(version: Version) -> str:
    try:
        state = version.metadata().state.name
    except ValueError:
        state = f"state {version.state}"
    end = f" at {version.last_entry}, {version.length_bytes} bytes" if version.closed else ""
    fragments = "; ".join(f"{first}: {', '.join(bookies)}" for first, bookies in version.fragments)
    return f"metadata version {version.version}: {state}{end}, fragments {fragments}"


def _finding(kind: str, version: Version, wrong: str, proof: tuple[str, ...], run: RunFacts) -> Finding:
    return Finding(
        property=Metadata.name,
        kind=kind,
        ledger=version.ledger,
        text=f"{run.ledger_text(version.ledger)}, version {version.version}: {wrong}",
        proof=proof,
    )


def _not_seen(gaps: dict[int, list[tuple[int, int]]], run: RunFacts) -> list[str]:
    def note(ledger: int) -> str:
        runs = listed(str(a) if a == b else f"{a}..{b}" for a, b in gaps[ledger])
        return f"{run.ledger_text(ledger)}: metadata versions {runs} not seen"

    return some_notes(list(gaps), note, "ledger", " with metadata versions not seen")
