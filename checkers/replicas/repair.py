"""What repair did: who audited when, which ledgers were marked under-replicated, when the last mark vanished.

Read from the ``servers`` and ``faults`` tables of :class:`checkers.contract.RunFacts` alone.
ZooKeeper's order of transactions (zxid) decides which mark is the later one; times are intervals.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkers.contract import RunFacts
from checkers.facts.alterations import by_commands
from checkers.facts.wording import ledger_text, listed, time_text
from evidence.codes import NEVER
from protocol.faults import effects_of

_MARKS = ("ledger_marked", "ledger_unmarked")
_SWITCHES = ("repair_disabled", "repair_enabled")
_AUDIT = ("audit_started", "audit_ended")


@dataclass(frozen=True, slots=True)
class Mark:
    """A change of one ledger's mark; ``missing`` are the bookies whose copies are wanted, empty: gone."""

    ledger: int
    there: bool
    missing: tuple[str, ...]
    earliest_ns: int
    latest_ns: int


@dataclass(frozen=True, slots=True)
class Repair:
    """What is known of repair before ``by_ns``; ``marks`` of each ledger in their order."""

    run: RunFacts
    by_ns: int
    elected: tuple[str, ...]
    marks: Mapping[int, tuple[Mark, ...]]

    def unrest(self) -> Iterator[str]:
        """Why the auditor was not quiet by then; nothing when every copy was to be expected."""
        if not self.elected:
            yield "no auditor was elected: nothing was repaired"
            return
        switches = in_order(row for row in self._rows() if row["event"] in _SWITCHES)
        if switches and switches[-1]["event"] == "repair_disabled":
            yield f"repair was switched off at {time_text(self.run, switches[-1]['latest_ns'])}"
        for ledger, marks in sorted(self.marks.items()):
            if marks[-1].there:
                yield (
                    f"{ledger_text(self.run, ledger)} was still marked under-replicated, "
                    f"lacking {listed(marks[-1].missing) or 'an unknown bookie'}"
                )
            elif marks[-1].latest_ns >= self.by_ns:
                yield f"{ledger_text(self.run, ledger)} was perhaps still marked under-replicated"
        changed_ns, what = self._last_change()
        if not any(began_ns > changed_ns for began_ns, _ in self.audits()):
            yield f"no audit was begun and ended after {what}" if what else "no audit was begun and ended"

    def full_replication_ns(self) -> int | None:
        """From the first death that was repaired until the last mark vanished (ns, an upper bound).

        BP-31's time to full replication. None where nothing was marked, or something still is.
        """
        ends = [row for row in self.run.servers if row["event"] == "exit"]
        deaths = [self._death_before(marks[0], ends) for marks in self.marks.values()]
        known = [at_ns for at_ns in deaths if at_ns is not None]
        if not known or any(marks[-1].there for marks in self.marks.values()):
            return None
        return max(marks[-1].latest_ns for marks in self.marks.values()) - min(known)

    def told_of(self, ledger: int) -> str:
        """How the ledger's marks ended, as a sentence."""
        marks = self.marks.get(ledger, ())
        if not marks:
            return "the ledger was never marked under-replicated"
        before = [mark for mark in marks if mark.there]
        lacking = listed(before[-1].missing) if before else ""
        return (
            f"the ledger was marked under-replicated at {time_text(self.run, marks[0].latest_ns)}"
            f"{f' (lacking {lacking})' if lacking else ''}, the mark vanished at "
            f"{time_text(self.run, marks[-1].latest_ns)}"
        )

    def audits(self) -> Iterator[tuple[int, int]]:
        """When each audit that surely ended before began (ns, at the earliest) and ended (at the latest)."""
        begun: dict[tuple[str, int], int] = {}
        for row in sorted(self._rows(), key=lambda row: (row["earliest_ns"], row["event"] != _AUDIT[0])):
            key = row["server"], row["boot"]
            if row["event"] == _AUDIT[0]:
                begun.setdefault(key, row["earliest_ns"])
            elif row["event"] == _AUDIT[1] and key in begun and row["latest_ns"] < self.by_ns:
                yield begun.pop(key), row["latest_ns"]

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        return (row for row in self.run.servers if row["earliest_ns"] < self.by_ns)

    def _last_change(self) -> tuple[int, str]:
        """When something last happened that an audit may find (ns, at the latest), and its words."""
        changes = [
            (int(row["latest_ns"]), f"{row['server']} was lost")
            for row in self._rows()
            if row["server"] in self.run.bookies and row["event"] in ("exit", "znode_gone")
        ]
        for fault in self.run.faults:
            if fault["injected_ns"] < self.by_ns:
                over_ns = fault["confirmed_ns" if effects_of(fault["kind"]).at_once else "healed_ns"]
                changes.append((int(over_ns), f"fault {fault['fault']} ({fault['kind']} {fault['target']})"))
        commands = (change for change in by_commands(self.run) if change.began_ns < self.by_ns)
        changes += [(change.over_ns, change.by) for change in commands]
        return max(changes, default=(-1, ""))

    def _death_before(self, mark: Mark, ends: Sequence[Mapping[str, Any]]) -> int | None:
        """When the bookies that a first mark names had died (ns, at the earliest); None: they had not."""
        deaths = [
            int(row["earliest_ns"])
            for row in ends
            if row["server"] in (mark.missing or self.run.bookies) and row["earliest_ns"] <= mark.latest_ns
        ]
        return max(deaths, default=None)


def repair_by(run: RunFacts, by_ns: int) -> Repair:
    """What repair had done when something else began at ``by_ns``."""
    rows = [row for row in run.servers if row["earliest_ns"] < by_ns]
    marks: dict[int, list[Mark]] = {}
    for row in in_order(row for row in rows if row["event"] in _MARKS):
        detail = json.loads(row["detail"])
        ledger, there = int(detail["ledgerId"]), row["event"] == _MARKS[0]
        times = int(row["earliest_ns"]), int(row["latest_ns"])
        marks.setdefault(ledger, []).append(Mark(ledger, there, tuple(detail.get("missing", ())), *times))
    elected = tuple(str(row["server"]) for row in rows if row["event"] == "auditor_elected")
    return Repair(run, by_ns, elected, {ledger: tuple(found) for ledger, found in marks.items()})


def in_order(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """In the order of ZooKeeper's transactions; rows without a transaction by their time."""
    return sorted(rows, key=lambda row: (_zxid(row), row["latest_ns"]))


def _zxid(row: Mapping[str, Any]) -> int:
    zxid = json.loads(row["detail"]).get("zxid")
    return int(zxid, 16) if isinstance(zxid, str) else NEVER
