"""Transactions over logs as columns: the log checker's input, from any recorder.

A transaction is a row; its micro-operations are separate rows, append(key, element) and read(key, list).
A key is a log, that is, in a chain of ledgers the whole chain. The lists that were read are stored in one
flat array and identified by start and length, so that lists may share storage. Independent of file formats
and of judging.

Source of the model: Kingsbury and Alvaro, *Elle: Inferring Isolation Anomalies from Experimental
Observations*, VLDB 2020, section 3 (traceable objects: every element is appended once).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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

    Raises ``EvidenceError`` where a transaction completed before it was invoked.
    """

    process: Ints
    """(n) Each does one thing at a time."""
    invoked: Ints
    """(n) Position in one order, or ns of one clock; X precedes Y if it completed before Y was invoked."""
    completed: Ints
    """(n) The same; ``NEVER`` if it never completed."""
    outcome: Ints
    """(n) Of :class:`Outcome`; anything but OK and FAIL may have happened or not."""
    number: Ints
    """(n) What the source calls it."""
    first: Ints
    """(n + 1) Transaction i has the micro-operations ``first[i]`` to ``first[i + 1]``."""
    kind: Ints
    """(m) Of :class:`Micro`."""
    key: Ints
    """(m) 0 to the number of ``key_names``."""
    element: Ints
    """(m) Of an append."""
    start: Ints
    """(m) Where in ``elements`` the list begins that a read returned."""
    length: Ints
    """(m) Of that list; ``NOT_KNOWN`` for an unknown list."""
    elements: Ints
    """(t) The lists that reads returned."""
    key_names: Sequence[str]
    element_names: Mapping[int, str] = field(default_factory=dict)
    """Names of elements that are no integers themselves."""
    split: int = 0
    """Where not 0, an element n without a name is the pair n // split and n % split."""
    caller: Ints | None = None
    """(n) The client of each, where ``process`` is not; ``number`` is then a slot of its history."""
    began_ns: int | None = None
    """When the run began, where times are clock times."""
    caller_names: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in np.flatnonzero(self.completed < self.invoked)[:1]:
            raise EvidenceError(
                f"transactions: transaction {self.number[row]} completed before it was invoked"
            )

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
