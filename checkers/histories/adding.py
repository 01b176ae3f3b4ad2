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
from evidence.codes import Outcome
from evidence.exchange.operations import Operation, hashable, text_of
from evidence.findings import Finding, Judgement, Verdict
from protocol.errors import EvidenceError

SET, LINEARIZABLE = "set", "linearizable-set"
KINDS = ("lost", "stale", "duplicated", "unexpected", "failed-read")


@dataclass
class _Element:
    """What is known of one element; positions in the order of events."""

    add: Operation | None = None
    failed: bool = False
    known: int | None = None
    present: Operation | None = None
    absent: Operation | None = None


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
    stable = sum(_is_stable(one) for one in reading.elements.values())
    stale = [] if linearizable or not counts["stale"] else [_stale_note(counts["stale"])]
    return Judgement(
        property=SET,
        verdict=Verdict.ANOMALY if wrong else Verdict.VALID if stable else Verdict.UNKNOWN,
        needed="an element that a read shows, and no later read lacks",
        seen={
            "operations": len(operations),
            "elements": len(reading.elements),
            "added": sum(
                one.add is not None and one.add.outcome is Outcome.OK for one in reading.elements.values()
            ),
            "reads": len(reading.reads),
            "stable": stable,
            "never_read": sum(one.present is None for one in reading.elements.values()),
        },
        findings=capped(wrong),
        counts=dict(counts),
        notes=stale,
    )


def _read(operations: Iterable[Operation]) -> _Reading:
    reading = _Reading()
    for one in operations:
        if one.function == "add":
            element = reading.elements.setdefault(hashable(one.asked), _Element())
            element.add, element.failed = one, one.outcome is Outcome.FAIL
            if one.outcome is Outcome.OK:
                element.known = min(one.completed, one.completed if element.known is None else element.known)
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
                if element.known is None or read.completed < element.known:
                    element.known = read.completed
    undecided = set(reading.elements)
    for read, shown in reversed(reading.reads):
        for name in undecided.difference(shown):
            reading.elements[name].absent = read
        undecided.intersection_update(shown)


def _is_stable(one: _Element) -> bool:
    return one.present is not None and (one.absent is None or one.absent.invoked < one.present.invoked)


def _fates(reading: _Reading) -> Iterator[Finding]:
    for name, one in reading.elements.items():
        if one.known is None or one.absent is None or one.absent.invoked <= one.known:
            continue
        shown = text_of(name)
        how = "its add was acknowledged" if one.add and one.add.outcome is Outcome.OK else "a read showed it"
        proof = [f"{how}: it is known from event {one.known} on"]
        lacks = one.absent
        lacked = f"operation {lacks.index} of process {lacks.process}, invoked at {lacks.invoked}, lacks it"
        if _is_stable(one) and one.present is not None:
            proof += [lacked, f"operation {one.present.index}, invoked at {one.present.invoked}, shows it"]
            yield _finding(
                "stale", f"element {shown} was not shown by a read that began after it was known", proof
            )
        else:
            last = (
                "no read ever showed it"
                if one.present is None
                else f"operation {one.present.index} showed it last"
            )
            yield _finding("lost", f"element {shown} is lost", [*proof, last, lacked])


def _reads(reading: _Reading) -> Iterator[Finding]:
    for read, shown in reading.reads:
        where = f"operation {read.index} of process {read.process}"
        for name, times in Counter(shown).items():
            element = reading.elements.get(name)
            if times > 1:
                proof = [f"{where} shows it {counted(times, 'time')}"]
                yield _finding(
                    "duplicated", f"element {text_of(name)} was read more than once in one read", proof
                )
            if element is None:
                yield _finding(
                    "unexpected", f"element {text_of(name)} was read and never added", [f"{where} shows it"]
                )
            elif element.failed:
                proof = [
                    f"{where} shows it",
                    f"operation {element.add.index if element.add else 0}, its add, failed",
                ]
                yield _finding("failed-read", f"element {text_of(name)} of a failed add was read", proof)


def _finding(kind: str, text: str, proof: Sequence[str]) -> Finding:
    return Finding(property=SET, kind=kind, text=text, proof=tuple(proof))


def _stale_note(number: int) -> str:
    return f"found, and allowed by {SET}: stale ({number:,}); {LINEARIZABLE} forbids it"
