"""The set model: elements are added one by one, and a read shows all of them.

The analysis of Jepsen's ``checker/set-full``: an element is known from the acknowledgement of its add, or
from the end of the first read that shows it. From then on reads have to show it in the end: an element
whose latest reads lack it is lost; an element that a read lacked and a later one showed was stale, which
only a linearizable set forbids. Stricter than Jepsen's: to read an element of a failed add is an anomaly.

Source: Jepsen, ``jepsen/src/jepsen/checker.clj`` (``set-full``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from checkers.judging.found import capped
from evidence.codes import NEVER, Outcome
from evidence.exchange.operations import Operation, hashable, text_of
from evidence.findings import Finding, Judgement, Verdict
from protocol.errors import EvidenceError
from protocol.wording import counted

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


_Elements = dict[Hashable, _Element]
_Reads = list[tuple[Operation, Sequence[Hashable]]]
"""The ok reads in the order of their invocations, with what each showed."""


def judge_set(operations: Sequence[Operation], *, linearizable: bool = False) -> Judgement:
    """Judge a history of ``add`` and ``read``.

    ``unknown`` when there is no anomaly and no acknowledged element was seen by a read that began later.
    ``EvidenceError`` for another function, or a read that shows no collection.
    """
    elements, reads = _read(operations)
    _look(elements, reads)
    findings = [*_fates(elements), *_wrong_reads(elements, reads)]
    wrong = [one for one in findings if linearizable or one.kind != "stale"]
    counts = Counter(dict.fromkeys(KINDS, 0))
    counts.update(one.kind for one in findings)
    stable = sum(one.stable for one in elements.values())
    stale = f"found, and allowed by {SET}: stale ({counts['stale']:,}); {LINEARIZABLE} forbids it"
    return Judgement(
        property=SET,
        verdict=Verdict.ANOMALY if wrong else Verdict.VALID if stable else Verdict.UNKNOWN,
        needed="an element that a read shows, and no later read lacks",
        seen={
            "operations": len(operations),
            "elements": len(elements),
            "added": sum(one.added is Outcome.OK for one in elements.values()),
            "reads": len(reads),
            "stable": stable,
            "never_read": sum(one.present is None for one in elements.values()),
        },
        findings=capped(wrong),
        counts=dict(counts),
        notes=[stale] if counts["stale"] and not linearizable else [],
    )


def _read(operations: Iterable[Operation]) -> tuple[_Elements, _Reads]:
    """The elements with their adds, and the reads."""
    elements: _Elements = defaultdict(_Element)
    reads: _Reads = []
    for one in operations:
        if one.function == "add":
            element = elements[hashable(one.asked)]
            element.add = one
            if one.outcome is Outcome.OK:
                element.known = min(one.completed, element.known)
        elif one.function == "read":
            if one.outcome is Outcome.OK:
                if not isinstance(one.returned, list | frozenset | set):
                    raise EvidenceError(
                        f"operation {one.index}: a read of a set shows a collection, not {one.returned!r}"
                    )
                reads.append((one, [hashable(element) for element in one.returned]))
        else:
            raise EvidenceError(
                f"operation {one.index}: function {one.function!r}; the model set has add and read",
                remedy="other models read other histories: see docs/log.md",
            )
    return elements, reads


def _look(elements: _Elements, reads: _Reads) -> None:
    """Which read showed each element last, and which lacked it last."""
    undecided = set(elements)
    for read, shown in reads:
        for name in undecided.intersection(shown):
            elements[name].present = read
            elements[name].known = min(read.completed, elements[name].known)
    for read, shown in reversed(reads):
        for name in undecided.difference(shown):
            elements[name].absent = read
        undecided.intersection_update(shown)


def _fates(elements: _Elements) -> Iterator[Finding]:
    for name, one in elements.items():
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


def _wrong_reads(elements: _Elements, reads: _Reads) -> Iterator[Finding]:
    for read, shown in reads:
        where = f"operation {read.index} of process {read.process}"
        for name, times in Counter(shown).items():
            element, what = elements.get(name), f"element {text_of(name)}"
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
