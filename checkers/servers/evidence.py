"""What the rules of ``servers`` look into: boots by their logs, metadata of ledgers, answers on the wire.

All times are intervals (ns): a step happened between the two times of its line in the log, and a version
of metadata is in force at some time between its ``earliest_ns`` and the ``latest_ns`` of the next.
Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.facts.alterations import alterations
from checkers.facts.boots import Boot, boot_events, boot_name, boots_of
from checkers.facts.histories import Histories
from checkers.facts.versions import lasting_duties
from checkers.facts.wire import boot_ids, denies, proven_answers_about_entries
from checkers.judging.contract import Event, Rows, RunFacts
from checkers.judging.found import Found, ledger_rows, proof_columns
from checkers.sets.spans import Bools, Ints
from evidence.codes import NEVER, Message, Status

LOG_READ = "log_read"
DIRTY = ("dirty_created", "dirty_kept")
"""The marker of an unclean end was set, or was still there."""


class Answer(NamedTuple):
    """An answer: when the proxy had it, when its request was passed on at the earliest, to whom, of what."""

    received_ns: int
    asked_ns: int
    source: int
    entry: int


def first_answers(frames: Rows, known: Histories, run: RunFacts) -> Iterator[pa.Table]:
    """Of each boot of a bookie the first answer of each kind about each ledger: the first that the proxy had.

    ``denied`` are explicit negatives to reads of an entry, ``showed`` positives to plain reads: a bookie in
    limbo gives neither. ``repaired`` are negatives after its full check about entries that a close gave it.
    """
    plain, recovering = (
        proven_answers_about_entries(frames, kind) for kind in (Message.READ, Message.RECOVERY_READ)
    )
    for part in (plain, recovering):
        denied = part.filter(denies(part["status"]))
        late = denied.filter(denied["asked_ns"] > _cleared_ns(denied, run))
        yield from _firsts("denied", denied)
        yield from _firsts("repaired", late.filter(_owed(late, known, run)))
    yield from _firsts("showed", plain.where(status=Status.EOK))


def _firsts(what: str, rows: Rows) -> Iterator[pa.Table]:
    whose = boot_ids(rows)
    for boot_id in np.unique(whose).tolist():
        mine = rows.filter(whose == boot_id)
        proof = proof_columns(Answer._fields, mine)
        yield ledger_rows(f"{what} by {boot_id}", mine["ledger"], mine["entry"], proof=proof)


def _cleared_ns(rows: Rows, run: RunFacts) -> Ints:
    """When the boot that gave each answer had ended its full check and cleared the storage's flag."""
    whose, cleared_ns = boot_ids(rows), np.full(rows.num_rows, NEVER)
    for boot_id, event in boot_events(run, "clear_integcheck_flag"):
        cleared_ns[whose == boot_id] = event.latest_ns
    return cleared_ns


def _owed(rows: Rows, known: Histories, run: RunFacts) -> Bools:
    """Which rows are about entries that each CLOSED version of a ledger seen whole gives to the bookie."""
    owed = np.zeros(rows.num_rows, dtype=np.bool_)
    for ledger in np.unique(rows["ledger"]).tolist():
        closed = [version for version in known.versions.get(ledger, ()) if version.closed]
        if closed and known.seen_whole(ledger):
            there = rows["entry"] <= min(version.last_entry for version in closed)
            there &= rows["ledger"] == ledger
            for bookie, duty in lasting_duties(closed, rows["entry"], run.bookies).items():
                owed |= there & duty & (rows["bookie"] == bookie)
    return owed


@dataclass(frozen=True, eq=False)
class LoggedBoot:
    """One boot of a bookie with its log and its answers; ``before`` are its earlier boots in their order."""

    record: Boot
    events: Mapping[str, Sequence[Event]]
    before: tuple[LoggedBoot, ...]
    run: RunFacts
    ledgers: Histories
    found: Found

    @property
    def bookie(self) -> str:
        """``b1``."""
        return self.run.bookie_name(self.record.bookie)

    @property
    def name(self) -> str:
        """``b1 boot 2``."""
        return boot_name(self.run, self.record.id)

    def all(self, *names: str) -> list[Event]:
        """The events of these names, by their earliest time."""
        events = (event for name in names for event in self.events.get(name, ()))
        return sorted(events, key=lambda event: (event.earliest_ns, event.latest_ns))

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

    def answers(self, what: str) -> dict[int, Answer]:
        """Ledger -> its first answer that ``denied``, ``showed`` or, after its full check, ``repaired``."""
        rows = self.found.by_ledger(f"{what} by {self.record.id}") if self.run.wire else ()
        return {row.ledger: Answer(*row.proof) for row in rows}

    def altered(self, since_ns: int, until_ns: int) -> bool:
        """Whether a fault or a command may have changed its disk between two times.

        Otherwise than by taking what was not synced: a marker should outlive that.
        """
        changes = (one for one in alterations(self.run) if self.record.bookie in one.bookies)
        return any(one.began_ns <= until_ns and one.done_ns >= since_ns for one in changes)

    def altered_since(self, earlier: LoggedBoot) -> bool:
        """Whether its disk may have been changed since an earlier boot began."""
        return self.altered(earlier.record.started_ns, self.record.ended_ns)

    @property
    def guarded(self) -> bool:
        """Whether the bookie runs under BP-46's protection."""
        return self.bookie in self.run.guarded

    @property
    def suspects(self) -> bool:
        """Whether it is guarded, and saw an unclean shutdown or an invalid cookie."""
        return self.guarded and self.suspicious

    @property
    def suspicious(self) -> bool:
        """Whether it saw an unclean shutdown or an invalid cookie."""
        return self.has("unclean_shutdown", "cookie_mismatch")

    @property
    def available_ns(self) -> int:
        """By when it was seen registered or had answered; ``NEVER`` when neither was seen."""
        return min((event.latest_ns for event in self.all("registered", "answering")), default=NEVER)

    @property
    def checking(self) -> list[Event]:
        """Proofs that the preboot check had not ended.

        A mark is logged before it is set. The end of the check is logged some time after it, so the line
        that says so proves no later end than the last mark before it.
        """
        return self.all("preboot_start", "mark_limbo")

    @property
    def checked_ns(self) -> int:
        """A time before which the preboot check had not ended, 0 where there is no proof of any."""
        return max((event.earliest_ns for event in self.checking), default=0)

    @property
    def crashed(self) -> LoggedBoot | None:
        """The last boot before that set the marker of an unclean end, if no later one ended gracefully."""
        for boot in reversed(self.before):
            if not boot.record.unclean:
                return None
            if boot.has(*DIRTY):
                return boot
        return None

    def did(self, event: Event, what: str) -> str:
        """``b1 boot 2 marked ledger 4 (main) at 3.1 s``."""
        return f"{self.name} {what} at {self.run.time_text(event.latest_ns)}"

    @property
    def end(self) -> str:
        """``b1 boot 1 was killed at 3.1 s``."""
        return f"{self.name} {self.record.how} at {self.run.time_text(self.record.ended_ns)}"

    @property
    def suspicion(self) -> str:
        """Why it had reason to suspect its disk."""
        seen, mismatch = self.first("unclean_shutdown"), self.first("cookie_mismatch")
        if seen is not None:
            return self.did(seen, "saw an unclean shutdown")
        return self.did(mismatch, "found a cookie that does not match") if mismatch else ""

    def denied(self, ledger: int, answer: Answer) -> str:
        """An explicit negative in words."""
        return (
            f"{self.name} denied entry {answer.entry} of {self.run.ledger_text(ledger)} to "
            f"{self.run.source_name(answer.source)}, received by {self.run.time_text(answer.received_ns)}"
        )


def logged_boots(run: RunFacts, known: Histories, found: Found) -> list[LoggedBoot]:
    """Every boot of every bookie, by bookie and boot; ``found`` has their :func:`first_answers`.

    Rows of boot 0 (ZooKeeper's own order of registrations and cookies) belong to none.
    """
    boots: list[LoggedBoot] = []
    for bookie, records in sorted(boots_of(run).items()):
        mine: list[LoggedBoot] = []
        for record in records:
            own = run.memo(events_by_boot)[run.bookie_name(bookie), record.number]
            mine.append(LoggedBoot(record, own, tuple(mine), run, known, found))
        boots += mine
    return boots


def events_by_boot(run: RunFacts) -> Mapping[tuple[str, int], Mapping[str, Sequence[Event]]]:
    """(Server, boot) -> its events by name, in their order. Ask for them by ``run.memo``."""
    events: dict[tuple[str, int], dict[str, list[Event]]] = {}
    for event in run.events():
        events.setdefault((event.server, event.boot), {}).setdefault(event.name, []).append(event)
    return events
