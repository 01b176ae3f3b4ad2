"""Logs made of ledgers in tiny builders: the log ``events`` has ledgers 7 and 8, written by client 101.

``put(7, 0, (10, 11))`` is an acknowledged add; ``seen((7, 0), at=(20, 21))`` a reader's pass;
``last(7, 8, ...)`` the observer's reads at the end.
"""

from __future__ import annotations

from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Flag, Kind, Outcome, Proof
from evidence.exchange.chains import Chain
from tests.histories.story import OBSERVER, READER, WRITER, Fact, operation, run_facts

BORN = 77
EVENTS = Chain("events", BORN, (7, 8), (5, 50))
Entry = tuple[int, int]


def chain_facts(*chains: Chain, **more: Any) -> RunFacts:
    return run_facts(chains=chains or (EVENTS,), **more)


def digest(ledger: int, entry: int) -> int:
    """What the writer sends under that id."""
    return 1000 * ledger + entry + 1


def put(
    ledger: int, entry: int, at: tuple[int, int | None], outcome: Outcome = Outcome.OK, **columns: Any
) -> Fact:
    """An add; without an end it returned nothing."""
    invoked, completed = at
    ended = {"result": entry, "expected": entry, "digest": digest(ledger, entry), "completed_ns": completed}
    pending = {"outcome": Outcome.PENDING, "completed_ns": NEVER}
    mine = {
        "ledger": ledger,
        "entry": entry,
        "invoked_ns": invoked,
        "handle": ledger,
        "seq": 100 * ledger + entry,
    }
    if outcome is not Outcome.OK:
        ended |= {"result": -1, "expected": -1}
    fields = {"outcome": outcome, **ended} if completed is not None else pending
    return operation(Kind.ADD, **{**mine, **fields, **columns})


def shown(entry: Entry, number: int, **columns: Any) -> Fact:
    ledger, which = entry
    fields = {
        "digest": digest(ledger, which),
        "proof": Proof.PROVES_ITSELF,
        "origin": WRITER,
        "expected": which,
    }
    return operation(
        Kind.ENTRY, **{"ledger": ledger, "entry": which, "seq": number, "result": which, **fields, **columns}
    )


def seen(
    *entries: Entry,
    at: tuple[int, int],
    handle: int = 1,
    end: int = -1,
    opened: tuple[int, ...] = (),
    **columns: Any,
) -> list[Fact]:
    """A pass of the reader, which found the last ledger open, or closed at ``end``.

    It opened the ledgers of which it read anything, unless stated otherwise.
    """
    mine = {"client": READER, "handle": handle, "flags": Flag.PASS}
    times = {"invoked_ns": at[0], "completed_ns": at[1]}
    first = 1000 * handle
    fields = {"result": len(entries), "expected": BORN, **columns}
    ledgers = opened or tuple(dict.fromkeys(ledger for ledger, _ in entries))
    opens = [
        operation(
            Kind.OPEN,
            ledger=ledger,
            seq=first + place + 1,
            result=end,
            lac=9 if end < 0 else end,
            **mine,
            **times,
        )
        for place, ledger in enumerate(ledgers)
    ]
    reads = [shown(entry, first + 10 + place, **mine, **times) for place, entry in enumerate(entries)]
    return [operation(Kind.PASS, ledger=-1, seq=first, **mine, **times, **fields), *opens, *reads]


def last(*ends: Entry, at: tuple[int, int], without: tuple[Entry, ...] = ()) -> list[Fact]:
    """The observer's reads: each ledger with its last entry; ``without`` are entries that it did not get."""
    found: list[Fact] = []
    for place, (ledger, end) in enumerate(ends):
        mine = {"client": OBSERVER, "handle": 10 + place, "invoked_ns": at[0], "completed_ns": at[1]}
        found.append(
            operation(
                Kind.OPEN,
                ledger=ledger,
                flags=Flag.FINAL | Flag.RECOVERY,
                result=end,
                seq=100 * place + 1,
                **mine,
            )
        )
        got = [(ledger, entry) for entry in range(end + 1) if (ledger, entry) not in without]
        found += [shown(one, 100 * place + 2 + at, flags=Flag.FINAL, **mine) for at, one in enumerate(got)]
    return found
