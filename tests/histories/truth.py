"""What really happened in a simulated run, by looking into its bookies and clients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evidence.codes import Kind, Outcome
from tests.histories.clients import Writer
from tests.histories.cluster import CLOSED, Cluster
from tests.histories.openers import Closing, Opener

Entries = frozenset[tuple[int, int]]
Answers = frozenset[tuple[int, int, int, int]]


@dataclass(frozen=True)
class Truth:
    """The truth.

    Of ledgers that were not deleted, as (ledger, entry): ``acked``, and of these the ``cut_off`` by
    a close, the ``nowhere`` ones, the ``unreadable``. ``acked_after_close``: added after the
    ledger was closed, beyond its end, and acknowledged.

    As (bookie, boot, ledger, entry), of what a bookie had said in the same boot before it got the
    question: ``took_though_fenced`` and ``denied``, entries that it had taken. ``denied_in_limbo`` are
    denials of a bookie that may have lost entries, about a ledger that was not closed.

    Ledgers that a recoverer closed on less than its quorums, by the answers that had been passed on
    to it: ``closed_on_too_few`` denials, ``fenced_too_few`` bookies.
    """

    acked: Entries
    cut_off: Entries
    nowhere: Entries
    unreadable: Entries
    acked_after_close: Entries
    took_though_fenced: Answers
    denied: Answers
    denied_in_limbo: Answers
    closed_on_too_few: frozenset[int]
    fenced_too_few: frozenset[int]


def truth_of(cluster: Cluster, writers: list[Writer], recoverers: Iterable[Opener]) -> Truth:
    acked, cut_off, nowhere, unreadable = set(), set(), set(), set()
    for ledger, entry in _promised(writers):
        read = cluster.read(ledger)
        if read is None:
            continue
        acked.add((ledger, entry))
        holders = {n for n in named(cluster, ledger) if cluster.bookies[n].holds(ledger, entry)}
        if read.state == CLOSED and read.last < entry:
            cut_off.add((ledger, entry))
        elif not holders:
            nowhere.add((ledger, entry))
        if (ledger, entry) in cut_off or read.state != CLOSED or not holders & set(read.targets(entry)):
            unreadable.add((ledger, entry))
    closings = [closing for opener in recoverers for closing in opener.closings]
    return Truth(
        frozenset(acked),
        frozenset(cut_off),
        frozenset(nowhere),
        frozenset(unreadable),
        frozenset(_after_close(cluster, writers)),
        _wrongs(cluster, "took though fenced"),
        _wrongs(cluster, "denied what it took"),
        _wrongs(cluster, "denied in limbo"),
        frozenset(c.ledger for c in closings if _too_few_denials(cluster, c)),
        frozenset(c.ledger for c in closings if _too_few_fenced(cluster, c)),
    )


def named(cluster: Cluster, ledger: int) -> set[int]:
    """Bookies that some version of the metadata names; no client looks anywhere else."""
    fragments = [fragment for version in cluster.versions[ledger] for fragment in version.fragments]
    return {bookie for _, bookies in fragments for bookie in bookies}


def _promised(writers: list[Writer]) -> Entries:
    """Entries of ok adds; of deferred ones only if an ok force followed."""
    promised = set()
    for writer in writers:
        forces = [r for r in writer.rows if r["kind"] == Kind.FORCE and r["outcome"] == Outcome.OK]
        limit = max((row["entry"] for row in forces), default=-1)
        acked = [r for r in writer.rows if r["kind"] == Kind.ADD and r["outcome"] == Outcome.OK]
        kept = [row["entry"] for row in acked if not writer.late or row["entry"] <= limit]
        promised.update((writer.ledger, entry) for entry in kept)
    return frozenset(promised)


def _after_close(cluster: Cluster, writers: list[Writer]) -> set[tuple[int, int]]:
    found = set()
    for writer in writers:
        closed = [version for version in cluster.versions[writer.ledger] if version.state == CLOSED]
        for row in writer.rows:
            added = row["kind"] == Kind.ADD and row["outcome"] == Outcome.OK and bool(closed)
            if added and row["invoked_ns"] > closed[0].at_ns and row["entry"] > closed[0].last:
                found.add((writer.ledger, row["entry"]))
    return found


def _wrongs(cluster: Cluster, what: str) -> Answers:
    return frozenset(wrong[1:] for wrong in cluster.network.log.wrongs if wrong[0] == what)


def _shape(cluster: Cluster, closing: Closing) -> tuple[int, int, int]:
    return cluster.versions[closing.ledger][0].shape


def _too_few_denials(cluster: Cluster, closing: Closing) -> bool:
    _, write, ack = _shape(cluster, closing)
    return len(closing.denied) < write - ack + 1


def _too_few_fenced(cluster: Cluster, closing: Closing) -> bool:
    """Whether an ack quorum of some write set had said nothing to the fencing."""
    ensemble, write, ack = _shape(cluster, closing)
    bookies = cluster.versions[closing.ledger][closing.version - 1].fragments[-1][1]
    silent = [position for position in range(ensemble) if bookies[position] not in closing.fenced]
    return any(
        sum((position - entry) % ensemble < write for position in silent) >= ack for entry in range(ensemble)
    )
