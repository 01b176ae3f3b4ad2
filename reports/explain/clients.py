"""Clients' operations on a ledger and their results, as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkers.facts.wording import entries_text
from evidence.codes import NEVER, ErrorCode, Flag, Kind, Outcome, Proof
from evidence.schemas import OperationRow
from protocol.wording import counted
from reports.explain.moments import Moment, Tone
from reports.explain.rows import Names, stretches

_NO_SUCH = (ErrorCode.NO_SUCH_LEDGER, ErrorCode.NO_SUCH_ENTRY, ErrorCode.NO_SUCH_LEDGER_ON_METADATA)
OF_LEDGER = (Kind.CREATE, Kind.OPEN, Kind.CLOSE, Kind.DELETE, Kind.FORCE)


def ledger_moments(operations: Iterable[OperationRow], names: Names) -> Iterator[Moment]:
    """Create, open, close, delete and force, each with its outcome."""
    for row in operations:
        if row["kind"] in OF_LEDGER:
            yield from _operation(row, names)


def entry_moments(operations: Iterable[OperationRow], names: Names, entry: int) -> Iterator[Moment]:
    """The adds of one entry, and who read it."""
    for row in operations:
        if row["entry"] != entry:
            continue
        if row["kind"] == Kind.ADD:
            yield from _operation(row, names)
        elif row["kind"] == Kind.ENTRY:
            proof = Proof(row["proof"])
            doubt = "" if proof is Proof.PROVES_ITSELF else f", its bytes are {proof.name.lower()}"
            tone: Tone = "bad" if proof is Proof.DAMAGED else "good"
            yield _at(row["completed_ns"], row, names, f"reads it{_final(row)}{doubt}", tone)


def read_moments(
    operations: Iterable[OperationRow], names: Names, entry: int | None = None
) -> Iterator[Moment]:
    """Reads of ranges with what they delivered; for one entry only reads that did not deliver it.

    Reads of one handle that went well and continue each other are one line, at the end of the last.
    """
    reads = [row for row in operations if row["kind"] == Kind.READ]
    if entry is not None:
        reads = [row for row in reads if row["entry"] <= entry <= row["last"] and not _delivered(row, entry)]
    ordered = sorted(reads, key=lambda row: (row["client"], row["handle"], row["seq"]))
    for chain in stretches(ordered, _continues):
        yield _chain(chain, names) if len(chain) > 1 else _read(chain[0], names)


def _delivered(read: OperationRow, entry: int) -> bool:
    """Whether a read that covers an entry returned it."""
    return read["outcome"] == Outcome.OK and entry < read["entry"] + max(0, read["result"])


def _continues(one: OperationRow, other: OperationRow) -> bool:
    same = all(one[key] == other[key] for key in ("client", "handle", "flags"))
    well = one["outcome"] == other["outcome"] == Outcome.OK
    return same and well and other["entry"] == one["last"] + 1


def _chain(reads: list[OperationRow], names: Names) -> Moment:
    last = reads[-1]
    delivered = sum(max(0, row["result"]) for row in reads)
    span = f"{len(reads)} reads of entries {reads[0]['entry']}..{last['last']}{_final(last)}"
    return _at(_end(last), last, names, f"{span}: ok, {delivered} delivered", "good")


def adds_in_short(operations: Iterable[OperationRow], names: Names) -> Iterator[Moment]:
    """How many adds of each client ended each way, and when the first began and the last ended."""
    groups: dict[tuple[int, int], list[OperationRow]] = {}
    for row in operations:
        if row["kind"] == Kind.ADD:
            groups.setdefault((row["client"], row["outcome"]), []).append(row)
    begun: set[int] = set()
    for (client, outcome), rows in groups.items():
        entries = [row["entry"] for row in rows]
        span = entries_text(min(entries), max(entries))
        if client not in begun:
            first = min(group[0]["invoked_ns"] for (one, _), group in groups.items() if one == client)
            yield Moment(first, 0, names.of_number(client), "adds begin")
            begun.add(client)
        ended_ns = max(_end(row) for row in rows)
        text = f"{counted(len(rows), 'add')} {Outcome(outcome).name.lower()}, {span}"
        yield Moment(ended_ns, 0, names.of_number(client), text)


def _operation(row: OperationRow, names: Names) -> Iterator[Moment]:
    recovery = " with recovery" if row["flags"] & Flag.RECOVERY else ""
    label = f"{Kind(row['kind']).name.lower()}{recovery}{_final(row)}"
    yield _at(row["invoked_ns"], row, names, f"{label}: invoked")
    if row["completed_ns"] != NEVER:
        yield _at(row["completed_ns"], row, names, f"{label}: {_outcome(row)}{_result(row)}", _tone(row))


def _read(row: OperationRow, names: Names) -> Moment:
    span = f"read of entries {row['entry']}..{row['last']}{_final(row)}"
    if row["completed_ns"] == NEVER:
        return _at(row["invoked_ns"], row, names, f"{span}: never ended", "doubt")
    text = f"{span}: {_outcome(row)}, {max(0, row['result'])} delivered"
    return _at(row["completed_ns"], row, names, text, _tone(row))


def _outcome(row: OperationRow) -> str:
    return Outcome(row["outcome"]).name.lower() + _error(row["error"])


def _tone(row: OperationRow) -> Tone:
    if row["outcome"] == Outcome.OK:
        return "good"
    if row["outcome"] == Outcome.FAIL:
        return "plain"
    return "bad" if row["error"] in _NO_SUCH and row["outcome"] == Outcome.UNKNOWN else "doubt"


def _error(code: int) -> str:
    """BookKeeper's name for an error of its client, where judging knows it, and its number."""
    if code == ErrorCode.OK:
        return ""
    known = {error.value: f"{error.name.lower().replace('_', ' ')}, " for error in ErrorCode}
    return f" ({known.get(code, '')}error {code})"


def _result(row: OperationRow) -> str:
    if row["outcome"] != Outcome.OK:
        return ""
    if row["kind"] == Kind.FORCE:
        return f", entries up to {row['entry']} were acknowledged before it"
    if row["kind"] == Kind.OPEN and row["result"] < 0 and not row["flags"] & Flag.RECOVERY:
        return f", found no end, LAC {row['lac']}"  # of a ledger that is open, or closed empty
    return f", last entry {row['result']}" if row["kind"] in (Kind.CLOSE, Kind.OPEN) else ""


def _final(row: OperationRow) -> str:
    return ", final" if row["flags"] & Flag.FINAL else ""


def _end(row: OperationRow) -> int:
    return row["invoked_ns"] if row["completed_ns"] == NEVER else row["completed_ns"]


def _at(at_ns: int, row: OperationRow, names: Names, what: str, tone: Tone = "plain") -> Moment:
    return Moment(at_ns, 0, names.of_number(row["client"]), what, tone=tone)
