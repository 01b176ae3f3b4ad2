"""What the rules of ``servers`` look into: logs of boots, metadata of ledgers, answers on the wire.

All times are intervals (ns): a step happened between the two times of its line in the log, and a version
of metadata is in force at some time between its ``earliest_ns`` and the ``latest_ns`` of the next.
Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.contract import Event, Rows, RunFacts
from checkers.facts.alterations import alterations
from checkers.facts.boots import Boot, boots_of
from checkers.facts.histories import Histories
from checkers.facts.versions import Version, lasting_duties
from checkers.facts.wire import denies, proven_answers_about_entries
from checkers.found import Found, ledger_rows
from checkers.sets.spans import Bools
from evidence.codes import NEVER, Message, Status
from protocol.addresses import name_of_id

LOG_READ = "log_read"


class Answer(NamedTuple):
    """An answer: when the proxy had it, when its request was passed on at the earliest, to whom, of what."""

    received_ns: int
    asked_ns: int
    source: int
    entry: int


def first_answers(frames: Rows) -> Iterator[pa.Table]:
    """Of each boot of a bookie the first explicit negative about each ledger, and the first positive.

    Negatives to reads of an entry, and positives to plain reads: a bookie in limbo gives neither. Only what a
    known boot said itself counts; the first answer is the first that the proxy received.
    """
    plain, recovering = (
        proven_answers_about_entries(frames, kind) for kind in (Message.READ, Message.RECOVERY_READ)
    )
    parts = (
        ("denied", plain.where(denies(plain["status"]))),
        ("denied", recovering.where(denies(recovering["status"]))),
        ("showed", plain.of(status=Status.EOK)),
    )
    for what, part in parts:
        for bookie in np.unique(part["bookie"]).tolist():
            for boot in np.unique(part.of(bookie=bookie)["boot"]).tolist():
                rows = part.of(bookie=bookie, boot=boot)
                proof = [rows[name] for name in Answer._fields]
                yield ledger_rows(_kind(what, bookie, boot), rows["ledger"], rows["entry"], proof=proof)


def repaired_answers(frames: Rows, known: Histories, run: RunFacts) -> Iterator[pa.Table]:
    """Of each boot the first explicit negative, after its full check, about an entry that a close gave it.

    Of ledgers whose metadata were seen whole; each CLOSED version has the bookie in the entry's write set.
    """
    for (name, number), at_ns in _cleared(run).items():
        bookie = run.bookies[name]
        for kind in (Message.READ, Message.RECOVERY_READ):
            said = proven_answers_about_entries(frames, kind).of(bookie=bookie, boot=number)
            rows = said.where(denies(said["status"]) & (said["asked_ns"] > at_ns))
            rows = rows.where(_owed(rows, bookie, known, run))
            proof = [rows[column] for column in Answer._fields]
            yield ledger_rows(_kind("repaired", bookie, number), rows["ledger"], rows["entry"], proof=proof)


def _cleared(run: RunFacts) -> dict[tuple[str, int], int]:
    """When each boot of a bookie had ended its full check and cleared the storage's flag (ns)."""
    cleared = (event for event in run.events("clear_integcheck_flag") if event.boot)
    return {(event.server, event.boot): event.latest_ns for event in cleared}


def _owed(rows: Rows, bookie: int, known: Histories, run: RunFacts) -> Bools:
    """Which rows are about entries that each CLOSED version of a ledger gives to the bookie."""
    owed = np.zeros(rows.number, dtype=np.bool_)
    for ledger in np.unique(rows["ledger"]).tolist():
        closed = [version for version in known.of.get(ledger, ()) if version.closed]
        if closed and known.seen_whole(ledger):
            there = rows["entry"] <= min(version.last_entry for version in closed)
            duty = lasting_duties(closed, rows["entry"], run.bookies).get(bookie, False)
            owed |= (rows["ledger"] == ledger) & there & duty
    return owed


def _kind(what: str, bookie: int, boot: int) -> str:
    return f"{what} by {bookie} in boot {boot}"


@dataclass(frozen=True)
class LoggedBoot:
    """One boot of a bookie; ``name`` is ``b1 boot 2``, ``before`` are its earlier boots in their order.

    ``alterations`` are the times (from, to) in which a fault or a command may have changed what the bookie's
    disk holds, otherwise than by losing what was not synced: a marker should outlive that.
    """

    record: Boot
    name: str
    events: Mapping[str, tuple[Event, ...]]
    before: tuple[LoggedBoot, ...] = field(default=(), repr=False)
    alterations: tuple[tuple[int, int], ...] = ()

    def all(self, *names: str) -> list[Event]:
        """The events of these names, by their earliest time."""
        return sorted((event for name in names for event in self.events.get(name, ())), key=_times)

    def first(self, *names: str) -> Event | None:
        """The first of them, or None."""
        return next(iter(self.all(*names)), None)

    def has(self, *names: str) -> bool:
        """Whether one of them happened."""
        return any(name in self.events for name in names)

    def by_ledger(self, name: str) -> dict[int, Event]:
        """Ledger -> the first event of this name that names it."""
        found: dict[int, Event] = {}
        for event in self.all(name):
            found.setdefault(event.ledger, event)
        return found

    @cached_property
    def marks(self) -> Mapping[int, Event]:
        """Ledger -> when it was first marked limbo, in the order of the marks."""
        return self.by_ledger("mark_limbo")

    def altered_since(self, earlier: LoggedBoot) -> bool:
        """Whether its disk may have been changed since an earlier boot began."""
        since_ns, until_ns = earlier.record.started_ns, self.record.ended_ns
        return any(first <= until_ns and last >= since_ns for first, last in self.alterations)

    @property
    def available_ns(self) -> int:
        """By when it was seen registered or had answered; ``NEVER`` when neither was seen."""
        return min((event.latest_ns for event in self.all("registered", "answering")), default=NEVER)

    @property
    def checked_ns(self) -> int:
        """A time before which the preboot check had not ended, 0 where there is no proof of any.

        A mark is logged before it is set. The end of the check is logged some time after it, so the line
        that says so proves no later end than the last mark before it.
        """
        return max((event.earliest_ns for event in self.all("preboot_start", "mark_limbo")), default=0)

    @property
    def suspicious(self) -> bool:
        """Whether the boot saw an unclean shutdown or an invalid cookie."""
        return self.has("unclean_shutdown", "cookie_mismatch")

    @property
    def crashed(self) -> LoggedBoot | None:
        """The last boot before that set the marker of an unclean end, if no later one ended gracefully."""
        for boot in reversed(self.before):
            if not boot.record.unclean:
                return None
            if boot.has("dirty_created", "dirty_kept"):
                return boot
        return None


def logged_boots(run: RunFacts) -> list[LoggedBoot]:
    """Every boot of every bookie, by bookie and boot.

    Rows of boot 0 (ZooKeeper's own order of registrations and cookies) belong to none.
    """
    events: dict[tuple[str, int], dict[str, list[Event]]] = {}
    for event in run.events():
        events.setdefault((event.server, event.boot), {}).setdefault(event.name, []).append(event)
    found: list[LoggedBoot] = []
    for bookie, records in sorted(boots_of(run).items()):
        name = run.bookie_name(bookie)
        changes = tuple(
            (change.began_ns, change.done_ns) for change in alterations(run) if bookie in change.bookies
        )
        before: list[LoggedBoot] = []
        for record in records:
            own = {
                what: tuple(sorted(rows, key=_times)) for what, rows in events[name, record.number].items()
            }
            before.append(LoggedBoot(record, f"{name} boot {record.number}", own, tuple(before), changes))
        found += before
    return found


def _times(event: Event) -> tuple[int, int]:
    return event.earliest_ns, event.latest_ns


class Ledgers:
    """The ledgers of a run, asked by intervals (ns)."""

    def __init__(self, known: Histories) -> None:
        self._known = known

    def known(self) -> list[int]:
        """Every ledger of which a version was seen."""
        return sorted(self._known.of)

    def open_all_the_while(self, ledger: int, since_ns: int, until_ns: int) -> bool:
        """Whether it was there before, was not deleted until after, and no version of then is CLOSED."""
        chain = self._known.of[ledger]
        there = self._known.seen_whole(ledger) and chain[0].latest_ns < since_ns
        gone = self._known.deleted.get(ledger)
        kept = gone is None or gone.earliest_ns > until_ns
        return there and kept and not any(one.closed for one in self._then(ledger, since_ns, until_ns))

    def mine_all_the_while(self, ledger: int, name: str, since_ns: int, until_ns: int) -> bool:
        """Whether every version of then names the bookie in its last ensemble."""
        return all(_last_has(version, name) for version in self._then(ledger, since_ns, until_ns))

    def mine_at_no_time(self, ledger: int, name: str, since_ns: int, until_ns: int) -> bool:
        """Whether no version of then names the bookie in its last ensemble."""
        return not any(_last_has(version, name) for version in self._then(ledger, since_ns, until_ns))

    def surely_open_at(self, ledger: int, at_ns: int) -> bool:
        """Whether no close and no delete of it can have been in force by then."""
        if not self._known.seen_whole(ledger):
            return False
        gone = self._known.deleted.get(ledger)
        ends = [version.earliest_ns for version in self._known.of[ledger] if version.closed]
        return at_ns < min(ends, default=NEVER) and (gone is None or at_ns < gone.earliest_ns)

    def surely_closed_at(self, ledger: int, at_ns: int) -> bool:
        """Whether a CLOSED version was in force by then, and the ledger not deleted until then."""
        gone = self._known.deleted.get(ledger)
        closed = any(version.closed and version.latest_ns < at_ns for version in self._known.of[ledger])
        known = ledger not in self._known.put_back
        return closed and known and (gone is None or at_ns < gone.earliest_ns)

    def _then(self, ledger: int, since_ns: int, until_ns: int) -> Iterator[Version]:
        """The versions that may have been in force at some time of the interval."""
        chain = self._known.of[ledger]
        for version, after in pairwise((*chain, None)):
            begun = version is not None and version.earliest_ns <= until_ns
            if version and begun and (after is None or after.latest_ns >= since_ns):
                yield version


def _last_has(version: Version, name: str) -> bool:
    return bool(version.fragments) and any(name_of_id(one) == name for one in version.fragments[-1][1])


class Evidence:
    """What the rules look into, and how they put it in words."""

    def __init__(self, run: RunFacts, known: Histories, found: Found) -> None:
        """Of one run; ``found`` are its ``first_answers``."""
        self.run, self.ledgers = run, Ledgers(known)
        self._found = found if run.wire else Found()
        self._answers: dict[str, dict[int, Answer]] = {}

    def guarded(self, boot: LoggedBoot) -> bool:
        """Whether the bookie runs under BP-46's protection."""
        return self.run.bookie_name(boot.record.bookie) in self.run.guarded

    def answers(self, what: str, boot: LoggedBoot) -> Mapping[int, Answer]:
        """Ledger -> the boot's first answer of a kind: one that ``denied``, ``showed`` (to a plain read), or
        denied what its full check should have copied (``repaired``).
        """
        kind = _kind(what, boot.record.bookie, boot.record.number)
        if kind not in self._answers:
            self._answers[kind] = {row.ledger: Answer(*row.proof) for row in self._found.by_ledger(kind)}
        return self._answers[kind]

    def ledger_name(self, ledger: int) -> str:
        """``ledger 4 (main)``."""
        return self.run.ledger_text(ledger)

    def at(self, at_ns: int) -> str:
        """A time in words."""
        return self.run.time_text(at_ns)

    def did(self, boot: LoggedBoot, event: Event, what: str) -> str:
        """``b1 boot 2 marked ledger 4 at 3.1 s``."""
        return f"{boot.name} {what} at {self.at(event.latest_ns)}"

    def denied(self, boot: LoggedBoot, ledger: int, answer: Answer) -> str:
        """An explicit negative in words."""
        return (
            f"{boot.name} denied entry {answer.entry} of {self.ledger_name(ledger)} to "
            f"{self.run.source_name(answer.source)}, received by {self.at(answer.received_ns)}"
        )

    def crash(self, boot: LoggedBoot) -> str:
        """Why the boot had reason to suspect its disk."""
        event = boot.first("unclean_shutdown")
        if event is not None:
            return self.did(boot, event, "saw an unclean shutdown")
        mismatch = boot.first("cookie_mismatch")
        return self.did(boot, mismatch, "found a cookie that does not match") if mismatch else ""
