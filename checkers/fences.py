"""What the wire tells about fencing: what bookies answered to it, and which adds they took.

Answers count as the bookie gave them, in one known boot. Summaries only; what follows from them is
:mod:`checkers.fencing`. Sources: *Fencing*; ``ReadEntryProcessorV3`` (an EOK to a fencing read is
sent when the fence is done, an explicit negative without waiting for it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.boots import bookie_of, boots_of, life_name
from checkers.contract import RunFacts
from checkers.holders import lives
from checkers.lately import Lately
from checkers.spans import Ints
from checkers.wire import Columns, said, source_name
from checkers.wording import bookie_name
from evidence.codes import FrameFlag, Message, Status


class Answer(NamedTuple):
    """An answer to a fencing read of the LAC (``entry`` -1) or of an entry, as it was received."""

    received_ns: int
    seq: int
    source: int
    entry: int


Spoken = tuple[int, int, int]
"""(ledger, life, status)."""


@dataclass(frozen=True, slots=True)
class Fences:
    """``answered`` are first answers to fencing; ``taken`` the normal adds that got EOK, by when asked."""

    answered: Mapping[Spoken, Answer]
    taken: Lately


def scan_fences(rows: Columns) -> Fences:
    """The fences and normal adds in some rows of ``frames``."""
    sure = said(rows)
    added = sure & (rows["kind"] == Message.ADD) & (rows["status"] == Status.EOK)
    return Fences(
        answered=_answered(rows, np.flatnonzero(sure & ((rows["flags"] & FrameFlag.FENCING) != 0))),
        taken=Lately.of_rows(
            ledger=rows["ledger"][added],
            who=lives(rows)[added],
            at_ns=rows["asked_ns"][added],
            seq=rows["seq"][added],
            entry=rows["entry"][added],
            by=rows["source"][added],
            until_ns=rows["received_ns"][added],
        ),
    )


def merge_fences(left: Fences, right: Fences) -> Fences:
    """Both."""
    answered = dict(left.answered)
    for key, theirs in right.answered.items():
        answered[key] = min(answered.get(key, theirs), theirs)
    return Fences(answered, left.taken | right.taken)


def _answered(rows: Columns, at: Ints) -> dict[Spoken, Answer]:
    """The first answer of each kind, without a look at each row: recovery may read a whole ledger."""
    order = np.lexsort(
        (rows["seq"][at], rows["received_ns"][at], rows["status"][at], lives(rows)[at], rows["ledger"][at])
    )
    at = at[order]
    keys = np.stack([rows["ledger"][at], lives(rows)[at], rows["status"][at]])
    new = np.any(np.diff(keys, axis=1, prepend=keys[:, :1] - 1) != 0, axis=0)
    columns = (rows[name][at[new]].tolist() for name in ("received_ns", "seq", "source", "entry"))
    first = (Answer(*answer) for answer in zip(*columns, strict=True))
    return {
        (ledger, life, status): answer
        for (ledger, life, status), answer in zip(keys[:, new].T.tolist(), first, strict=True)
    }


def fence_text(spoken: Spoken, answer: Answer, run: RunFacts) -> str:
    """``b2 boot 1 answered ENOENTRY to the fencing read of the LAC by recoverer at 7 ns (frame 3)``."""
    _, life, status = spoken
    what = "the LAC" if answer.entry < 0 else f"entry {answer.entry}"
    return (
        f"{life_name(run, life)} answered {status_name(status)} to the fencing read of {what} by "
        f"{source_name(run, answer.source)} at {answer.received_ns} ns (frame {answer.seq})"
    )


def status_name(status: int) -> str:
    """``EOK``, or the number of a status that has no name."""
    try:
        return Status(status).name
    except ValueError:
        return f"status {status}"


class Stories:
    """How acknowledgements came together, for proofs: what a restart made a bookie forget shows here."""

    def __init__(self, fences: Fences, run: RunFacts) -> None:
        self.run = run
        self._taken = fences.taken
        self._boots = {boot.life: boot for boots in boots_of(run).values() for boot in boots}
        self._answered: dict[tuple[int, int], list[tuple[Spoken, Answer]]] = {}
        for spoken, answer in fences.answered.items():
            mine = self._answered.setdefault((spoken[0], bookie_of(spoken[1])), [])
            mine.append((spoken, answer))

    def of(self, ledger: int, entry: int) -> list[str]:
        """In order of time: who took the add of an entry, what they had answered to fencing, their deaths."""
        taken = self._taken.of_entry(ledger, entry)
        events: set[tuple[int, str]] = set()
        acks = zip(*(taken[name].tolist() for name in ("who", "until_ns", "seq")), strict=True)
        for life, at_ns, seq in acks:
            events.add(
                (at_ns, f"{life_name(self.run, life)} acknowledged entry {entry} at {at_ns} ns (frame {seq})")
            )
            events |= self._before(ledger, bookie_of(life), at_ns)
        return [said for _, said in sorted(events)]

    def _before(self, ledger: int, bookie: int, at_ns: int) -> set[tuple[int, str]]:
        mine = self._answered.get((ledger, bookie), [])
        if not mine:
            return {(at_ns, f"{bookie_name(self.run, bookie)} answered no fencing read of this ledger")}
        events = set()
        for spoken, answer in mine:
            events.add((answer.received_ns, fence_text(spoken, answer, self.run)))
            boot = self._boots.get(spoken[1])
            if boot is not None and answer.received_ns <= boot.ended_ns <= at_ns:
                ended = f"{life_name(self.run, boot.life)} {boot.how} at {boot.ended_ns} ns"
                events.add((boot.ended_ns, ended))
        return events
