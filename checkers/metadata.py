"""Metadata: each version of a ledger's metadata is well formed and may follow those before.

Sources: the replication protocol ("Ledgers"), *Closing Ledgers Safely* (figure 3). The rules
themselves are :mod:`protocol.metadata`; in-place replacement of a fragment's bookies is legal. What no
move may do, no sequence of moves may do: two versions are compared also where those between them were not
seen.
A change of the store's content by an injected fault is no move of BookKeeper's: a note names it, and what
follows from it is judged.

The length of a closed ledger is the sum of the bytes of its entries (``LedgerMetadata.getLength``). The
entries' sizes are the ones known to clients: of acknowledged adds, and of payloads that prove themselves. A
recovery may take another length over (docs/findings/recovered-length.md): 0, or that of other entries, so at
most that of all adds that were tried. A writer knows its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from checkers.facts.alterations import put_back_hidden, put_back_notes
from checkers.facts.ledgers import histories, operations_fact
from checkers.facts.parts import acked, delivered, flagged, proven
from checkers.facts.versions import Version
from checkers.facts.wording import some_notes
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFacts, RunFacts, by_ledger, value_at
from checkers.judging.found import Found, ledger_rows
from checkers.sets.marks import Marks
from evidence.codes import Flag, Kind
from evidence.findings import Finding, Judgement
from protocol.metadata import LedgerMetadata, LedgerState, illegal_move, malformed
from protocol.wording import counted

LOOSE = operations_fact(
    "loose_length", lambda rows: rows.filter(flagged(rows, Flag.DEFERRED_SYNC | Flag.ADV))
)
"""Ledgers of DEFERRED_SYNC or of chosen ids. A close cuts off deferred adds and keeps their bytes in the
length; the entries of an advanced handle carry a length by the order of calls, which recovery takes over."""


class Metadata(Checker):
    """Finds malformed versions, illegal moves, one version number with two contents, and wrong lengths."""

    name = "metadata"
    tables = ("ledgers",)
    needed = "whole evidence, and at least one version of one ledger"
    kinds = (
        "malformed",
        "illegal_move",
        "two_versions",
        "wrong_length",
        "impossible_length",
        "wrong_own_length",
    )
    figures = ("ledgers", "versions", "lengths", "put_back", "not_seen")
    facts = (LOOSE,)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """The bytes of the entries of closed ledgers, and entries that are known with two sizes."""
        ends = by_ledger(facts.memo(histories).ends)
        sizes = Marks.empty()
        for rows in (batch.operations.memo(acked), batch.operations.memo(delivered).memo(proven)):
            kept = rows.filter(rows["entry"] <= value_at(*ends, rows["ledger"], missing=-1))
            sizes |= Marks.from_rows(
                kept["ledger"], kept["entry"], np.zeros(kept.num_rows), kept["size_bytes"]
            )
        number, two = sizes.last - sizes.first + 1, sizes.twice()
        adds = batch.operations.where(kind=Kind.ADD)
        return Found.from_tables(
            ledger_rows("sized", sizes.ledger, sizes.first, sizes.last, count=number),
            ledger_rows("bytes", sizes.ledger, sizes.first, sizes.last, count=number * sizes.mark),
            ledger_rows("two_sizes", two.ledger, two.first, two.last),
            ledger_rows("tried", adds["ledger"], adds["entry"], count=adds["size_bytes"]),
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs at least one version; that others were not seen is no violation."""
        known = facts.memo(histories)
        chains = [chain for chains in known.chains.values() for chain in chains]
        hidden = put_back_hidden(run)
        findings = [] if hidden else [finding for chain in chains for finding in _judged(chain, run)]
        lengths = [] if hidden else list(_lengths(found, facts))
        findings += [_wrong_length(one, run) for one in lengths if one.wrong]
        return self.judgement(
            run,
            findings,
            seen={
                "ledgers": len(known.versions),
                "versions": sum(map(len, chains)),
                "lengths": len(lengths),
                **({"put_back": len(known.put_back)} if known.put_back else {}),
                "not_seen": sum(last - first + 1 for unseen in known.gaps.values() for first, last in unseen),
            },
            enough=known.versions,
            lacking=run.shortcomings(self.tables),
            notes=(
                *_not_seen(known.gaps, run),
                *_not_compared(
                    {*known.closes} - {*known.put_back} - {one.close.ledger for one in lengths}, run
                ),
                *put_back_notes(known, run),
            ),
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


class Length(NamedTuple):
    """What a closed ledger should have as its length, its last version, and the bytes of all adds to it.

    ``own`` says that its writer closed it: it was never in recovery.
    """

    close: Version
    size_bytes: int
    tried_bytes: int
    own: bool

    @property
    def wrong(self) -> bool:
        """Whether the metadata says otherwise."""
        return self.close.length_bytes != self.size_bytes

    @property
    def kind(self) -> str:
        """Of the finding where it is wrong."""
        if self.own:
            return "wrong_own_length"
        return "wrong_length" if 0 <= self.close.length_bytes <= self.tried_bytes else "impossible_length"


def _lengths(found: Found, facts: LedgerFacts) -> Iterator[Length]:
    """Of each closed ledger, if the size of each of its entries is known."""
    known = facts.memo(histories)
    sized, size_bytes, tried_bytes = (
        {row.ledger: row.number for row in found.by_ledger(kind)} for kind in ("sized", "bytes", "tried")
    )
    left_out = {
        *known.put_back,
        *(row[0] for row in facts.rows(LOOSE)),
        *(row.ledger for row in found.by_ledger("two_sizes")),
    }
    for ledger, close in known.closes.items():
        if ledger not in left_out and sized.get(ledger, 0) == close.last_entry + 1:
            states = {version.version: version.state for version in known.versions[ledger]}
            seen = len(states) == max(states) + 1
            own = seen and LedgerState.IN_RECOVERY not in states.values()
            yield Length(close, size_bytes.get(ledger, 0), tried_bytes.get(ledger, 0), own)


def _not_compared(ledgers: set[int], run: RunFacts) -> Iterator[str]:
    if ledgers:
        yield (
            f"{counted(len(ledgers), 'closed ledger')} whose length was not compared with the entries, "
            f"first {run.ledger_text(min(ledgers))}"
        )


def _wrong_length(length: Length, run: RunFacts) -> Finding:
    close = length.close
    return run.finding(
        f"metadata/{length.kind}",
        (close.ledger,),
        f"closed {'by its writer ' if length.own else ''}at {close.last_entry} with the length "
        f"{close.length_bytes}, and its entries have {length.size_bytes} bytes",
        _sentence(close),
        f"the acknowledged adds and the reads of its {counted(close.last_entry + 1, 'entry', 'entries')} "
        f"have {length.size_bytes} bytes",
    )


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
    return run.finding(f"metadata/{kind}", (version.ledger,), f"version {version.version}: {wrong}", *proof)


def _not_seen(gaps: Mapping[int, Sequence[tuple[int, int]]], run: RunFacts) -> list[str]:
    def note(ledger: int) -> str:
        runs = ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in gaps[ledger])
        return f"{run.ledger_text(ledger)}: metadata versions {runs} not seen"

    return some_notes(list(gaps), note, "ledger", " with metadata versions not seen")
