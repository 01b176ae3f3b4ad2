"""Histories of logs that a serial store made, doctored: the log checker's part of the trial."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from bench.logs.log_histories import Shape, serial, without
from checkers.log.checker import judge_log
from evidence.codes import Outcome
from evidence.exchange.transactions import Micro, Transactions
from evidence.findings import Verdict
from tests.histories.mutations.registry import Mutant, Sign, entered, mutant

SHAPE = Shape(300, processes=5, open_logs=4, appends_to_a_log=12)
NEW = 2_147_483_640  # no element that the store gives


def of_logs(illegal):
    """Register ``act(transactions, dice) -> (transactions, kinds)``; no kinds (None) where it is legal.

    By kind only: which other anomalies follow from one, and how many, depends on what else was read.
    """

    def register(act):
        def make(dice: Random) -> Mutant:
            doctored, kinds = act(serial(SHAPE, dice.randint(0, 2**31)), dice)
            judgement = judge_log(doctored)
            found = [Sign(f"log/{one.kind}", count=one.count, ledger=-1) for one in judgement.findings]
            legal = kinds is None
            must = [] if legal else [Verdict.ANOMALY, "log/*", *(f"log/{kind}" for kind in kinds)]
            return mutant(found, judgement.verdict, must)

        entered(act, illegal, make)
        return act

    return register


def shown(given: Transactions) -> np.ndarray:
    """Committed reads that show something."""
    committed = given.outcome[given.owner] == Outcome.OK
    return np.flatnonzero((given.kind == Micro.READ) & (given.length > 0) & committed)


def with_list(given: Transactions, read: int, elements: np.ndarray) -> Transactions:
    """The same history in which one read shows another list."""
    start, length = given.start.copy(), given.length.copy()
    start[read], length[read] = len(given.elements), len(elements)
    joined = np.concatenate([given.elements, np.asarray(elements, dtype=given.elements.dtype)])
    return replace(given, start=start, length=length, elements=joined)


def chosen(given: Transactions, dice: Random) -> tuple[int, np.ndarray]:
    read = int(dice.choice(shown(given).tolist()))
    return read, given.list_of(read)


@of_logs("another transaction that began later had shown it")
def append_lost(given, dice):
    """An acknowledged append is dropped: no read shows it any more."""
    committed = given.outcome[given.owner] == Outcome.OK
    appends = np.flatnonzero((given.kind == Micro.APPEND) & committed).tolist()
    append = dice.choice(appends)
    reads = np.flatnonzero((given.key == given.key[append]) & (given.length >= 0) & committed)
    reads = reads[given.kind[reads] == Micro.READ]
    later = reads[given.invoked[given.owner[reads]] > given.completed[given.owner[append]]]
    seen = any(given.element[append] in given.list_of(int(read)) for read in later)
    if not seen:
        return given, None
    return without(given, append), ()


@of_logs("always")
def element_read_twice(given, dice):
    """An element is repeated in what a transaction read."""
    read, own = chosen(given, dice)
    return with_list(given, read, np.append(own, dice.choice(own.tolist()))), ("duplicate-elements",)


@of_logs("always")
def element_read_that_was_not_appended(given, dice):
    """A transaction reads an element that no transaction appended."""
    read, own = chosen(given, dice)
    return with_list(given, read, np.append(own, NEW)), ("garbage-read",)


@of_logs("another transaction read both in order")
def elements_swapped(given, dice):
    """Two elements are swapped in what a transaction read."""
    read, own = chosen(given, dice)
    owners = given.owner[shown(given)]
    others = [
        int(other)
        for other, owner in zip(shown(given), owners, strict=True)
        if given.key[other] == given.key[read] and owner != given.owner[read]
    ]
    if len(own) < 2 or not any(given.length[other] >= 2 for other in others):
        return given, None
    swapped = own.copy()
    swapped[0], swapped[1] = own[1], own[0]
    return with_list(given, read, swapped), ("incompatible-order",)


@of_logs("a committed transaction read what it appended")
def ok_append_reported_failed(given, dice):
    """The outcome of an ok transaction is changed to fail, and no other may have read what it wrote."""
    ok = [row for row in range(len(given)) if given.outcome[row] == Outcome.OK]
    row = dice.choice(ok)
    first, end = int(given.first[row]), int(given.first[row + 1])
    mine = [micro for micro in range(first, end) if given.kind[micro] == Micro.APPEND]
    others = [int(read) for read in shown(given) if given.owner[read] != row]
    read = any(
        given.element[micro] in given.list_of(other)
        for micro in mine
        for other in others
        if given.key[other] == given.key[micro]
    )
    if not read:
        return given, None
    outcome = given.outcome.copy()
    outcome[row] = Outcome.FAIL
    return replace(given, outcome=outcome), ("G1a",)
