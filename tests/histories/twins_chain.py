"""The naive twin of the property ``log``: rows to transactions by plain loops, then the twin of logs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from checkers.judging.contract import RunFacts
from checkers.log.models import STRONGEST, forbidden
from evidence.codes import NEVER, Flag, Kind, Outcome, Proof
from tests.histories.log_story import Txn, append, completed, read
from tests.histories.story import Fact
from tests.histories.twins_log import Twin, class_of, simple_cycles

Row = dict[str, Any]


def log(history: list[Fact], run: RunFacts) -> tuple[Counter[tuple[Any, ...]], str | None]:
    """(kind, how often) of what needs no cycle, and whether there is any cycle; no verdict of a log."""
    if not run.chains:
        return Counter(), "unknown" if "log" in run.required else "not judged"
    twin = Twin(completed(transactions(history, run)))
    against = forbidden(STRONGEST)
    found: Counter[tuple[Any, ...]] = Counter(
        {(kind, number): 1 for kind, number in twin.counts().items() if kind in against}
    )
    if any(class_of(chosen) for _, chosen in simple_cycles(twin.edges())):
        found["cycle",] += 1
    return found, None


def transactions(history: list[Fact], run: RunFacts) -> list[Txn]:
    """One for each add, for each pass that ended well, and for the last reads of each log."""
    rows = sorted(
        (row for table, row in history if table == "operations"), key=lambda row: (row["client"], row["seq"])
    )
    made = []
    for chain in run.chains:
        sent = {}
        for row in rows:
            if row["kind"] == Kind.ADD and row["ledger"] in chain.ledgers:
                if row["outcome"] != Outcome.PENDING:
                    sent[row["ledger"], row["entry"]] = row["digest"]
                made.append(_add(chain.name, row))
        known = {(row["ledger"], row["entry"]) for row in rows if row["kind"] == Kind.ADD}
        for row in rows:
            where = row["ledger"], row["entry"]
            ours = (
                row["kind"] == Kind.ENTRY and row["ledger"] in chain.ledgers and row["outcome"] == Outcome.OK
            )
            looked = row["flags"] & (Flag.PASS | Flag.FINAL)
            if ours and looked and where not in known and row["proof"] == Proof.PROVES_ITSELF:
                known.add(where)
                made.append(Txn((append(chain.name, where),), Outcome.UNKNOWN, None, 0, NEVER))
        for row in rows:
            if row["kind"] == Kind.PASS and row["outcome"] == Outcome.OK and row["expected"] == chain.born:
                made += _pass(chain, row, rows, sent)
        made += _final(chain, rows, sent)
    return made


def _add(name: str, row: Row) -> Txn:
    known = row["outcome"] in (Outcome.OK, Outcome.FAIL)
    return Txn(
        (append(name, (row["ledger"], row["entry"])),),
        Outcome(row["outcome"]) if known else Outcome.UNKNOWN,
        None,
        row["invoked_ns"],
        row["completed_ns"] if known else NEVER,
    )


def _element(row: Row, sent: dict[Any, int]) -> Any:
    where = row["ledger"], row["entry"]
    proven = row["proof"] == Proof.PROVES_ITSELF
    own = sent[where] == row["digest"] if where in sent else proven
    return where if own else (*where, row["digest"])


def _pass(chain: Any, row: Row, rows: list[Row], sent: dict[Any, int]) -> list[Txn]:
    mine = [
        other
        for other in rows
        if (other["client"], other["handle"]) == (row["client"], row["handle"]) and other["flags"] & Flag.PASS
    ]
    entries = [other for other in mine if other["kind"] == Kind.ENTRY]
    opens = [other for other in mine if other["kind"] == Kind.OPEN]
    if len(entries) != row["result"]:
        return []
    invoked = row["invoked_ns"]
    if opens and (opens[-1]["result"] < 0 or opens[-1]["lac"] < opens[-1]["result"]):
        invoked = min(invoked, chain.since_ns[chain.ledgers.index(opens[-1]["ledger"])])
    shown = [_element(one, sent) for one in entries]
    return [Txn((read(chain.name, *shown),), Outcome.OK, None, invoked, row["completed_ns"])]


def _final(chain: Any, rows: list[Row], sent: dict[Any, int]) -> list[Txn]:
    final = [row for row in rows if row["flags"] & Flag.FINAL and row["outcome"] == Outcome.OK]
    shown, times = [], []
    for ledger in chain.ledgers:
        opens = [row for row in final if row["kind"] == Kind.OPEN and row["ledger"] == ledger]
        if not opens:
            return []
        handle = opens[-1]["client"], opens[-1]["handle"]
        entries = [
            row for row in final if row["kind"] == Kind.ENTRY and (row["client"], row["handle"]) == handle
        ]
        if len(entries) != opens[-1]["result"] + 1:
            return []
        times += [(row["invoked_ns"], row["completed_ns"]) for row in (opens[-1], *entries)]
        shown += [_element(one, sent) for one in entries]
    begun, ended = min(at for at, _ in times), max(at for _, at in times)
    return [Txn((read(chain.name, *shown),), Outcome.OK, None, begun, ended)]
