"""The life of one ledger, or of one entry, as lines of text in order of time.

Reads the tables of a run and nothing else; every line says who, what and when (seconds since
the run began). Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evidence.codes import NEVER, Flag, Holding, Kind, Outcome, Proof
from evidence.folder import RunFolder
from evidence.names import ledger_names
from evidence.schemas import TABLES
from protocol.errors import EvidenceError, UsageError
from protocol.metadata import LedgerState

_OF_LEDGER = (Kind.CREATE, Kind.OPEN, Kind.CLOSE, Kind.DELETE, Kind.FORCE)
_OF_ENTRY = (Kind.ADD, Kind.ENTRY)


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """One line: when (monotonic ns), who, what."""

    at_ns: int
    who: str
    what: str


def explain(folder: RunFolder, subject: str, entry: int | None) -> Iterator[str]:
    """Lines that tell the life of ledger ``subject`` (a name or a number), or of one entry of it.

    Raises ``EvidenceError`` when the run has no tables yet, ``UsageError`` for an unknown ledger.
    """
    names = ledger_names(folder)
    ledger = _ledger(subject, names)
    facts = folder.run()
    began = int(facts["clock"]["monotonic_ns"])
    who = {number: name for name, number in facts["clients"].items()}
    bookies = {number: name for name, number in facts["bookies"].items()}
    moments = [
        *_operations(_rows(folder, "operations", ledger), who, entry),
        *_metadata(_rows(folder, "ledgers", ledger), entry),
        *_census(_rows(folder, "census", ledger), bookies, entry),
        *_faults(_rows(folder, "faults", None)),
    ]
    title = f"{names.get(ledger, 'ledger')} (ledger {ledger})" + (
        f" entry {entry}" if entry is not None else ""
    )
    yield f"{title}, mode {folder.mode}"
    for moment in sorted(moments):
        yield f"  {(moment.at_ns - began) / 1e9:9.3f} s  {moment.who:12} {moment.what}"


def _ledger(subject: str, names: Mapping[int, str]) -> int:
    if subject.isdigit():
        return int(subject)
    for number, name in names.items():
        if name == subject:
            return number
    known = ", ".join(sorted(set(names.values()))) or "none"
    raise UsageError(f"the run has no ledger named {subject!r}", remedy=f"named ledgers: {known}")


def _rows(folder: RunFolder, table: str, ledger: int | None) -> list[dict[str, Any]]:
    files = sorted((folder.tables / table).rglob("*.parquet"))
    if not folder.tables.is_dir():
        raise EvidenceError(f"{folder.path} has no tables yet", remedy=f"fencepost check {folder.path}")
    parts = [pq.read_table(file, partitioning=None) for file in files]
    whole = pa.concat_tables(parts) if parts else TABLES[table].empty_table()
    if ledger is not None:
        whole = whole.filter(pc.field("ledger") == ledger)
    rows: list[dict[str, Any]] = whole.to_pylist()
    return rows


def _operations(
    rows: Iterable[dict[str, Any]], who: Mapping[int, str], entry: int | None
) -> Iterator[Moment]:
    for row in rows:
        kind = Kind(row["kind"])
        if kind in _OF_LEDGER or (kind in _OF_ENTRY and entry is not None and row["entry"] == entry):
            yield from _operation(row, kind, who)
    if entry is None:
        yield from _adds_in_short([row for row in rows if row["kind"] == Kind.ADD], who)


def _operation(row: dict[str, Any], kind: Kind, who: Mapping[int, str]) -> Iterator[Moment]:
    name = who.get(row["client"], str(row["client"]))
    final = ", final" if row["flags"] & Flag.FINAL else ""
    recovery = " with recovery" if row["flags"] & Flag.RECOVERY else ""
    label = f"{kind.name.lower()}{recovery}{final}"
    if kind is Kind.ENTRY:
        proof = (
            "" if row["proof"] == Proof.PROVES_ITSELF else f", bytes are {Proof(row['proof']).name.lower()}"
        )
        yield Moment(row["completed_ns"], name, f"reads it{final}{proof}")
        return
    yield Moment(row["invoked_ns"], name, f"{label}: invoked")
    if row["completed_ns"] != NEVER:
        outcome = Outcome(row["outcome"]).name.lower()
        error = f" (error {row['error']})" if row["error"] else ""
        ends = (
            f", last entry {row['result']}"
            if kind in (Kind.CLOSE, Kind.OPEN) and row["outcome"] == Outcome.OK
            else ""
        )
        yield Moment(row["completed_ns"], name, f"{label}: {outcome}{error}{ends}")


def _adds_in_short(adds: list[dict[str, Any]], who: Mapping[int, str]) -> Iterator[Moment]:
    """First and last add of each client that ended each way; single adds are told by entry."""
    groups: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for add in adds:
        groups.setdefault((add["client"], add["outcome"]), []).append(add)
    for (client, outcome), group in groups.items():
        entries = [add["entry"] for add in group]
        told = f"{len(group)} adds {Outcome(outcome).name.lower()}, entries {min(entries)}..{max(entries)}"
        done = [add["completed_ns"] for add in group if add["completed_ns"] != NEVER]
        yield Moment(max(done) if done else group[-1]["invoked_ns"], who.get(client, str(client)), told)


def _metadata(rows: Iterable[dict[str, Any]], entry: int | None) -> Iterator[Moment]:
    for row in rows:
        state = "deleted" if row["state"] == 0 else LedgerState(row["state"]).name
        end = ""
        if row["state"] == LedgerState.CLOSED:
            end = f" at {row['last_entry']}"
            if entry is not None and row["last_entry"] < entry:
                end += ", below this entry"
        ensembles = "; ".join(
            f"from {fragment['first_entry']}: {' '.join(fragment['bookies'])}"
            for fragment in row["fragments"] or ()
        )
        yield Moment(row["earliest_ns"], "metadata", f"version {row['version']}: {state}{end} ({ensembles})")


def _census(
    rows: Iterable[dict[str, Any]], bookies: Mapping[int, str], entry: int | None
) -> Iterator[Moment]:
    if entry is not None:
        for row in rows:
            if row["entry"] == entry:
                said = f"census {row['pass_number']}: {Holding(row['holding']).name.lower()}"
                yield Moment(row["answered_ns"], bookies.get(row["bookie"], str(row["bookie"])), said)
        return
    groups: dict[tuple[int, int, int], list[int]] = {}
    for row in rows:
        groups.setdefault((row["pass_number"], row["bookie"], row["holding"]), []).append(row["answered_ns"])
    for (number, bookie, holding), times in groups.items():
        told = f"census {number}: {len(times)} entries {Holding(holding).name.lower()}"
        yield Moment(max(times), bookies.get(bookie, str(bookie)), told)


def _faults(rows: Iterable[dict[str, Any]]) -> Iterator[Moment]:
    for row in rows:
        if row["injected_ns"] != NEVER:
            yield Moment(row["injected_ns"], "nemesis", f"{row['kind']} {row['target']}")
        if row["healed_ns"] != NEVER:
            yield Moment(row["healed_ns"], "nemesis", f"{row['kind']} {row['target']} healed")
