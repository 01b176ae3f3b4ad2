"""Naive twins of the models set and log: plain loops, every pair looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from evidence.codes import Outcome
from evidence.exchange.operations import Operation


def of_set(operations: Sequence[Operation]) -> Counter[str]:
    """How many elements (or, of what a single read shows, reads of them) each kind of finding has."""
    found: Counter[str] = Counter()
    adds = {one.asked: one for one in operations if one.function == "add"}
    reads = [one for one in operations if one.function == "read" and one.outcome is Outcome.OK]
    for element, add in adds.items():
        times = [read.completed for read in reads if element in read.returned]
        if add.outcome is Outcome.OK:
            times.append(add.completed)
        if not times:
            continue
        later = [read for read in reads if read.invoked > min(times)]
        lacking = [read.invoked for read in later if element not in read.returned]
        showing = [read.invoked for read in reads if element in read.returned]
        if lacking:
            found["stale" if showing and max(showing) > max(lacking) else "lost"] += 1
    for read in reads:
        for element in set(read.returned):
            found["duplicated"] += read.returned.count(element) > 1
            found["unexpected"] += element not in adds
            found["failed-read"] += element in adds and adds[element].outcome is Outcome.FAIL
    return +found


def of_log(operations: Sequence[Operation]) -> Counter[str]:
    """The same of a log; all consumers have their logs by ``assign`` or took none."""
    found: Counter[str] = Counter()
    sent: list[tuple[Any, int, Any, Operation]] = []
    polled: list[tuple[Any, int, Any, Operation]] = []
    asked: list[tuple[Any, Any, Outcome]] = []
    for one in operations:
        if one.function in ("assign", "subscribe"):
            continue
        asked += [(micro[1], micro[2], one.outcome) for micro in one.asked if micro[0] == "send"]
        for micro in one.returned if one.outcome is Outcome.OK else ():
            if micro[0] == "send":
                sent.append((micro[1], micro[2][0], micro[2][1], one))
            else:
                polled += [
                    (key, offset, what, one) for key, pairs in micro[1].items() for offset, what in pairs
                ]
    result = sent + polled
    for key in {one[0] for one in result}:
        mine = {(offset, what) for k, offset, what, _ in result if k == key}
        found["inconsistent-offsets"] += sum(
            len({what for at, what in mine if at == offset}) > 1 for offset in {at for at, _ in mine}
        )
        found["duplicate"] += sum(
            len({at for at, one in mine if one == what}) > 1 for what in {one for _, one in mine}
        )
        seen = [(at, what) for k, at, what, _ in polled if k == key]
        for k, at, what, _ in sent:
            passed = any(other >= at for other, _ in seen)
            found["lost-write"] += k == key and passed and what not in [one for _, one in seen]
        for what in {one for _, one in seen}:
            ends = [outcome for k, one, outcome in asked if (k, one) == (key, what)]
            found["garbage-read"] += not ends
            found["aborted-read"] += bool(ends) and all(end is Outcome.FAIL for end in ends)
        order = sorted({at for at, _ in mine})
        for process in {one.process for one in operations}:
            path = [(at, one) for k, at, _, one in polled if k == key and one.process == process]
            for (before, first), (after, second) in pairwise(path):
                new = any(
                    one.function == "assign"
                    and one.process == process
                    and first.invoked < one.invoked <= second.invoked
                    for one in operations
                )
                step = order.index(after) - order.index(before)
                if step != 1 and not (new and first is not second):
                    found["poll-skip" if step > 1 else "nonmonotonic-poll"] += 1
            mine_sent = [at for k, at, _, one in sent if k == key and one.process == process]
            found["nonmonotonic-send"] += sum(b <= a for a, b in pairwise(mine_sent))
    return +found
