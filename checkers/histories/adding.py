"""The set model: elements are added one by one, and a read shows all of them.

The analysis of Jepsen's ``checker/set-full``: an element is known from the acknowledgement of its add, or
from the end of the first read that shows it. From then on reads have to show it in the end: an element
whose latest reads lack it is lost; an element that a read lacked and a later one showed was stale, which
only a linearizable set forbids. Stricter than Jepsen's: to read an element of a failed add is an anomaly.

Source: Jepsen, ``jepsen/src/jepsen/checker.clj`` (``set-full``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from checkers.facts.wording import counted
from checkers.found import capped
from evidence.codes import NEVER, Outcome
from evidence.exchange.operations import Operation, hashable, text_of
from evidence.findings import Finding, Judgement, Verdict
from protocol.errors import EvidenceError

SET, LINEARIZABLE = "set", "linearizable-set"
KINDS = ("lost", "stale", "duplicated", "unexpected", "failed-read")


@dataclass
class _Element:
    """What is known of one element: its add, the event from which it is known, and of reads the last ones."""

    add: Operation | None = None
    known: int = NEVER
    present: Operation | None = None
    absent: Operation | None = None

    @property
    def stable(self) -> bool:
        """Whether no read that began after the last that showed it lacks it."""
        return self.present is not None and (
            self.absent is None or self.absent.invoked < self.present.invoked
        )

    @property
    def added(self) -> Outcome | None:
        """How its add ended."""
        return self.add.outcome if self.add else None


@dataclass
class _Reading:
    """All elements, and the ok reads in the order of their invocations with what each showed."""

    elements: dict[Hashable, _Element] = field(default_factory=dict)
    reads: list[tuple[Operation, Sequence[Hashable]]] = field(default_factory=list)


def judge_set(operations: Sequence[Operation], *, linearizable: bool = False) -> Judgement:
    """Judge a history of ``add`` and ``read``.

    ``unknown`` when there is no anomaly and no acknowledged element was seen by a read that began later.
    ``EvidenceError`` for another function, or a read that shows no collection.
    """
    reading = _read(operations)
    _look(reading)
    findings = [*_fates(reading), *_reads(reading)]
    wrong = [one for one in findings if linearizable or one.kind != "stale"]
    counts = Counter(dict.fromkeys(KINDS, 0))
    counts.update(one.kind for one in findings)
    elements = reading.elements.values()
    stable = sum(one.stable for one in elements)
    stale = f"found, and allowed by {SET}: stale ({counts['stale']:,}); {LINEARIZABLE} forbids it"
    return Judgement(
        property=SET,
        verdict=Verdict.ANOMALY if wrong else Verdict.VALID if stable else Verdict.UNKNOWN,
        needed="an element that a read shows, and no later read lacks",
        seen={
            "operations": len(operations),
            "elements": len(elements),
            "added": sum(one.added is Outcome.OK for one in elements),
            "reads": len(reading.reads),
            "stable": stable,
            "never_read": sum(one.present is None for one in elements),
        },
        findings=capped(wrong),
        counts=dict(counts),
        notes=[stale] if counts["stale"] and not linearizable else [],
    )


def _read(operations: Iterable[Operation]) -> _Reading:
    reading = _Reading()
    for one in operations:
        if one.function == "add":
            element = reading.elements.setdefault(hashable(one.asked), _Element())
            element.add = one
            if one.outcome is Outcome.OK:
                element.known = min(one.completed, element.known)
        elif one.function == "read":
            if one.outcome is Outcome.OK:
                reading.reads.append((one, _shown(one)))
        else:
            raise EvidenceError(
                f"operation {one.index}: function {one.function!r}; the model set has add and read",
                remedy="other models read other histories: see docs/log.md",
            )
    return reading


def _shown(one: Operation) -> Sequence[Hashable]:
    if not isinstance(one.told, list | frozenset | set):
        raise EvidenceError(f"operation {one.index}: a read of a set shows a collection, not {one.told!r}")
    return [hashable(element) for element in one.told]


def _look(reading: _Reading) -> None:
    """Which read showed each element last, and which lacked it last."""
    for read, shown in reading.reads:
        for name in shown:
            element = reading.elements.get(name)
            if element is not None:
                element.present = read
                element.known = min(read.completed, element.known)
    undecided = set(reading.elements)
    for read, shown in reversed(reading.reads):
        for name in undecided.difference(shown):
            reading.elements[name].absent = read
        undecided.intersection_update(shown)


def _fates(reading: _Reading) -> Iterator[Finding]:
    for name, one in reading.elements.items():
        lacks, shows = one.absent, one.present
        if lacks is None or lacks.invoked <= one.known:
            continue
        how = "its add was acknowledged" if one.added is Outcome.OK else "a read showed it"
        known = f"{how}: it is known from event {one.known} on"
        lacked = f"operation {lacks.index} of process {lacks.process}, invoked at {lacks.invoked}, lacks it"
        if shows is not None and one.stable:
            text = f"element {text_of(name)} was not shown by a read that began after it was known"
            shown = f"operation {shows.index}, invoked at {shows.invoked}, shows it"
            yield _finding("stale", text, known, lacked, shown)
        else:
            last = f"operation {shows.index} showed it last" if shows else "no read ever showed it"
            yield _finding("lost", f"element {text_of(name)} is lost", known, last, lacked)


def _reads(reading: _Reading) -> Iterator[Finding]:
    for read, shown in reading.reads:
        where = f"operation {read.index} of process {read.process}"
        for name, times in Counter(shown).items():
            element, what = reading.elements.get(name), f"element {text_of(name)}"
            if times > 1:
                text = f"{what} was read more than once in one read"
                yield _finding("duplicated", text, f"{where} shows it {counted(times, 'time')}")
            if element is None:
                yield _finding("unexpected", f"{what} was read and never added", f"{where} shows it")
            elif element.add and element.added is Outcome.FAIL:
                failed = f"operation {element.add.index}, its add, failed"
                yield _finding("failed-read", f"{what} of a failed add was read", f"{where} shows it", failed)


def _finding(kind: str, text: str, *proof: str) -> Finding:
    return Finding(property=SET, kind=kind, text=text, proof=proof)
