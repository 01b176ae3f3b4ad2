"""What repair did: who audited when, which ledgers were marked under-replicated, when the last mark vanished.

Read from the ``servers`` and ``faults`` tables of :class:`checkers.judging.contract.RunFacts` alone.
ZooKeeper's order of transactions (zxid) decides which mark is the later one; times are intervals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from checkers.facts.alterations import by_commands, fault_text, injected
from checkers.judging.contract import Event, RunFacts
from evidence.codes import NEVER
from protocol.faults import effects_of

MARKED, UNMARKED = "ledger_marked", "ledger_unmarked"
_SWITCHES = ("repair_disabled", "repair_enabled")
_AUDIT = ("audit_started", "audit_ended")


class Repair:
    """What is known of repair before ``by_ns``; ``marks`` are the changes of each ledger's mark in order."""

    def __init__(self, run: RunFacts, by_ns: int) -> None:
        self.run, self.by_ns = run, by_ns
        self.elected = any(self._events("auditor_elected"))
        self.marks: dict[int, list[Event]] = {}
        for event in in_order(self._events(MARKED, UNMARKED)):
            self.marks.setdefault(event.ledger, []).append(event)

    def unrest(self) -> Iterator[str]:
        """Why the auditor was not quiet by then; nothing when every copy was to be expected."""
        if not self.elected:
            yield "no auditor was elected: nothing was repaired"
            return
        switches = in_order(self._events(*_SWITCHES))
        if switches and switches[-1].name == "repair_disabled":
            yield f"repair was switched off at {self.run.time_text(switches[-1].latest_ns)}"
        for ledger, marks in sorted(self.marks.items()):
            if marks[-1].name == MARKED:
                yield (
                    f"{self.run.ledger_text(ledger)} was still marked under-replicated, "
                    f"lacking {', '.join(missing(marks[-1])) or 'an unknown bookie'}"
                )
            elif marks[-1].latest_ns >= self.by_ns:
                yield f"{self.run.ledger_text(ledger)} was perhaps still marked under-replicated"
        changed_ns, what = self._last_change()
        if not any(began_ns > changed_ns for began_ns, _ in self.audits()):
            yield f"no audit was begun and ended after {what}" if what else "no audit was begun and ended"

    def full_replication_ns(self) -> int | None:
        """From the first death that was repaired until the last mark vanished (ns, an upper bound).

        BP-31's time to full replication. None where nothing was marked, or something still is.
        """
        deaths: dict[str, list[int]] = {}
        for end in sorted(self.run.events("exit"), key=attrgetter("earliest_ns")):
            deaths.setdefault(end.server, []).append(end.earliest_ns)
        first = (self._death_before(marks[0], deaths) for marks in self.marks.values())
        known = [at_ns for at_ns in first if at_ns is not None]
        if not known or any(marks[-1].name == MARKED for marks in self.marks.values()):
            return None
        return max(marks[-1].latest_ns for marks in self.marks.values()) - min(known)

    def summary_of(self, ledger: int, by_ns: int = NEVER) -> str:
        """How the ledger's marks had ended by then (ns), as a sentence."""
        marks = [mark for mark in self.marks.get(ledger, ()) if mark.earliest_ns < by_ns]
        if not marks:
            return "the ledger was never marked under-replicated"
        lacking = next((", ".join(missing(mark)) for mark in reversed(marks) if mark.name == MARKED), "")
        return (
            f"the ledger was marked under-replicated at {self.run.time_text(marks[0].latest_ns)}"
            f"{f' (lacking {lacking})' if lacking else ''}, the mark vanished at "
            f"{self.run.time_text(marks[-1].latest_ns)}"
        )

    def audits(self) -> Iterator[tuple[int, int]]:
        """When each audit that surely ended before began (ns, at the earliest) and ended (at the latest)."""
        begun: dict[tuple[str, int], int] = {}
        for event in sorted(
            self._events(*_AUDIT), key=lambda event: (event.earliest_ns, event.name != _AUDIT[0])
        ):
            key = event.server, event.boot
            if event.name == _AUDIT[0]:
                begun.setdefault(key, event.earliest_ns)
            elif key in begun and event.latest_ns < self.by_ns:
                yield begun.pop(key), event.latest_ns

    def _events(self, *names: str) -> Iterator[Event]:
        return (event for event in self.run.events(*names) if event.earliest_ns < self.by_ns)

    def _last_change(self) -> tuple[int, str]:
        """When something last happened that an audit may find (ns, at the latest), and its words."""
        changes = [
            (event.latest_ns, f"{event.server} was lost")
            for event in self._events("exit", "znode_gone")
            if event.server in self.run.bookies
        ]
        changes += [(over_ns, by) for began_ns, over_ns, by in meddling(self.run) if began_ns < self.by_ns]
        return max(changes, default=(-1, ""))

    def _death_before(self, mark: Event, deaths: Mapping[str, Sequence[int]]) -> int | None:
        """When the first of the bookies that a first mark names had died (ns, at the earliest).

        None: none had. Of a mark that names none, the last death of any bookie.
        """
        named = missing(mark)
        times = [deaths.get(name, ()) for name in named or self.run.bookies]
        before = [those[: bisect_right(those, mark.latest_ns)] for those in times]
        return (min if named else max)((those[-1] for those in before if those), default=None)


def missing(mark: Event) -> tuple[str, ...]:
    """The bookies whose copies a mark wants; none where it does not say, or was removed."""
    return tuple(mark.detail.get("missing", ()))


def meddling(run: RunFacts) -> Iterator[tuple[int, int, str]]:
    """Faults and operators' commands: when each began and was over (ns), and the words for it."""
    for fault in injected(run):
        over_ns = fault["confirmed_ns" if effects_of(fault["kind"]).at_once else "healed_ns"]
        yield fault["injected_ns"], over_ns, fault_text(fault)
    for change in by_commands(run):
        yield change.began_ns, change.over_ns, change.by


def in_order(events: Iterable[Event]) -> list[Event]:
    """In the order of ZooKeeper's transactions; events without a transaction by their time."""
    return sorted(events, key=lambda event: (_zxid(event), event.latest_ns))


def _zxid(event: Event) -> int:
    zxid = event.detail.get("zxid")
    return int(zxid, 16) if isinstance(zxid, str) else NEVER
