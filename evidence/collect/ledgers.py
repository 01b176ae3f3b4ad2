"""ZooKeeper's transactions and the observer's watch to the tables ``ledgers`` and ``chains``.

One row is one version of a ledger's metadata. A version is in force not before ZooKeeper stamped
its transaction (wall clock, see :mod:`evidence.collect.clock`) and not later than the observer saw it
or a later one. Judges nothing: an illegal version is a row like any other.

A wall clock that jumped is no evidence: times that decrease along the transactions, and a version that was
seen before its stamp, are damage.

Where a fault restored an older content of the store, each ledger that this changed has one more row,
``put_back``, with the restored version. So has a ledger that was deleted already, if another ledger gets its
id afterwards. Version numbers begin again there, so an observed number no longer dates a version: such a
ledger's versions were in force not later than the store's next shutdown for such a fault, and versions after
the last such fault have no upper bound.

A log made of ledgers keeps their ids in one znode (``client/``, ``ChainStore``), each version of which is a
row of ``chains``. Versions later than a restored content are removed.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

import pyarrow as pa

from evidence.codes import NEVER
from evidence.collect.clock import MS, READING_ERROR_NS, WallClock
from evidence.collect.result import Collected, collected
from evidence.collect.znodes import zxid_of
from evidence.schemas import ChainRow, Fragment, LedgerRow
from evidence.shapes import Transaction
from protocol.metadata import LedgerMetadata
from protocol.wire import decode_metadata, ledger_of_path

DELETED = 0
"""The ``state`` of a row that says the metadata was deleted."""
NOT_CLOSED = -2
"""The ``last_entry`` of a version without a last entry."""
CHAINS = "/fencepost/chains/"
PUT_BACK = "put_back"
"""The ``op`` of a line that stands where a fault exchanged the store's content."""


class _Content(TypedDict):
    """What a version says of its ledger."""

    state: int
    last_entry: int
    length_bytes: int
    ensemble: int
    write_quorum: int
    ack_quorum: int
    fragments: list[Fragment]


_DELETED: _Content = {
    "state": DELETED,
    "last_entry": NOT_CLOSED,
    "length_bytes": 0,
    "ensemble": 0,
    "write_quorum": 0,
    "ack_quorum": 0,
    "fragments": [],
}
"""What a row without metadata says."""
_WHEN = frozenset({"zxid", "earliest_ns", "latest_ns", "put_back"})


@dataclass
class _Reading:
    """What is gathered while the transactions pass by."""

    clock: WallClock
    seen: Mapping[int, list[tuple[int, int]]]
    rows: list[LedgerRow] = field(default_factory=list)
    newest: dict[int, LedgerRow] = field(default_factory=dict)
    missing: set[tuple[int, int]] = field(default_factory=set)
    """Ledger and number of the first version of each gap: others follow it, and no transaction made it."""
    jumps: list[str] = field(default_factory=list)
    """Sentences on stamps that a steady clock cannot have made."""
    exchanged: list[tuple[int, int]] = field(default_factory=list)
    """The zxid that each content put back is numbered as, and when the store was down for it (ns)."""

    def add(self, row: LedgerRow) -> None:
        """The next row; a ledger's last one is its newest."""
        self.rows.append(row)
        self.newest[row["ledger"]] = row

    def add_put_back(self, row: LedgerRow, zxid: int, at_ns: int) -> None:
        """A row with that content, made by content that was put back."""
        self.add({**row, "zxid": zxid, "earliest_ns": at_ns, "latest_ns": NEVER, "put_back": True})


def collect_ledgers(
    lines: Iterable[Transaction],
    clock: WallClock,
    watched: pa.Table,
    damage: Iterable[str] = (),
) -> Collected:
    """Rows of ``ledgers``, sorted by ledger and zxid, from transactions in zxid order.

    ``watched`` are rows of ``operations`` of kind WATCHED (``last`` is the version seen,
    ``completed_ns`` when). A transaction that cannot be read becomes damage, and so does a version
    without a transaction that was seen or that another follows; paths other than ledgers' are skipped. A
    delete is one row, numbered after the last version.
    """
    reading = _Reading(clock, _sightings(watched))
    broken, in_order = list(damage), sorted(lines, key=zxid_of)
    for line in in_order:
        try:
            ledger = ledger_of_path(line["path"])
            if line["op"] == PUT_BACK:
                _put_back(reading, line)
            elif ledger is not None:
                _read(reading, ledger, line)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            broken.append(_unreadable(line, error))
    broken += _unmade(reading)
    jumps = [*_set_meanwhile(clock), *_falls(in_order), *([] if reading.exchanged else reading.jumps)]
    if jumps:
        broken.append(f"the wall clock jumped: {jumps[0]} ({len(jumps)} such)")
    _date_again(reading)
    reading.rows.sort(key=lambda row: (row["ledger"], row["zxid"], row["version"]))
    return collected("ledgers", reading.rows, broken)


def _read(reading: _Reading, ledger: int, line: Transaction) -> None:
    op, before = line["op"], reading.newest.get(ledger)
    due = before["version"] + 1 if before else 0
    if op == "create" and before:
        _free_id(reading, before)
    if op == "delete":
        version = due
        content = _DELETED
    elif op in ("create", "set"):
        version = 0 if op == "create" else int(line["version"])
        content = _content(decode_metadata(base64.b64decode(line["data"], validate=True)))
    else:
        raise ValueError(f"no such operation: {op!r}")
    if version > due:
        reading.missing.add((ledger, due))
    # A watch reports versions; it does not date a deletion.
    sightings = () if op == "delete" else reading.seen.get(ledger, ())
    latest_ns = min((at for seen, at in sightings if seen >= version), default=NEVER)
    stamped_ns = reading.clock.interval_ns(int(line["time_ms"]))[0]
    if stamped_ns > latest_ns:
        late_ms = (stamped_ns - latest_ns) // MS
        reading.jumps.append(
            f"version {version} of ledger {ledger} is stamped {late_ms} ms after it was seen"
        )
    reading.add(
        {
            **content,
            "ledger": ledger,
            "version": version,
            "zxid": int(line["zxid"], 16),
            "earliest_ns": min(stamped_ns, latest_ns),
            "latest_ns": latest_ns,
            "put_back": False,
        }
    )


def _free_id(reading: _Reading, before: LedgerRow) -> None:
    """A row between a deleted ledger and a new one with its id, if content was put back in between.

    BookKeeper gives an id again only if the store has forgotten it.
    """
    if reading.exchanged and before["state"] == DELETED and before["zxid"] < reading.exchanged[-1][0]:
        reading.add_put_back(before, *reading.exchanged[-1])


def _put_back(reading: _Reading, line: Transaction) -> None:
    """Restored content: a row for each changed ledger, as of the content's last transaction."""
    zxid, upto, at_ns = int(line["zxid"], 16), int(line["from"], 16), int(line["at_ns"])
    reading.exchanged.append((zxid, at_ns))
    then = {row["ledger"]: row for row in reading.rows if row["zxid"] <= upto}
    for ledger, row in sorted(reading.newest.items()):
        back = then.get(ledger)
        if back is None or back["state"] == DELETED:
            restored: LedgerRow = {**row, **_DELETED, "version": row["version"] + 1}
        else:
            restored = back
        if row["state"] == restored["state"] == DELETED or _says(restored) == _says(row):
            continue
        reading.add_put_back(restored, zxid, at_ns)


def _says(row: LedgerRow) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in _WHEN}


def _date_again(reading: _Reading) -> None:
    """Bound the versions of restored ledgers by the store's own boots."""
    touched = {row["ledger"] for row in reading.rows if row["put_back"]}
    for row in reading.rows:
        if row["ledger"] in touched:
            row["latest_ns"] = min(
                (at for zxid, at in reading.exchanged if zxid > row["zxid"]), default=NEVER
            )
            row["earliest_ns"] = min(row["earliest_ns"], row["latest_ns"])


def _unmade(reading: _Reading) -> Iterator[str]:
    """A sentence on versions without a transaction that the observer saw or that others follow."""
    made = {(row["ledger"], row["version"]) for row in reading.rows if row["state"] != DELETED}
    seen = {(ledger, version) for ledger, sightings in reading.seen.items() for version, _ in sightings}
    unmade = sorted({one for one in seen - made if one[1] >= 0} | reading.missing)
    for ledger, version in unmade[:1]:
        yield (
            "versions of metadata that must have been there are in no transaction, "
            f"such as version {version} of ledger {ledger}"
        )


def _set_meanwhile(clock: WallClock) -> Iterator[str]:
    """Every interval is as wide as the jump then, and rules about order in time would find nothing."""
    if clock.jumped_ns:
        yield f"it moved by {clock.jumped_ns // MS} ms against the run's clock"


def _falls(in_order: Iterable[Transaction]) -> Iterator[str]:
    """Transactions that are stamped before earlier ones, by more than a conversion may err."""
    top_ms, top = 0, ""
    for line in in_order:
        time_ms, zxid = line.get("time_ms"), str(line.get("zxid"))
        if isinstance(time_ms, int):
            if time_ms * MS < top_ms * MS - READING_ERROR_NS:
                yield f"transaction {zxid} is stamped {top_ms - time_ms} ms before transaction {top}"
            if time_ms > top_ms:
                top_ms, top = time_ms, zxid


def _sightings(watched: pa.Table) -> dict[int, list[tuple[int, int]]]:
    """For each ledger the versions that were seen, and when."""
    seen: dict[int, list[tuple[int, int]]] = {}
    columns = (watched.column(name).to_pylist() for name in ("ledger", "last", "completed_ns"))
    for ledger, version, at_ns in zip(*columns, strict=True):
        if at_ns != NEVER:
            seen.setdefault(ledger, []).append((version, at_ns))
    return seen


def _content(metadata: LedgerMetadata) -> _Content:
    return {
        "state": int(metadata.state),
        "last_entry": NOT_CLOSED if metadata.last_entry is None else metadata.last_entry,
        "length_bytes": metadata.length_bytes,
        "ensemble": metadata.quorums.ensemble,
        "write_quorum": metadata.quorums.write,
        "ack_quorum": metadata.quorums.ack,
        "fragments": [
            {"first_entry": fragment.first_entry, "bookies": list(fragment.bookies)}
            for fragment in metadata.fragments
        ],
    }


def collect_chains(lines: Iterable[Transaction], clock: WallClock) -> Collected:
    """Rows of ``chains``, sorted by log and version, from transactions in zxid order.

    An unreadable transaction becomes damage; transactions on other paths are skipped.
    """
    rows: list[ChainRow] = []
    undone: list[tuple[int, list[ChainRow]]] = []  # until when each former content was there
    broken = []
    for line in lines:
        try:
            if line["op"] == PUT_BACK:
                undone.append((int(line["zxid"], 16), rows))
                upto = int(line["from"], 16)
                then = next(content for until, content in undone if until > upto)
                rows = [row for row in then if row["zxid"] <= upto]
            elif line["path"].startswith(CHAINS):
                rows.append(_chain(line, rows, clock))
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            broken.append(_unreadable(line, error))
    rows.sort(key=lambda row: (row["chain"], row["zxid"]))
    return collected("chains", rows, broken)


def _chain(line: Transaction, rows: Iterable[ChainRow], clock: WallClock) -> ChainRow:
    name, zxid = line["path"].removeprefix(CHAINS), int(line["zxid"], 16)
    if line["op"] not in ("create", "set"):
        raise ValueError(f"no client deletes a log, but this is {line['op']!r}")
    born = zxid if line["op"] == "create" else max(row["born"] for row in rows if row["chain"] == name)
    return {
        "chain": name,
        "version": int(line["version"]),
        "ledgers": [int(one) for one in json.loads(base64.b64decode(line["data"], validate=True))["ledgers"]],
        "zxid": zxid,
        "born": born,
        "earliest_ns": clock.interval_ns(int(line["time_ms"]))[0],
    }


def _unreadable(line: Transaction, error: Exception) -> str:
    where = f"transaction {line.get('zxid')} on {line.get('path')}"
    return f"{where} cannot be read: {type(error).__name__}: {error}"
