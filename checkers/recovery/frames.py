"""What crossed the links of recoverers: rows for the check of a batch, moments for the conclusion.

Recoverers are sources of links: clients, the observer, bookies that recover by themselves. What a
recoverer received counts, forged or not. An answer of protocol V2 that may belong to another request
counts for both where it can only excuse; a violation is only proven by ``sure`` ones. Judges no close.

An entry is written back because one bookie had it (``LedgerRecoveryOp#onEntryComplete``), and a recovery goes
on when AQ bookies have acknowledged each entry that it had read; replication copies what a plain read
returned (``LedgerFragmentReplicator``). All rows about an entry are in one block.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.facts.alterations import may_change_bytes
from checkers.facts.histories import Histories
from checkers.facts.ledgers import operations_fact
from checkers.facts.parts import flagged
from checkers.facts.wire import UNPROVEN, UNSURE_KIND, delivered_answers, denies, requests
from checkers.judging.contract import Batch, Columns, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.judging.found import (
    BOOKIE_WORDS,
    Found,
    Row,
    bookie_bits,
    bookie_sets,
    first_rows,
    set_rows,
    whole_rows,
)
from checkers.recovery.closes import Close
from checkers.sets.ordering import changes
from checkers.sets.spans import Bools, Ints, Spans, ints
from evidence.codes import NEVER, Flag, FrameFlag, Kind, Message, Status
from protocol.addresses import MAX_BOOKIES
from protocol.quorums import Quorums

FENCING, READ = Message.FENCING_LAC_READ, Message.RECOVERY_READ
_ENTRY = ["ledger", "source", "entry"]
_OF_CLOSE = ["close", "source", "entry"]
_WORDS = [f"word{number}" for number in range(BOOKIE_WORDS)]


class Moment(NamedTuple):
    """A request (``status`` NONE) when the proxy had it, or an answer that was not there before ``at_ns``.

    ``sure_lac`` is the LAC of an answer if a recoverer that received it surely went by that, else -1.
    """

    kind: int
    bookie: int
    entry: int
    at_ns: int
    status: int
    lac: int
    sure_lac: int


def _lac_beside_entries(batch: Batch) -> list[Columns]:
    told, again = (requests(batch.frames, kind) for kind in (Message.WRITE_LAC, Message.RECOVERY_ADD))
    return [
        {"ledger": told["ledger"], "since_ns": np.zeros(told.num_rows, dtype=np.int64)},
        {"ledger": again["ledger"], "since_ns": again["received_ns"]},
    ]


BESIDE = LedgerFact("lac_beside_entries", "frames", _lac_beside_entries, values={"since_ns": "min"})
"""Since when (ns) a bookie may know a higher LAC of a ledger than its last entry has.

It puts the higher one into its answers (V3), and a recoverer goes by the entry (``ReadLastConfirmedOp``).
"""
CHOSEN = operations_fact("ids_chosen", lambda rows: rows.where(kind=Kind.ADD).memo(_adv))
"""The ledgers with ids in no order, whose last entry may have any LAC."""


def _adv(rows: Rows) -> Rows:
    return rows.filter(flagged(rows, Flag.ADV))


def went_by_entries(facts: LedgerFacts, run: RunFacts) -> Callable[[int], int]:
    """Ledger -> until when (ns) recoverers surely went by the LAC of each answer to fencing."""
    if may_change_bytes(run):  # a damaged entry gives no LAC
        return lambda _: 0
    chosen, beside = {*facts.columns(CHOSEN)["ledger"].tolist()}, facts.columns(BESIDE)
    since = dict(zip(beside["ledger"].tolist(), beside["since_ns"].tolist(), strict=True))
    return lambda ledger: 0 if ledger in chosen else since.get(ledger, NEVER)


class Unstored(NamedTuple):
    """Entries that too few bookies stored, and which bookies gave and stored the first of them."""

    first: int
    last: int
    given: tuple[int, ...]
    stored: tuple[int, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[Row], since: int) -> list[Unstored]:
        """Of rows ``unstored`` of :func:`read_rows` the entries from ``since`` on, neighbours joined."""
        found: list[Unstored] = []
        for row in sorted(rows, key=lambda row: row.first):
            one = cls(max(row.first, since), row.last, *bookie_sets(row.proof[2:]))
            if found and found[-1].last + 1 == one.first:
                found[-1] = found[-1]._replace(last=one.last)
            elif one.first <= one.last:
                found.append(one)
        return found


class Written(NamedTuple):
    """The proof of entries written back: by whom, when first, and on how many positive answers."""

    source: int
    sent_ns: int
    answers: int


class Links:
    """What the conclusion knows of recoverers.

    ``moments`` are by ledger and source; ``unstored`` and ``given`` are the rows of :func:`read_rows`, by
    number of the close and source.
    """

    def __init__(self, found: Found, until_ns: Callable[[int], int]) -> None:
        self._recoverers = found.spans("recoverer")  # sources instead of entries
        self.moments: Mapping[tuple[int, int], list[Moment]] = defaultdict(list)
        rows = (column.tolist() for column in found.columns("moment"))
        for ledger, source, *moment in zip(*rows, strict=True):
            one = Moment(*moment)
            one = one if one.at_ns < until_ns(ledger) else one._replace(sure_lac=-1)
            self.moments[ledger, source].append(one)
        self.unstored = _by_close(found.firsts("unstored", 2 + 2 * BOOKIE_WORDS))
        self.given = _by_close(found.firsts("given", 2))

    def recoverers(self, ledger: int) -> list[int]:
        """Who sent a request of recovery for the ledger, ascending."""
        return [int(source) for source in self._recoverers.of_ledger(ledger).entries()]


def _by_close(rows: Sequence[Row]) -> Mapping[tuple[int, ...], list[Row]]:
    """Rows whose proofs begin with the number of a close and a source, by both."""
    found = defaultdict(list)
    for row in rows:
        found[row.proof[:2]].append(row)
    return found


def moment_rows(frames: Rows, closes: Sequence[Close]) -> Iterator[pa.Table]:
    """What decides closes: all about fencing and about the entry after each end, and who asked at all.

    And the first request of each recoverer to read, of whatever entry.
    """
    beyond = Spans.from_entries([one.ledger for one in closes], [one.beyond for one in closes])
    for kind in (FENCING, READ):
        asked = requests(frames, kind)
        yield set_rows("recoverer", Spans.from_entries(asked["ledger"], asked["source"]))
        yield _moments(kind, asked, beyond, "received_ns")
        for part in delivered_answers(frames, kind):
            yield _moments(kind, part, beyond, "forwarded_ns")


def _moments(kind: Message, rows: Rows, beyond: Spans, at_ns: str) -> pa.Table:
    """Ledger, source, and the columns of ``Moment``."""
    rows = rows.filter(np.isin(rows["ledger"], beyond.ledger))
    asked = at_ns == "received_ns"
    if kind is READ:
        deciding = beyond.has(rows["ledger"], rows["entry"])
        rows = rows.filter(deciding | _first_of_each(rows) if asked else deciding)
    status = np.full(rows.num_rows, Status.NONE) if asked else rows["delivered"]
    moment = [np.full(rows.num_rows, kind), *(rows[name] for name in ("bookie", "entry", at_ns)), status]
    own = (rows["status"] == Status.EOK) & (rows["delivered"] == Status.EOK)
    sure = own & ((rows["flags"] & int(UNPROVEN | FrameFlag.GARBLED)) == 0)
    moment += [rows["lac"], np.where(sure, rows["lac"], -1)]
    return whole_rows("moment", rows["ledger"], [rows["ledger"], rows["source"], *moment])


def _first_of_each(requests: Rows) -> Bools:
    """The first request about each ledger by each source."""
    order = np.lexsort([requests[name] for name in ("received_ns", "source", "ledger")])
    first = np.zeros(requests.num_rows, dtype=np.bool_)
    first[order] = changes(requests["ledger"][order], requests["source"][order])
    return first


def forged(frames: Rows) -> int:
    """Number of answers to recoverers that were forged by a rule of the run."""
    parts = (part for kind in (FENCING, READ) for part in delivered_answers(frames, kind))
    return sum(int(((part["flags"] & int(FrameFlag.FORGED)) != 0).sum()) for part in parts)


def read_rows(frames: Rows, closes: Sequence[Close]) -> Iterator[pa.Table]:
    """What recovery reads had given before each close, of entries up to its end; like close and source.

    ``given`` are all such entries, ``unstored`` those surely given whose adds too few bookies had
    acknowledged; these are also like in the bookies that gave them and stored them. An answer of the source's
    own bookie crosses no link; that bookie counts as having stored the entry.
    """
    answers = (
        _received(frames, READ),
        _received(frames, READ, sure=True),
        _received(frames, Message.RECOVERY_ADD),
    )
    given, sure, stored = (_bookies(_until(rows, closes), _OF_CLOSE) for rows in answers)
    ledgers, acks = ints([(one.ledger, one.version.shape[2]) for one in closes]).T
    close, source, entry = (_numbers(given, name) for name in _OF_CLOSE)
    yield first_rows("given", ledgers[close], entry, like=[close, source], proof=[])
    both = sure.join(stored, _OF_CLOSE, join_type="left outer", right_suffix=" stored", use_threads=False)
    close, source, entry = (_numbers(both, name) for name in _OF_CLOSE)
    ledger, needed = ledgers[close], acks[close] - (source <= MAX_BOOKIES)
    short = _numbers(both, "bookies stored") < needed
    sets = (_numbers(both, name) for name in (*_WORDS, *(f"{word} stored" for word in _WORDS)))
    like = [column[short] for column in (close, source, *sets)]
    yield first_rows("unstored", ledger[short], entry[short], like=like, proof=[])


def _until(rows: pa.Table, closes: Sequence[Close]) -> pa.Table:
    """The rows before a close, of entries up to its end, with the close's number; a row for each close."""
    numbers = ints([(one.ledger, one.by_ns, one.version.last_entry) for one in closes]).T
    known = pa.table([*numbers, np.arange(len(closes))], names=["ledger", "by_ns", "end", "close"])
    both = rows.join(known, "ledger", join_type="inner", use_threads=False)
    at_ns, by_ns, entry, end = (np.asarray(both[name]) for name in ("at_ns", "by_ns", "entry", "end"))
    return both.filter(pa.array((at_ns <= by_ns) & (entry >= 0) & (entry <= end)))


def written_rows(frames: Rows, metadata: Histories, bookies: Mapping[str, int]) -> Found:
    """The entries written back that no bookie had given, and those recovered otherwise than BP-46 asks.

    ``unread``: no positive read of it had reached the source before its first recovery add. ``few`` and
    ``many``: a client recovered it on fewer positive answers than AQ, beside QC other answers or more.
    """
    wrote = _table([requests(frames, Message.RECOVERY_ADD)], "received_ns")
    if not wrote.num_rows:
        return Found()
    given, plain = _received(frames, READ), _received(frames, Message.READ)
    # Plain reads by those who wrote are the base of replication.
    mine = [np.isin(plain[name], np.unique(np.asarray(wrote[name]))) for name in ("ledger", "source")]
    read = pa.concat_tables([given, plain.filter(pa.array(np.logical_and.reduce(mine)))])
    first, before = (
        table.group_by(_ENTRY, use_threads=False).aggregate([("at_ns", "min")]) for table in (wrote, read)
    )
    both = first.join(before, _ENTRY, join_type="left outer", right_suffix=" read", use_threads=False)
    for answers, name in ((given, "found"), (_received(frames, READ, _unsure), "unsure")):
        number = _bookies(answers, _ENTRY).select([*_ENTRY, "bookies"]).rename_columns([*_ENTRY, name])
        both = both.join(number, _ENTRY, use_threads=False)
    ledger, source, entry = (_numbers(both, name) for name in _ENTRY)
    sent_ns, number, others = (_numbers(both, name) for name in ("at_ns_min", "found", "unsure"))
    unread = (_numbers(both, "at_ns_min read", NEVER) > sent_ns) & ~_own(ledger, source, metadata, bookies)
    ack, coverage = _quorums(ledger, metadata)
    client = (source > MAX_BOOKIES) & (ack > 0) & (number > 0)

    def rows(kind: str, mask: Bools) -> pa.Table:
        by, *proof = (column[mask] for column in (source, sent_ns, number))  # as Written
        return first_rows(kind, ledger[mask], entry[mask], like=[by], proof=proof)

    return Found.from_tables(
        rows("unread", unread),
        rows("few", client & (number < ack)),
        rows("many", client & (others >= coverage)),
        written_back=both.num_rows,
    )


def _own(ledger: Ints, source: Ints, metadata: Histories, bookies: Mapping[str, int]) -> Bools:
    """Which rows are of bookies that their ledger names, or may name: those read from themselves unseen."""
    own = np.zeros(len(ledger), dtype=np.bool_)
    for one in np.unique(ledger[source <= MAX_BOOKIES]).tolist():
        mine = (ledger == one) & (source <= MAX_BOOKIES)
        if metadata.seen_whole(one):
            named = frozenset[str]().union(*(version.bookies for version in metadata.versions[one]))
            mine &= np.isin(source, [bookies.get(name, -1) for name in named])
        own |= mine
    return own


def _quorums(ledger: Ints, metadata: Histories) -> tuple[Ints, Ints]:
    """(AQ, QC) of each ledger by its last version; 0 where they are not known or cannot be."""
    ledgers, place = np.unique(ledger, return_inverse=True)
    found = np.zeros((2, len(ledgers)), dtype=np.int64)
    for at, one in enumerate(ledgers.tolist()):
        ensemble, write, ack = metadata.versions[one][-1].shape if one in metadata.versions else (0, 0, 0)
        if ensemble >= write >= ack >= 1:
            found[:, at] = ack, Quorums(ensemble, write, ack).coverage
    return found[0][place], found[1][place]


def _positive(status: Ints) -> Bools:
    return np.asarray(status == Status.EOK)


def _unsure(status: Ints) -> Bools:
    """Neither EOK nor an explicit negative."""
    return ~_positive(status) & ~denies(status)


def _received(
    frames: Rows, kind: Message, which: Callable[[Ints], Bools] = _positive, *, sure: bool = False
) -> pa.Table:
    """Answers to requests of one kind, or perhaps to such ones; ``at_ns``: they were not there before."""
    parts = delivered_answers(frames, kind)
    if sure:
        parts = (part.filter((part["flags"] & int(UNSURE_KIND)) == 0) for part in parts)
    return _table([part.filter(which(part["delivered"])) for part in parts], "forwarded_ns")


def _table(parts: Sequence[Rows], at_ns: str) -> pa.Table:
    """The frames that name a ledger: ledger, source, entry, bookie, ``at_ns``."""
    names = {**{name: name for name in (*_ENTRY, "bookie")}, "at_ns": at_ns}
    parts = [part.filter(part["ledger"] >= 0) for part in parts]
    columns = {name: ints(np.concatenate([part[own] for part in parts])) for name, own in names.items()}
    return pa.table(columns)


def _bookies(rows: pa.Table, keys: list[str]) -> pa.Table:
    """By key the bookies of some rows: how many (``bookies``), and which (``word0``, ...)."""
    each = rows.group_by([*keys, "bookie"], use_threads=False).aggregate([])
    for name, bits in zip(_WORDS, bookie_bits(np.asarray(each["bookie"])), strict=True):
        each = each.append_column(name, pa.array(bits))
    sums = [("bookie", "count"), *((name, "sum") for name in _WORDS)]
    return each.group_by(keys, use_threads=False).aggregate(sums).rename_columns([*keys, "bookies", *_WORDS])


def _numbers(rows: pa.Table, name: str, missing: int = 0) -> Ints:
    return np.asarray(rows[name].fill_null(missing))
