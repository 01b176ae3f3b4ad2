"""Metadata: each version of a ledger's metadata is well formed and may follow the one before.

Sources: the replication protocol ("Ledgers"), *Closing Ledgers Safely* (figure 3). The rules
themselves are :mod:`protocol.metadata`; in-place replacement of a fragment's bookies is legal.
A change of the store's content by an injected fault is no move of BookKeeper's: a note names it, and what
follows from it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from checkers.contract import Batch, LedgerFact, LedgerFacts, RunFacts
from checkers.facts.alterations import put_back_notes
from checkers.facts.histories import Histories
from checkers.facts.ledgers import histories
from checkers.facts.versions import Version
from checkers.facts.wording import counted
from checkers.found import Found, capped
from checkers.sets.spans import Bools, Ints
from evidence.findings import Finding, Judgement, Verdict
from protocol.metadata import illegal_move, malformed


class Metadata:
    """Finds malformed versions, illegal moves, and one version number with two contents."""

    name = "metadata"
    tables: tuple[str, ...] = ("ledgers",)
    kinds: tuple[str, ...] = ("malformed", "illegal_move", "two_versions")
    facts: tuple[LedgerFact, ...] = ()

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """Nothing: versions are in no block."""
        return Found()

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:  # noqa: ARG002
        """Needs at least one version; a version that was not seen is no violation."""
        known = facts.once(histories)
        suspects = sorted((*known.odd_of, *_suspects(known)))
        chains = [chain for ledger in suspects for chain in known.chains[ledger]]
        findings = [finding for chain in chains for finding in _judged(chain, run)]
        gaps = {ledger: unseen for ledger in sorted(known.odd_of) if (unseen := known.gaps(ledger))}
        lacking = run.shortcomings(self.tables)
        enough = bool(known.of) and not lacking
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence, and at least one version of one ledger",
            seen={
                "ledgers": len(known.of),
                "versions": known.number,
                **({"put_back": len(known.put_back)} if known.put_back else {}),
                "not_seen": sum(last - first + 1 for unseen in gaps.values() for first, last in unseen),
            },
            findings=capped(findings),
            counts={kind: sum(finding.kind == kind for finding in findings) for kind in self.kinds},
            notes=(*lacking, *_not_seen(gaps, run), *put_back_notes(known, run)),
        )


def _suspects(known: Histories) -> Iterator[int]:
    """Plain ledgers with a version that is wrong, or that may not follow the one before.

    Ten thousand ledgers have few different versions and moves: each is judged once. What is wrong with a
    version rests on its kind and on whether its last fragment lies beyond its end; what is wrong with a move
    rests on both kinds and on whether last entry and length stay the same.
    """
    plain = known.plain
    kind, last, length = (plain.columns[name] for name in ("kind", "last_entry", "length_bytes"))
    begins = np.array([named[-1][0] if named else 0 for named in plain.named], dtype=np.int64)
    beyond = begins[plain.columns["fragments"]] > last + 1
    wrong = _once_each((kind, beyond), lambda row: _alone(known.at(row)) is not None)
    new = np.flatnonzero(plain.follows)
    old = new - 1
    moves = kind[old], kind[new], last[old] == last[new], length[old] == length[new]
    illegal = _once_each(moves, lambda at: _move(known.at(int(old[at])), known.at(int(new[at]))) is not None)
    yield from plain.having(np.union1d(np.flatnonzero(wrong), new[illegal]))


def _once_each(columns: Sequence[Ints | Bools], judge: Callable[[int], bool]) -> Bools:
    """``judge`` of each row's number, asked for the first only of rows that are equal in all columns."""
    if not len(columns[0]):
        return np.zeros(0, dtype=np.bool_)
    _, first, of = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    said: Bools = np.array([judge(row) for row in first.tolist()])[of.reshape(-1)]
    return said


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
        return None  # one of the two is malformed, and that was reported


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


def _not_seen(gaps: dict[int, list[tuple[int, int]]], run: RunFacts) -> Iterator[str]:
    for ledger in list(gaps)[:20]:
        runs = ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in gaps[ledger])
        yield f"{run.ledger_text(ledger)}: metadata versions {runs} not seen"
    if len(gaps) > 20:
        yield f"{counted(len(gaps) - 20, 'more ledger')} with metadata versions not seen"
