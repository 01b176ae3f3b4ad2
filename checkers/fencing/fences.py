"""What the wire tells about fencing: what bookies answered to it, and which adds they took.

Answers count as the bookie gave them, in one known boot. Summaries only; what follows from them is
:mod:`checkers.fencing.checker`. Sources: *Fencing*; ``ReadEntryProcessorV3`` (an EOK to a fencing read is
sent when the fence is done, an explicit negative without waiting for it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.contract import RunFacts
from checkers.facts.boots import bookie_of, boots_of, life_name
from checkers.facts.holders import lives
from checkers.facts.wire import said, source_name
from checkers.facts.wording import bookie_name, time_text
from checkers.rows import Rows, at_once
from checkers.sets.lately import Lately
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


@at_once
def scan_fences(rows: Rows) -> Fences:
    """The fences and normal adds in some rows of ``frames``."""
    added = said(rows, Message.ADD).of(status=Status.EOK)
    answered: dict[Spoken, Answer] = {}
    for kind in Message:
        sure = said(rows, kind)
        answered = _first(answered, _answered(sure.where((sure["flags"] & int(FrameFlag.FENCING)) != 0)))
    return Fences(
        answered=answered,
        taken=Lately.of_rows(
            ledger=added["ledger"],
            who=lives(added),
            at_ns=added["asked_ns"],
            seq=added["seq"],
            entry=added["entry"],
            by=added["source"],
            until_ns=added["received_ns"],
        ),
    )


def merge_fences(left: Fences, right: Fences) -> Fences:
    """Both."""
    return Fences(_first(left.answered, right.answered), left.taken | right.taken)


def _first(left: Mapping[Spoken, Answer], right: Mapping[Spoken, Answer]) -> dict[Spoken, Answer]:
    """The first of both."""
    answered = dict(left)
    for key, theirs in right.items():
        answered[key] = min(answered.get(key, theirs), theirs)
    return answered


def _answered(rows: Rows) -> dict[Spoken, Answer]:
    """The first answer of each kind, without a look at each row: recovery may read a whole ledger."""
    if not rows.number:
        return {}
    at = np.lexsort((rows["seq"], rows["received_ns"], rows["status"], lives(rows), rows["ledger"]))
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
        f"{source_name(run, answer.source)} at {time_text(run, answer.received_ns)} (frame {answer.seq})"
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
            when = f"at {time_text(self.run, at_ns)} (frame {seq})"
            events.add((at_ns, f"{life_name(self.run, life)} acknowledged entry {entry} {when}"))
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
                ended = f"{life_name(self.run, boot.life)} {boot.how} at {time_text(self.run, boot.ended_ns)}"
                events.add((boot.ended_ns, ended))
        return events
