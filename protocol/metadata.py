"""Ledger metadata: its states and the legal moves from one version to the next.

Sources: the replication protocol ("Ledgers", "Closing a ledger"), *Closing Ledgers Safely*
(figure 3). Independent of ZooKeeper's encoding (``protocol.wire``) and of evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from protocol.quorums import Fragment, Quorums


class LedgerState(IntEnum):
    """The lifecycle of a ledger; the numbers are BookKeeper's own (DataFormats.proto)."""

    OPEN = 1
    IN_RECOVERY = 2
    CLOSED = 3


@dataclass(frozen=True, slots=True)
class LedgerMetadata:
    """One version of a ledger's metadata; ``last_entry`` is None unless CLOSED (-1: empty)."""

    state: LedgerState
    quorums: Quorums
    last_entry: int | None
    length_bytes: int
    fragments: tuple[Fragment, ...]


def illegal_move(old: LedgerMetadata, new: LedgerMetadata) -> str | None:
    """Why ``new`` cannot follow ``old``, or None when it can.

    Fragments' first entries never vanish and only grow; a fragment's bookies may be replaced,
    never their number; a closed ledger's last entry and length never change; CLOSED is final.
    """
    if old.quorums != new.quorums:
        return f"quorums changed from {old.quorums} to {new.quorums}"
    if old.state is LedgerState.CLOSED:
        if new.state is not LedgerState.CLOSED:
            return f"CLOSED ledger became {new.state.name}"
        if old.last_entry != new.last_entry:
            return f"closed last entry changed from {old.last_entry} to {new.last_entry}"
        if old.length_bytes != new.length_bytes:
            return f"length of the closed ledger changed from {old.length_bytes} to {new.length_bytes} bytes"
    if old.state is LedgerState.IN_RECOVERY and new.state is LedgerState.OPEN:
        return "IN_RECOVERY ledger became OPEN"
    return _illegal_fragments(old, new)


def malformed(metadata: LedgerMetadata) -> str | None:
    """Why one version is invalid regardless of other versions, or None.

    A fragment begins at most one entry after the LAC of its client, and no close is below that LAC:
    recovery never starts below the last fragment (``LedgerRecoveryOp``).
    """
    firsts = [fragment.first_entry for fragment in metadata.fragments]
    if not firsts or firsts[0] != 0:
        return f"fragments begin at {firsts[:1] or 'nothing'}, not at entry 0"
    if any(b <= a for a, b in pairwise(firsts)):
        return f"first entries of fragments do not increase: {firsts}"
    if metadata.last_entry is not None and firsts[-1] > metadata.last_entry + 1:
        return f"a fragment begins at entry {firsts[-1]}, and the ledger is closed at {metadata.last_entry}"
    for fragment in metadata.fragments:
        if len(fragment.bookies) != metadata.quorums.ensemble:
            return (
                f"fragment {fragment.first_entry} has {len(fragment.bookies)} bookies, "
                f"E is {metadata.quorums.ensemble}"
            )
        if len(set(fragment.bookies)) != len(fragment.bookies):
            return f"fragment {fragment.first_entry} names a bookie twice: {fragment.bookies}"
    return None


def _illegal_fragments(old: LedgerMetadata, new: LedgerMetadata) -> str | None:
    before = [fragment.first_entry for fragment in old.fragments]
    after = [fragment.first_entry for fragment in new.fragments]
    if after[: len(before)] != before:
        return f"fragments' first entries changed from {before} to {after}"
    if old.state is LedgerState.CLOSED and after != before:
        return f"CLOSED ledger gained fragments: {before} to {after}"
    return None
