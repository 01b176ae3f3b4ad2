"""Histories over logs of any size whose truth is known: made in a serial order, then overlapped.

A store that runs one transaction after the other, in the order of their rows; each is invoked
somewhat before and completed somewhat after its turn, one at a time by each of its processes. So the
history is strictly serializable, and what is planted into it is its only anomaly. Source of the shape:
Elle's generator (a few logs at a time, each retired after a number of appends, one to four operations each).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evidence.codes import NEVER, Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a history is: ``appends_to_a_log`` / 2 is about the mean length of a read."""

    transactions: int
    processes: int = 20
    open_logs: int = 10
    appends_to_a_log: int = 128
    longest: int = 4
    failed: float = 0.01
    unknown: float = 0.01


def serial(shape: Shape, seed: int) -> Transactions:
    """A strictly serializable history with failed and undecided transactions; same seed, same history.

    What failed took no effect, of what is undecided half did. Every read has separate storage.
    """
    rng = np.random.default_rng(seed)
    rows = shape.transactions
    many = rng.integers(1, shape.longest + 1, rows)
    first = np.concatenate(([0], np.cumsum(many)))
    micros = int(first[-1])
    owner = np.repeat(np.arange(rows), many)
    kind = rng.integers(0, 2, micros).astype(np.int8)
    outcome = rng.choice(
        np.array([Outcome.OK, Outcome.FAIL, Outcome.UNKNOWN], dtype=np.int8),
        rows,
        p=(1 - shape.failed - shape.unknown, shape.failed, shape.unknown),
    )
    takes = (outcome == Outcome.OK) | ((outcome == Outcome.UNKNOWN) & (rng.random(rows) < 0.5))
    effect = (kind == Micro.APPEND) & takes[owner]
    key, before = _logs(rng.integers(0, shape.open_logs, micros), effect, shape)
    element = np.where(kind == Micro.APPEND, np.arange(micros) * 7919 % 2_147_483_629, 0)
    shown = (kind == Micro.READ) & (outcome[owner] == Outcome.OK)
    length = np.where(kind == Micro.READ, np.where(shown, before, -1), 0)
    start, elements = _lists(key, element, effect, shown, length)
    invoked, completed = _times(rng, rows, shape.processes)
    undecided = outcome == Outcome.UNKNOWN
    # A process whose outcome is not known is replaced by a new one, as clients of such tests are.
    process = np.arange(rows) % shape.processes
    for slot in range(shape.processes):
        own = slice(slot, None, shape.processes)
        process[own] += shape.processes * (np.cumsum(undecided[own]) - undecided[own])
    return Transactions(
        process=process,
        invoked=invoked,
        completed=np.where(undecided, NEVER, completed),
        outcome=outcome,
        number=np.arange(rows),
        first=first,
        kind=kind,
        key=key,
        element=element,
        start=start,
        length=length,
        elements=elements,
        key_names=tuple(map(str, range(int(key.max()) + 1))),
    )


def without(history: Transactions, micro: int) -> Transactions:
    """The same store having lost one append that it acknowledged: no read shows it any more."""
    elements = history.elements.copy()
    length = history.length.copy()
    for read in np.flatnonzero((history.key == history.key[micro]) & (history.length > 0)):
        own = history.list_of(int(read))
        kept = own[own != history.element[micro]]
        elements[history.start[read] : history.start[read] + len(kept)] = kept
        length[read] = len(kept)
    return replace(history, elements=elements, length=length)


def _logs(slot: Ints, effect: np.ndarray, shape: Shape) -> tuple[Ints, Ints]:
    """For each micro-operation its log, and how many appends that log had before it."""
    order = np.argsort(slot, kind="stable")
    done = np.cumsum(effect[order]) - effect[order]
    begins = np.searchsorted(slot[order], np.arange(shape.open_logs + 1))
    own = np.append(done, effect.sum())[begins]
    done -= np.repeat(own[:-1], np.diff(begins))
    key, before = np.empty(len(slot), dtype=np.int64), np.empty(len(slot), dtype=np.int64)
    key[order] = slot[order] + shape.open_logs * (done // shape.appends_to_a_log)
    before[order] = done % shape.appends_to_a_log
    _, dense = np.unique(key, return_inverse=True)
    return dense, before


def _lists(
    key: Ints, element: Ints, effect: np.ndarray, shown: np.ndarray, length: Ints
) -> tuple[Ints, Ints]:
    """Where each read's list starts, and all lists one after the other."""
    appends = np.flatnonzero(effect)
    appends = appends[np.argsort(key[appends], kind="stable")]
    base = np.searchsorted(key[appends], np.arange(int(key.max()) + 2))
    in_order = element[appends].astype(np.int32)
    reads = np.flatnonzero(shown)
    sizes = length[reads]
    ends = np.cumsum(sizes)
    start = np.zeros(len(key), dtype=np.int64)
    start[reads] = ends - sizes
    elements = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.int32)
    for read, size in zip(reads, sizes, strict=True):
        at = start[read]
        elements[at : at + size] = in_order[base[key[read]] : base[key[read]] + size]
    return start, elements


def _times(rng: np.random.Generator, rows: int, processes: int) -> tuple[Ints, Ints]:
    """Around its turn each is under way, and done before its process begins the next."""
    turn = np.arange(rows, dtype=np.int64) * 1_000
    reach = 1_000 * processes // 2 - 2
    return turn - rng.integers(0, reach, rows), turn + rng.integers(0, reach, rows)
