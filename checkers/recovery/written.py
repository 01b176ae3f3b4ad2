"""What recoverers and replicators wrote back, held against what bookies had given them and acknowledged.

An entry is written back because one bookie had it (``LedgerRecoveryOp#onEntryComplete``), and a recovery goes
on when AQ bookies have acknowledged each entry that it had read; replication copies what a plain read
returned (``LedgerFragmentReplicator``). All rows about an entry are in one block. The tables come from
:mod:`checkers.recovery.links`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from checkers.contract import Rows
from checkers.facts.histories import Histories
from checkers.found import BOOKIE_WORDS, Found, bookie_bits, first_rows
from checkers.recovery.closes import Close
from checkers.recovery.links import ENTRY, READ, received, sent, unsure
from checkers.sets.spans import Bools, Ints, ints
from evidence.codes import NEVER, Message
from protocol.addresses import MAX_BOOKIES
from protocol.quorums import Quorums

_WORDS = [f"word{number}" for number in range(BOOKIE_WORDS)]
_OF_CLOSE = ["close", "source", "entry"]


def read_rows(frames: Rows, closes: Sequence[Close]) -> Iterator[pa.Table]:
    """What recovery reads had given before each close, of entries up to its end; like close and source.

    ``given`` are all such entries, ``unstored`` those surely given whose adds too few bookies had
    acknowledged; the proof of these are the bookies that gave the first entry and stored it. An answer of the
    source's own bookie crosses no link; that bookie counts as having stored the entry.
    """
    answers = (
        received(frames, READ),
        received(frames, READ, sure=True),
        received(frames, Message.RECOVERY_ADD),
    )
    given, sure, stored = (_bookies(_until(rows, closes), _OF_CLOSE) for rows in answers)
    ledgers, acks = ints([(one.ledger, one.version.shape[2]) for one in closes]).T
    close, source, entry = (_numbers(given, name) for name in _OF_CLOSE)
    yield first_rows("given", ledgers[close], entry, like=[close, source], proof=[])
    both = sure.join(stored, _OF_CLOSE, join_type="left outer", right_suffix=" stored", use_threads=False)
    close, source, entry = (_numbers(both, name) for name in _OF_CLOSE)
    ledger, needed = ledgers[close], acks[close] - (source <= MAX_BOOKIES)
    short = (needed > 0) & (_numbers(both, "bookies stored") < needed)
    proof = [_numbers(both, name)[short] for name in (*_WORDS, *(f"{word} stored" for word in _WORDS))]
    yield first_rows("unstored", ledger[short], entry[short], like=[close[short], source[short]], proof=proof)


def _until(rows: pa.Table, closes: Sequence[Close]) -> pa.Table:
    """The rows before a close, of entries up to its end, with the close's number; a row for each close."""
    numbers = ints([(one.ledger, one.by_ns, one.version.last_entry) for one in closes]).T
    known = pa.table([*numbers, np.arange(len(closes))], names=["ledger", "by_ns", "end", "close"])
    both = rows.join(known, "ledger", join_type="inner", use_threads=False)
    at_ns, by_ns, entry, end = (np.asarray(both[name]) for name in ("at_ns", "by_ns", "entry", "end"))
    return both.filter(pa.array((at_ns <= by_ns) & (entry >= 0) & (entry <= end)))


def _bookies(rows: pa.Table, keys: list[str]) -> pa.Table:
    """By key the bookies of some rows: how many (``bookies``), and which (``word0``, ...)."""
    each = rows.group_by([*keys, "bookie"], use_threads=False).aggregate([])
    for name, bits in zip(_WORDS, bookie_bits(np.asarray(each["bookie"])), strict=True):
        each = each.append_column(name, pa.array(bits))
    sums = [("bookie", "count"), *((name, "sum") for name in _WORDS)]
    return each.group_by(keys, use_threads=False).aggregate(sums).rename_columns([*keys, "bookies", *_WORDS])


def _numbers(rows: pa.Table, name: str, missing: int = 0) -> Ints:
    return np.asarray(rows[name].fill_null(missing))


def written_rows(frames: Rows, metadata: Histories, bookies: Mapping[str, int]) -> Found:
    """The entries written back that no bookie had given, and those recovered otherwise than BP-46 asks.

    ``unread``: no positive read of it had reached the source before its first recovery add; the proof is when
    that was sent. ``few`` and ``many``: a client recovered it on fewer positive answers than AQ (the proof
    is how many), beside QC other answers or more.
    """
    wrote = sent(frames, Message.RECOVERY_ADD)
    if not wrote.num_rows:
        return Found()
    given = received(frames, READ)
    read = pa.concat_tables([given, _of_sources(wrote, received(frames, Message.READ))])
    first, before = (
        table.group_by(ENTRY, use_threads=False).aggregate([("at_ns", "min")]) for table in (wrote, read)
    )
    both = first.join(before, ENTRY, join_type="left outer", right_suffix=" read", use_threads=False)
    for answers, name in ((given, "found"), (received(frames, READ, unsure), "unsure")):
        number = _bookies(answers, ENTRY).select([*ENTRY, "bookies"]).rename_columns([*ENTRY, name])
        both = both.join(number, ENTRY, use_threads=False)
    ledger, source, entry = (_numbers(both, name) for name in ENTRY)
    sent_ns, number, others = (_numbers(both, name) for name in ("at_ns_min", "found", "unsure"))
    unread = (_numbers(both, "at_ns_min read", NEVER) > sent_ns) & ~_own(ledger, source, metadata, bookies)
    ack, coverage = _quorums(ledger, metadata)
    client = (source > MAX_BOOKIES) & (ack > 0) & (number > 0)

    def rows(kind: str, mask: Bools, *proof: Ints) -> pa.Table:
        columns = [column[mask] for column in proof]
        return first_rows(kind, ledger[mask], entry[mask], like=[source[mask]], proof=columns)

    return Found.of(
        rows("unread", unread, sent_ns),
        rows("few", client & (number < ack), number),
        rows("many", client & (others >= coverage)),
        written_back=both.num_rows,
    )


def _of_sources(wrote: pa.Table, reads: pa.Table) -> pa.Table:
    """Plain reads by those who wrote, the base of replication."""
    mine = [np.isin(reads[name], np.unique(np.asarray(wrote[name]))) for name in ("ledger", "source")]
    return reads.filter(pa.array(np.logical_and.reduce(mine)))


def _own(ledger: Ints, source: Ints, metadata: Histories, bookies: Mapping[str, int]) -> Bools:
    """Which rows are of bookies that their ledger names, or may name: those read from themselves unseen."""
    own = np.zeros(len(ledger), dtype=np.bool_)
    for one in np.unique(ledger[source <= MAX_BOOKIES]).tolist():
        mine = (ledger == one) & (source <= MAX_BOOKIES)
        if metadata.seen_whole(one):
            named = frozenset[str]().union(*(version.bookies for version in metadata.of[one]))
            mine &= np.isin(source, [bookies.get(name, -1) for name in named])
        own |= mine
    return own


def _quorums(ledger: Ints, metadata: Histories) -> tuple[Ints, Ints]:
    """(AQ, QC) of each ledger by its last version; 0 where they are not known or cannot be."""
    ledgers, place = np.unique(ledger, return_inverse=True)
    found = np.zeros((2, len(ledgers)), dtype=np.int64)
    for at, one in enumerate(ledgers.tolist()):
        ensemble, write, ack = metadata.of[one][-1].shape if one in metadata.of else (0, 0, 0)
        if ensemble >= write >= ack >= 1:
            found[:, at] = ack, Quorums(ensemble, write, ack).coverage
    return found[0][place], found[1][place]
