"""What may have changed a bookie's disk otherwise than the bookie itself: who it was, whose disk, and when.

A fault, or an operator's command that works on the bookie's own files. An end takes what was not written, and
a power loss what was not synced: that the boots and the copies of disks show. Read from the
``faults`` and ``servers`` tables of :class:`checkers.judging.contract.RunFacts`.

And sentences on ledgers whose metadata a fault of the run put back in time, with the fault. That alone is no
anomaly, but such a ledger is always named.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from checkers.facts.histories import Histories
from checkers.facts.versions import DELETED, Version
from checkers.facts.wording import some_notes
from checkers.judging.contract import RunFacts
from checkers.judging.found import Row
from checkers.sets.spans import Spans
from evidence.codes import NEVER
from evidence.schemas import FaultRow
from protocol.addresses import ADMIN
from protocol.faults import PUTS_BACK, Loses, effects_of
from protocol.shell import COMMANDS

_CHANGING = ("garble", "fill")
"""Faults that may change the bytes of an entry, though they delete nothing that a bookie has stored."""


class Alteration(NamedTuple):
    """One change of what bookies had stored."""

    bookies: frozenset[int]
    began_ns: int
    """It began not before this time."""
    done_ns: int
    """It was made by this time."""
    over_ns: int
    """When it was healed."""
    by: str
    """Words for who made it."""
    whole: bool = False
    """Whether it took all that there was, and is confirmed."""


def fault_text(fault: FaultRow) -> str:
    """``fault 3 (kill b1)``."""
    return f"fault {fault['fault']} ({fault['kind']} {fault['target']})"


def alterations(run: RunFacts) -> tuple[Alteration, ...]:
    """All of a run: those by faults, then those by commands, in the order of their records."""
    return run.memo(_alterations)


def disturbed(run: RunFacts) -> frozenset[int]:
    """Bookies whose disks may have been changed at any time."""
    return frozenset().union(*(change.bookies for change in alterations(run)))


def emptied(run: RunFacts) -> Mapping[int, Alteration]:
    """Bookie -> the last change that took all it had stored; none where another may have given some back."""
    found = {bookie: change for change in alterations(run) if change.whole for bookie in change.bookies}
    return {
        bookie: last
        for bookie, last in found.items()
        if all(change.whole for change in changes_since(last.began_ns, bookie, run))
    }


def changes_since(at_ns: int, bookie: int, run: RunFacts) -> Iterator[Alteration]:
    """The changes that may have altered a bookie's disk at that time (ns) or later."""
    return (change for change in alterations(run) if bookie in change.bookies and change.over_ns >= at_ns)


def may_change_bytes(run: RunFacts) -> bool:
    """Whether a fault of the run may have changed bytes of an entry, or damage may hide one.

    It does not matter on which bookie: repair copies what it finds.
    """
    changing = any(fault["kind"] in _CHANGING or loses_of(fault) > Loses.MEMORY for fault in injected(run))
    return changing or bool(disturbed(run) or run.damage_to(("ledgers", "faults", "servers")))


def injected(run: RunFacts) -> Iterator[FaultRow]:
    """The faults that were injected."""
    return (fault for fault in run.faults if fault["injected_ns"] != NEVER)


def garbled(run: RunFacts) -> bool:
    """Whether a fault may have changed what bookies were sent."""
    return any(fault["kind"] == "garble" for fault in injected(run))


def loses_of(fault: FaultRow) -> Loses:
    """The most that a bookie may lose by this fault, with its parameters."""
    return effects_of(fault["kind"]).loses_with(_params(fault))


def _params(fault: FaultRow) -> Mapping[str, object]:
    params: Mapping[str, object] = json.loads(fault["params"] or "{}")
    return params


def by_commands(run: RunFacts) -> Iterator[Alteration]:
    """The changes by operators; an unknown command may change files, one without an end goes on."""
    ended = {event.boot: event.latest_ns for event in run.events("exit") if event.server == ADMIN}
    for event in run.events("command"):
        name = event.detail.get("command") if event.server == ADMIN else None
        if name and (name not in COMMANDS or COMMANDS[name].local):
            bookies, over_ns = _named([event.detail.get("target", "")], run), ended.get(event.boot, NEVER)
            yield Alteration(bookies, event.earliest_ns, over_ns, over_ns, f"an operator's {name}")


def hit(fault: FaultRow, run: RunFacts) -> frozenset[int]:
    """The bookies that a fault's target names; all of them where it names anything else."""
    return _named(fault["target"].split(","), run)


def _named(names: list[str], run: RunFacts) -> frozenset[int]:
    named = [run.bookies.get(name) for name in names]
    return frozenset(run.bookies.values() if None in named else (one for one in named if one is not None))


def _alterations(run: RunFacts) -> tuple[Alteration, ...]:
    return (*_by_faults(run), *by_commands(run))


def _by_faults(run: RunFacts) -> Iterator[Alteration]:
    for fault in injected(run):
        effects, began_ns = effects_of(fault["kind"]), fault["injected_ns"]
        if effects.loses is Loses.STORED:
            over_ns = max(began_ns, fault["healed_ns"])
            done_ns = began_ns if effects.at_once and not effects.latent else over_ns
            confirmed = fault["confirmed_ns"] != NEVER and fault["target"] in run.bookies
            whole = confirmed and effects.takes_all(_params(fault))
            yield Alteration(hit(fault, run), began_ns, done_ns, over_ns, "a fault", whole)


def without_put_back(spans: Spans, histories: Histories, run: RunFacts) -> Spans:
    """The spans less those of ledgers whose metadata was put back: another ledger may have had the same id.

    None is left where damage hides which those are.
    """
    return Spans.empty() if put_back_hidden(run) else spans.without(set(histories.put_back))


def rows_without_put_back(rows: Iterable[Row], histories: Histories, run: RunFacts) -> list[Row]:
    """The same of findings that are not entry by entry."""
    return [] if put_back_hidden(run) else [row for row in rows if row.ledger not in histories.put_back]


def put_back_hidden(run: RunFacts) -> bool:
    """Whether a fault put ledgers' metadata back, and damage may hide of which."""
    back = any(fault["kind"] in PUTS_BACK for fault in injected(run))
    return back and bool(run.damage_to(("ledgers",)))


def put_back_text(version: Version, histories: Histories, run: RunFacts) -> str:
    """What a row that was put back says: ``ledger main: removed from the metadata by fault 3 (...)``."""
    fault = run.memo(_by_transaction).get(hex(version.zxid))
    by = fault_text(fault) if fault else f"a fault of the run (transaction 0x{version.zxid:x})"
    name = run.ledger_text(version.ledger)
    before = [one for one in histories.rows_of[version.ledger] if one.zxid < version.zxid]
    last = before[-1] if before else None
    was = None if last is None or last.state == DELETED else last
    if version.state == DELETED:
        how = "removed from the metadata by" if was else "had been deleted, and its id was free again after"
        return f"{name}: {how} {by}"
    start = f"version {was.version}" if was else "nothing"
    return f"{name}: metadata put back from {start} to version {version.version} by {by}"


def _by_transaction(run: RunFacts) -> Mapping[str, FaultRow]:
    """ZooKeeper's transaction, as a hexadecimal number -> the fault that was injected by it."""
    found: dict[str, FaultRow] = {}
    for fault in run.faults:
        injected = json.loads(fault["proof"] or "{}").get("injected") or {}
        found.setdefault(str(injected.get("zxid")), fault)
    return found


def put_back_notes(histories: Histories, run: RunFacts) -> list[str]:
    """A sentence for each time that a ledger's metadata was put back."""
    rows = [row for _, rows in sorted(histories.put_back.items()) for row in rows]
    text = partial(put_back_text, histories=histories, run=run)
    return some_notes(rows, text, "change", " of ledgers' metadata by faults of the run")
