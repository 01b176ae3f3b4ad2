"""Ensembles, write sets and quorum coverage of a ledger.

Sources: the BookKeeper replication protocol (write quorums, round robin), BP-46 "A note
on Quorums", and *Closing Ledgers Safely* (quorum coverage). Pure arithmetic.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quorums:
    """Ensemble size E, write quorum WQ and ack quorum AQ of a ledger; E >= WQ >= AQ >= 1."""

    ensemble: int
    write: int
    ack: int

    def __post_init__(self) -> None:
        if not self.ensemble >= self.write >= self.ack >= 1:
            raise ValueError(
                f"quorums must satisfy E >= WQ >= AQ >= 1, not E={self.ensemble} "
                f"WQ={self.write} AQ={self.ack}"
            )

    @property
    def coverage(self) -> int:
        """QC = (WQ - AQ) + 1: bookies of one write set that leave no ack quorum outside (BP-46)."""
        return self.write - self.ack + 1

    @property
    def ensemble_coverage(self) -> int:
        """EC = (E - AQ) + 1: the same over the whole ensemble (BP-46)."""
        return self.ensemble - self.ack + 1

    def write_set(self, entry: int) -> tuple[int, ...]:
        """Positions in the ensemble that store ``entry``: WQ of them from ``entry % E`` on."""
        return tuple((entry + i) % self.ensemble for i in range(self.write))

    def write_sets(self) -> Iterator[tuple[int, ...]]:
        """The distinct write sets of one ensemble (E of them, or one when WQ = E)."""
        if self.write == self.ensemble:
            yield tuple(range(self.ensemble))
            return
        for first in range(self.ensemble):
            yield self.write_set(first)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A run of entries with one ensemble: the first entry and its bookies, in order."""

    first_entry: int
    bookies: tuple[str, ...]


def fragment_of(fragments: Sequence[Fragment], entry: int) -> Fragment:
    """The fragment that ``entry`` belongs to; ``fragments`` are sorted by first entry.

    Raises ``ValueError`` when there is no fragment at or before the entry.
    """
    number = bisect_right(fragments, entry, key=lambda fragment: fragment.first_entry)
    if not number:
        raise ValueError(f"no fragment covers entry {entry}")
    return fragments[number - 1]


def fenced(known: Collection[int], quorums: Quorums) -> bool:
    """Whether fencing answers from ``known`` ensemble positions suffice.

    Legal when every write set has fewer than AQ positions without an answer
    (*Closing Ledgers Safely*, "Quorum Coverage"; the client's own rule).
    """
    return len(unknown_in(known, quorums)) < quorums.ack


def unrecoverable(denied: Collection[int], quorums: Quorums, entry: int) -> bool:
    """Whether explicit negatives from ensemble positions ``denied`` end the ledger before ``entry``.

    QC bookies of the entry's write set must have denied it, each counted once: then no ack quorum can
    hold it (*Closing Ledgers Safely*, "Quorum Coverage"; BP-46, "Recovery read"; ``ReadOpBase``).
    """
    return len(set(denied).intersection(quorums.write_set(entry))) >= quorums.coverage


def unknown_in(known: Collection[int], quorums: Quorums) -> tuple[int, ...]:
    """The positions without an answer, ascending, of the write set with the most of them."""
    answered = set(known)
    sets = (tuple(sorted(set(write_set) - answered)) for write_set in quorums.write_sets())
    return max(sets, key=len)
