"""Tiny builders for repair: who is elected, audits, marks of ledgers; and a census by passes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from evidence.codes import Holding
from tests.histories.story import Fact, answered

Row = dict[str, Any]
CENSUS_NS = 1000
"""When the first of the two last passes begins; it ends at 1100, the second lasts from 2000 to 2100."""


def event(at_ns: int, server: str, name: str, *, boot: int = 0, within_ns: int = 0, **detail: Any) -> Row:
    times = {"earliest_ns": at_ns - within_ns, "latest_ns": at_ns}
    return {"server": server, "boot": boot, "event": name, "detail": json.dumps(detail), **times}


def elected(at_ns: int = 5, name: str = "ar1") -> Row:
    return event(at_ns, name, "auditor_elected")


def audit(began_ns: int, ended_ns: int, name: str = "ar1") -> list[Row]:
    return [event(began_ns, name, "audit_started", boot=1), event(ended_ns, name, "audit_ended", boot=1)]


def marked(at_ns: int, *missing: str, ledger: int = 1) -> Row:
    return event(at_ns, "zk1", "ledger_marked", ledgerId=ledger, missing=list(missing), zxid=hex(at_ns))


def unmarked(at_ns: int, *, ledger: int = 1) -> Row:
    return event(at_ns, "zk1", "ledger_unmarked", ledgerId=ledger, zxid=hex(at_ns))


def tried(*at_ns: int, ledger: int = 1) -> list[Row]:
    """A worker locks the ledger at each of these times, and lets go of it 5 ns later."""
    steps = ((began + later, name) for began in at_ns for later, name in ((0, "locked"), (5, "unlocked")))
    return [event(at, "zk1", f"repair_{name}", ledgerId=ledger, zxid=hex(at)) for at, name in steps]


def quiet() -> tuple[Row, ...]:
    """An auditor that found nothing, shortly before the census."""
    return (elected(), *audit(900, 950))


def shown(
    held: Mapping[int, Iterable[int]], *, last: int, holding: Holding = Holding.ABSENT, ledger: int = 1
) -> list[Fact]:
    """Both passes: each bookie has the entries given, and ``holding`` of the others up to ``last``."""
    return [
        answered(
            entry,
            bookie,
            Holding.PRESENT if entry in set(entries) else holding,
            number=number,
            ledger=ledger,
            asked_ns=number * CENSUS_NS,
            answered_ns=number * CENSUS_NS + 100,
        )
        for number in (1, 2)
        for bookie, entries in held.items()
        for entry in range(last + 1)
    ]
