"""Tiny builders: a history is a list of facts, one fact is one row of one evidence table.

``ledger 1`` with three bookies, written by client 101 (``writer``) with 100-byte payloads, is what
happens when nothing else is said. ``judged(acked(0), kept(0), ...)`` gives the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from checkers.judging.checker import ReportsDamage
from checkers.judging.contract import Batch, RunFacts
from checkers.judging.judge import CHECKERS, judge
from evidence.codes import NEVER, Flag, Holding, Kind, Outcome, Proof
from evidence.findings import Judgement, RunVerdict
from evidence.schemas import TABLES
from protocol.faults import Loses

Fact = tuple[str, dict[str, Any]]
WRITER, READER, OBSERVER = 101, 102, 250
CLIENTS = {"writer": WRITER, "reader": READER, "observer": OBSERVER}
BOOKIES = {f"b{number}": number for number in range(1, 10)}
SIZE = 100
THREE = ("b1", "b2", "b3")

BLANK = {
    "ledger": 1,
    "entry": -1,
    "client": WRITER,
    "seq": 0,
    "handle": 1,
    "kind": 0,
    "flags": 0,
    "outcome": int(Outcome.OK),
    "error": 0,
    "invoked_ns": 1,
    "completed_ns": 2,
    "last": -1,
    "lac_before": -1,
    "lac": -1,
    "result": -1,
    "expected": -1,
    "size_bytes": 0,
    "digest": 0,
    "origin": 0,
    "proof": 0,
}


def run_facts(**changed: Any) -> RunFacts:
    """A run that was recorded whole, of the clients and bookies above; no add is journaled."""
    facts = {"scenario": "story", "mode": "unprotected", "run_id": 7, "bookies": BOOKIES, "clients": CLIENTS}
    loss = {"least_loss": dict.fromkeys(BOOKIES, Loses.MEMORY)}
    return RunFacts(**{**facts, **loss, **changed})


def operation(kind: Kind, **columns: Any) -> Fact:
    unknown = set(columns) - set(BLANK)
    assert not unknown, unknown
    row = {**BLANK, "kind": kind, **columns}
    return "operations", {name: int(value) for name, value in row.items()}


def added(entry: int, **columns: Any) -> Fact:
    """An add whose ending is given; it got the id that was due."""
    defaults = {"result": entry, "expected": entry, "size_bytes": SIZE, "lac": entry, "seq": entry + 1}
    return operation(Kind.ADD, entry=entry, **{**defaults, **columns})


def acked(entry: int, **columns: Any) -> Fact:
    return added(entry, **columns)


def unsure(entry: int, **columns: Any) -> Fact:
    """An add with the outcome unknown: it may have been written or not."""
    return added(entry, **{"outcome": Outcome.UNKNOWN, "result": -1, "lac": -1, "expected": -1, **columns})


def refused(entry: int, **columns: Any) -> Fact:
    """An add that failed before a byte left the client."""
    return unsure(entry, **{"outcome": Outcome.FAIL, **columns})


def deferred(entry: int, **columns: Any) -> Fact:
    return added(entry, **{"flags": Flag.DEFERRED_SYNC, "lac": -1, **columns})


def forced(entry: int, **columns: Any) -> Fact:
    """An ok force, invoked when ``entry`` was the highest id acknowledged on the handle."""
    return operation(Kind.FORCE, entry=entry, **{"seq": 90, **columns})


def lac_read(lac: int, **columns: Any) -> Fact:
    """A LAC read: the handle holds ``lac`` after it, which the bookies also answered."""
    return operation(Kind.LAC, lac=lac, **{"client": READER, "seq": 50, "result": lac, **columns})


def delivered(entry: int, **columns: Any) -> Fact:
    """An entry that a confirmed read returned, whole."""
    defaults = {
        "client": READER,
        "expected": entry,
        "origin": WRITER,
        "size_bytes": SIZE,
        "proof": Proof.PROVES_ITSELF,
        "seq": 60 + entry,
    }
    return operation(Kind.ENTRY, entry=entry, **{**defaults, **columns})


def kept(entry: int, **columns: Any) -> Fact:
    """An entry that the observer's final read returned, whole."""
    return delivered(entry, **{"client": OBSERVER, "flags": Flag.FINAL, **columns})


def opened(at: int, **columns: Any) -> Fact:
    """The observer's final open, with recovery: the ledger ends at ``at``."""
    defaults = {"client": OBSERVER, "flags": Flag.FINAL | Flag.RECOVERY, "lac": at, "seq": 40, "handle": 9}
    return operation(Kind.OPEN, result=at, **{**defaults, **columns})


def recovered(at: int, **columns: Any) -> Fact:
    """A reader's open with recovery."""
    return opened(at, **{"client": READER, "flags": Flag.RECOVERY, "seq": 41, **columns})


def deleted(**columns: Any) -> Fact:
    return operation(Kind.DELETE, **{"seq": 80, **columns})


def answered(entry: int, bookie: int, holding: Holding, *, number: int = 2, **columns: Any) -> Fact:
    """One bookie's answer about one entry in the census."""
    good = holding is Holding.PRESENT
    row = {
        "ledger": 1,
        "entry": entry,
        "pass_number": number,
        "bookie": bookie,
        "holding": int(holding),
        "error": 0 if good else -13,
        "asked_ns": 1,
        "answered_ns": 2,
        "digest": 0,
        "origin": WRITER if good else 0,
        "size_bytes": SIZE if good else 0,
    }
    assert not set(columns) - set(row)
    return "census", {**row, **columns}


def lost(entry: int, *, bookies: Iterable[int] = (1, 2, 3), number: int = 2, ledger: int = 1) -> list[Fact]:
    """Every one of the bookies says: no such entry."""
    return [answered(entry, bookie, Holding.ABSENT, number=number, ledger=ledger) for bookie in bookies]


def found(entry: int, *, bookies: Iterable[int] = (1, 2, 3), number: int = 2, ledger: int = 1) -> list[Fact]:
    """Every one of the bookies holds the entry."""
    return [answered(entry, bookie, Holding.PRESENT, number=number, ledger=ledger) for bookie in bookies]


def metadata(number: int, state: int, **columns: Any) -> Fact:
    """One version of a ledger's metadata; ``fragments`` is {first entry: bookies}."""
    fragments = columns.pop("fragments", {0: THREE})
    row = {
        "ledger": 1,
        "version": number,
        "state": state,
        "last_entry": -2,
        "length_bytes": 0,
        "ensemble": 3,
        "write_quorum": 3,
        "ack_quorum": 2,
        "fragments": [
            {"first_entry": first, "bookies": [f"{name}:3181" for name in names]}
            for first, names in fragments.items()
        ],
        "zxid": number + 10,
        "earliest_ns": 1,
        "latest_ns": NEVER,
        "put_back": False,
    }
    assert not set(columns) - set(row)
    return "ledgers", {**row, **columns}


def created(**columns: Any) -> Fact:
    return metadata(0, 1, **columns)


def recovering(number: int = 1, **columns: Any) -> Fact:
    return metadata(number, 2, **columns)


def closed(at: int, number: int = 1, **columns: Any) -> Fact:
    """Closed with the length of entries 0 to ``at`` of the usual size."""
    return metadata(number, 3, **{"last_entry": at, "length_bytes": (at + 1) * SIZE, **columns})


def vanished(number: int = 2, **columns: Any) -> Fact:
    return metadata(number, 0, **columns)


def facts(*parts: Fact | Iterable[Any]) -> list[Fact]:
    """Facts and lists of facts as one list."""
    flat: list[Fact] = []
    for part in parts:
        if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str):
            flat.append(part)
        else:
            flat.extend(facts(*part))
    return flat


def chunk(history: Iterable[Fact]) -> Batch:
    """The facts as one chunk of tables."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for table, row in history:
        rows.setdefault(table, []).append(row)
    return Batch({name: pa.Table.from_pylist(part, schema=TABLES[name]) for name, part in rows.items()})


def judged(*parts: Fact | Iterable[Any], **run: Any) -> RunVerdict:
    """The verdict over the facts in one chunk."""
    return judge([chunk(facts(*parts))], run_facts(**run))


def of_known_ledgers(*parts: Fact | Iterable[Any]) -> list[Fact]:
    """The facts, and of each ledger that has no metadata among them the version that its creation makes."""
    history = facts(*parts)
    known = {row["ledger"] for table, row in history if table == "ledgers"}
    ledgers = {row["ledger"] for _, row in history if row["ledger"] >= 0}
    return history + [created(ledger=ledger) for ledger in sorted(ledgers - known)]


def judging(name: str, **defaults: Any) -> Callable[..., Judgement]:
    """A function of facts and of what is known of the run: the judgement of one property.

    Its own checker judges, and those that report damage to all properties.
    """
    checkers = tuple(one for one in CHECKERS if one.name == name or isinstance(one, ReportsDamage))

    def judge_it(*parts: Fact | Iterable[Any], **run: Any) -> Judgement:
        known = run_facts(**{**defaults, **run})
        return judge([chunk(facts(*parts))], known, checkers=checkers).judgements[name]

    return judge_it


def kinds(of: RunVerdict | Judgement, name: str = "") -> list[tuple[str, int, int]]:
    """(kind, first, last) of the findings of a judgement, or of the property of a verdict."""
    judgement = of.judgements[name] if isinstance(of, RunVerdict) else of
    return [(one.kind, one.first_entry, one.last_entry) for one in judgement.findings]


def entries_of(judgement: Judgement, kind: str = "") -> set[tuple[int, int]]:
    """(ledger, entry) of all findings, or of those of one kind."""
    found = [one for one in judgement.findings if kind in ("", one.kind)]
    return {(one.ledger, entry) for one in found for entry in range(one.first_entry, one.last_entry + 1)}


def finds(name: str, **defaults: Any) -> Callable[..., list[tuple[str, int, int]]]:
    """A function of facts and of what is known of the run: the ``kinds`` that one property finds."""
    judge_it = judging(name, **defaults)
    return lambda *parts, **run: kinds(judge_it(*parts, **run))


def kinds_found(verdict: RunVerdict) -> frozenset[str]:
    """The kinds of all findings, with their property: ``durability/lost``."""
    return frozenset(
        f"{name}/{one.kind}" for name, judgement in verdict.judgements.items() for one in judgement.findings
    )


def good_ending(last: int, ledger: int = 1) -> list[Fact]:
    """The ledger was closed at ``last``; everything is on every bookie and was read at the end."""
    return facts(
        created(ledger=ledger),
        closed(last, ledger=ledger),
        opened(last, ledger=ledger),
        [kept(entry, ledger=ledger) for entry in range(last + 1)],
        [found(entry, ledger=ledger) for entry in range(last + 1)],
    )
