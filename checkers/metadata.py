"""Metadata: each version of a ledger's metadata is well formed and may follow the one before.

Sources: the replication protocol ("Ledgers"), *Closing Ledgers Safely* (figure 3). The rules
themselves are :mod:`protocol.metadata`; in-place replacement of a fragment's bookies is legal.
What a fault of ours did to the store's content is no move of BookKeeper's: it is named, and judged is
what follows from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.histories import Histories, histories_of
from checkers.facts.putback import put_back_notes
from checkers.facts.versions import Version, Versions, scan_versions
from checkers.facts.wording import counted, ledger_text
from checkers.sets.capping import capped
from evidence.findings import Finding, Judgement, Verdict
from protocol.metadata import illegal_move, malformed


class Metadata:
    """Convicts malformed versions, illegal moves, and one version number with two meanings."""

    name = "metadata"
    tables: tuple[str, ...] = ("ledgers",)
    kinds: tuple[str, ...] = ("malformed", "illegal_move", "two_versions")

    def scan(self, chunk: Chunk, run: RunFacts) -> Versions:  # noqa: ARG002  # as agreed
        """The versions of one chunk."""
        return scan_versions(chunk)

    def merge(self, left: Versions, right: Versions) -> Versions:
        """Both."""
        return left | right

    def conclude(self, summary: Versions, run: RunFacts) -> Judgement:
        """Needs at least one version; a version that was not seen convicts nobody."""
        histories = histories_of(summary)
        suspects = sorted((*histories.odd_of, *_suspects(histories)))
        chains = [chain for ledger in suspects for chain in histories.chains[ledger]]
        findings = [finding for chain in chains for finding in _judged(chain, run)]
        gaps = {ledger: unseen for ledger in sorted(histories.odd_of) if (unseen := histories.gaps(ledger))}
        lacking = shortcomings(run, self.tables)
        enough = bool(histories.of) and not lacking
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence, and at least one version of one ledger",
            seen={
                "ledgers": len(histories.of),
                "versions": histories.number,
                **({"put_back": len(histories.put_back)} if histories.put_back else {}),
                "not_seen": sum(last - first + 1 for unseen in gaps.values() for first, last in unseen),
            },
            findings=capped(findings),
            counts={kind: sum(finding.kind == kind for finding in findings) for kind in self.kinds},
            notes=(*lacking, *_not_seen(gaps, run), *put_back_notes(histories, run)),
        )


def _suspects(histories: Histories) -> Iterator[int]:
    """Plain ledgers with a version that is wrong, or that may not follow the one before.

    What is said of a version rests on its kind and on whether its last fragment lies beyond its end, and what
    of a move on the kinds of both versions and on whether last entry and length are the same: one of each is
    looked at.
    """
    plain = histories.plain
    kind, last, length = (plain.columns[name] for name in ("kind", "last_entry", "length_bytes"))
    begins = np.array([named[-1][0] if named else 0 for named in plain.named], dtype=np.int64)
    beyond = begins[plain.columns["fragments"]] > last + 1 if len(kind) else np.zeros(0, dtype=np.bool_)
    alone = np.stack([kind, beyond], axis=1)
    _, sample, of = np.unique(alone, axis=0, return_index=True, return_inverse=True)
    wrong = np.array([_alone(histories.at(row)) is not None for row in sample.tolist()], dtype=np.bool_)
    suspect = wrong[of.reshape(-1)] if len(kind) else np.zeros(0, dtype=np.bool_)
    new = np.flatnonzero(plain.follows)
    same_length = length[new - 1] == length[new]
    moves = np.stack([kind[new - 1], kind[new], last[new - 1] == last[new], same_length], axis=1)
    _, sample, of = np.unique(moves, axis=0, return_index=True, return_inverse=True)
    illegal = [_move(histories.at(row - 1), histories.at(row)) is not None for row in new[sample].tolist()]
    suspect[new] |= np.array(illegal, dtype=np.bool_)[of.reshape(-1)]
    yield from plain.having(suspect)


def _judged(chain: tuple[Version, ...], run: RunFacts) -> Iterator[Finding]:
    """What is wrong with the versions of one ledger."""
    for version in chain:
        wrong = _alone(version)
        if wrong:
            yield _finding("malformed", version, wrong, (_sentence(version),), run)
    for old, new in pairwise(chain):
        if old.version == new.version:
            if old.what != new.what:
                proof = (_sentence(old), _sentence(new))
                yield _finding("two_versions", new, "one version number, two contents", proof, run)
        elif new.version == old.version + 1:
            wrong = _move(old, new)
            if wrong:
                yield _finding("illegal_move", new, wrong, (_sentence(old), _sentence(new)), run)


def _alone(version: Version) -> str | None:
    try:
        return malformed(version.metadata())
    except ValueError as error:
        return str(error)


def _move(old: Version, new: Version) -> str | None:
    try:
        return illegal_move(old.metadata(), new.metadata())
    except ValueError:
        return None  # one of the two is malformed by itself, and that was said


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
        text=f"{ledger_text(run, version.ledger)}, version {version.version}: {wrong}",
        proof=proof,
    )


def _not_seen(gaps: dict[int, list[tuple[int, int]]], run: RunFacts) -> Iterator[str]:
    for ledger in list(gaps)[:20]:
        runs = ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in gaps[ledger])
        yield f"{ledger_text(run, ledger)}: metadata versions {runs} not seen"
    if len(gaps) > 20:
        yield f"{counted(len(gaps) - 20, 'more ledger')} with metadata versions not seen"
