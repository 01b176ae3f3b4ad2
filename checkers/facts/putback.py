"""Sentences on ledgers whose metadata a fault of the run put back in time, with the fault.

That alone is no anomaly, but such a ledger is always named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from checkers.contract import RunFacts
from checkers.facts.alterations import injected
from checkers.facts.histories import Histories
from checkers.facts.versions import DELETED, Version
from checkers.facts.wording import counted, fault_text
from checkers.sets.spans import Spans
from protocol.faults import PUTS_BACK

_SHOWN = 20


def of_one_life(spans: Spans, histories: Histories, run: RunFacts) -> Spans:
    """The spans less those of ledgers whose metadata was put back: another ledger may have had the same id.

    None is left where damage hides which those are.
    """
    if run.damage_to(("ledgers",)) and any(fault["kind"] in PUTS_BACK for fault in injected(run)):
        return Spans.empty()
    return spans.without(set(histories.put_back))


def put_back_text(version: Version, histories: Histories, run: RunFacts) -> str:
    """What a row that was put back says: ``ledger main: removed from the metadata by fault 3 (...)``."""
    by = _fault(version.zxid, run)
    if version.state == DELETED:
        return f"{run.ledger_text(version.ledger)}: removed from the metadata by {by}"
    before = [one for one in histories.odd if one.ledger == version.ledger and one.zxid < version.zxid]
    last = max(before, key=lambda one: (one.zxid, one.version), default=None)
    was = "nothing" if last is None or last.state == DELETED else f"version {last.version}"
    name = run.ledger_text(version.ledger)
    return f"{name}: metadata put back from {was} to version {version.version} by {by}"


def put_back_notes(histories: Histories, run: RunFacts) -> Iterator[str]:
    """A sentence for each time that a ledger's metadata was put back."""
    rows = [row for _, rows in sorted(histories.put_back.items()) for row in rows]
    for row in rows[:_SHOWN]:
        yield put_back_text(row, histories, run)
    if len(rows) > _SHOWN:
        yield f"{counted(len(rows) - _SHOWN, 'more change')} of ledgers' metadata by faults of the run"


def _fault(zxid: int, run: RunFacts) -> str:
    for fault in run.faults:
        injected = json.loads(fault["proof"] or "{}").get("injected") or {}
        if injected.get("zxid") == hex(zxid):
            return fault_text(fault)
    return f"a fault of the run (transaction 0x{zxid:x})"
