"""Transactions over logs as columns: the log checker's input, from any recorder.

A transaction is a row; its micro-operations are separate rows, append(key, element) and read(key, list).
A key is a log, that is, in a chain of ledgers the whole chain. The lists that were read are stored in one
flat array and identified by start and length, so that lists may share storage. Independent of file formats
and of judging.

Source of the model: Kingsbury and Alvaro, *Elle: Inferring Isolation Anomalies from Experimental
Observations*, VLDB 2020, section 3 (traceable objects: every element is appended once).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evidence.codes import Outcome
from protocol.errors import EvidenceError

Ints = NDArray[np.signedinteger]
NOT_KNOWN = -1
"""Length of a read of unknown result: the transaction did not say what it read."""


class Micro(IntEnum):
    """The kind of a micro-operation."""

    APPEND = 0
    READ = 1


@dataclass(frozen=True, eq=False)
class Transactions:
    """``n`` transactions with ``m`` micro-operations and ``t`` listed elements.

    Columns of length n: ``process`` (one thing at a time each), ``invoked`` and ``completed`` (positions in
    one order or ns of one clock; X precedes Y only if X completed before Y was invoked; ``NEVER`` if it
    never completed), ``outcome`` (of :class:`Outcome`; anything but OK and FAIL may have happened
    or not), ``number`` (what the source calls it). ``first`` (n + 1): the micro-operations of transaction
    i are ``first[i]`` to ``first[i + 1]``.

    Columns of length m: ``kind`` (of :class:`Micro`), ``key`` (0 to the number of ``key_names``),
    ``element`` (of an append), ``start`` and ``length`` (of the list that a read returned, in
    ``elements``; ``NOT_KNOWN`` for an unknown list). ``element_names`` has the names of elements that are
    no integers themselves; where ``split`` is not 0, another element n is the pair n // split and
    n % split. ``caller`` (n, or None) is the client of each transaction where ``process`` is
    not, and then ``number`` is a slot of that client's history. ``began_ns`` is when the run began,
    where times are clock times.

    Raises ``EvidenceError`` where columns contradict each other.
    """

    process: Ints
    invoked: Ints
    completed: Ints
    outcome: Ints
    number: Ints
    first: Ints
    kind: Ints
    key: Ints
    element: Ints
    start: Ints
    length: Ints
    elements: Ints
    key_names: Sequence[str]
    element_names: Mapping[int, str] = field(default_factory=dict)
    split: int = 0
    caller: Ints | None = None
    began_ns: int | None = None
    caller_names: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise EvidenceError(f"transactions: {problem}")

    def __len__(self) -> int:
        return len(self.process)

    @cached_property
    def owner(self) -> NDArray[np.int32]:
        """The transaction of each micro-operation, shape (m,)."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.first))

    def list_of(self, micro: int) -> Ints:
        """The elements that one read returned; also empty where they are unknown."""
        start = int(self.start[micro])
        return self.elements[start : start + max(int(self.length[micro]), 0)]

    def element_text(self, element: int) -> str:
        """The element as its source wrote it."""
        number = int(element)
        plain = f"{number // self.split}:{number % self.split}" if self.split else str(number)
        return self.element_names.get(number, plain)

    def time_text(self, at: int) -> str:
        """A position in the order as it is, or the seconds of a clock since its run began."""
        return str(at) if self.began_ns is None else f"{(at - self.began_ns) / 1e9:.6f} s"

    def _problems(self) -> Iterable[str]:
        rows, micros = len(self.process), len(self.kind)
        for name in ("invoked", "completed", "outcome", "number"):
            if len(getattr(self, name)) != rows:
                yield f"column {name} has {len(getattr(self, name))} rows, process has {rows}"
        for name in ("key", "element", "start", "length"):
            if len(getattr(self, name)) != micros:
                yield f"column {name} has {len(getattr(self, name))} rows, kind has {micros}"
        if len(self.first) != rows + 1 or self.first[0] != 0 or self.first[-1] != micros:
            yield f"first must have {rows + 1} offsets from 0 to {micros}"
        elif rows and int(np.diff(self.first).min()) < 0:
            yield "first must not decrease"
        backwards = np.flatnonzero(self.completed < self.invoked)
        if len(backwards):
            yield f"transaction {self.number[backwards[0]]} completed before it was invoked"
        yield from self._overlaps()
        if micros and not 0 <= int(self.key.min()) <= int(self.key.max()) < len(self.key_names):
            yield f"key {int(self.key.max())} has no name, there are {len(self.key_names)}"
        beyond = np.flatnonzero((self.length > 0) & (self.start + self.length > len(self.elements)))
        if len(beyond):
            yield f"micro-operation {beyond[0]} lists elements beyond the {len(self.elements)} there are"

    def _overlaps(self) -> Iterable[str]:
        """A process that began something before it had ended what came before."""
        rows = np.flatnonzero((self.outcome == Outcome.OK) | (self.outcome == Outcome.FAIL))
        rows = rows[np.lexsort((self.invoked[rows], self.process[rows]))]
        one, other = rows[:-1], rows[1:]
        wrong = (self.process[one] == self.process[other]) & (self.completed[one] >= self.invoked[other])
        for at in np.flatnonzero(wrong)[:1]:
            yield (
                f"process {self.process[one[at]]} began operation {self.number[other[at]]} "
                f"before its operation {self.number[one[at]]} ended"
            )
