"""Classes of cycles, consistency models and what each forbids, and which are stronger than which.

Classes: G0, G1c, G-single and G2-item are Adya's (*Weak Consistency*, 1999, chapter 4; G2-item is G2 over
items), the suffixes ``-process`` and ``-realtime`` Elle's (VLDB 2020, section 6.1): the same with at least
one edge of a process's order or of real time. G-nonadjacent (two or more rw edges, no two in a row) is what
snapshot isolation forbids beside G-single (Cerone and Gotsman, *Analysing Snapshot Isolation*, 2016). The
logs here have items only and no predicates: what Elle prints as G-single-item and G-nonadjacent-item has no
``-item`` here.

Models: PL-1 to PL-3, cursor stability and consistent view are Adya's, chapters 3 and 4. Session and strong
variants: Daudjee and Salem, *Lazy Database Replication with Snapshot Isolation*, VLDB 2006, and *...with
Ordering Guarantees*, ICDE 2004. The mapping of the anomalies that are not Adya's (``internal``,
``dirty-update`` and others): Kingsbury and Alvaro, *Elle*, VLDB 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from checkers.log.edges import Edge

_DATA = Edge.WW | Edge.WR
_SUFFIXES = {"": Edge(0), "-process": Edge.PROCESS, "-realtime": Edge.REALTIME}


class Shape(Enum):
    """How many rw edges a cycle has, and how they lie."""

    NONE = "none"
    ONE = "exactly one"
    APART = "several, no two in a row"
    ANY = "at least one"


@dataclass(frozen=True, slots=True)
class CycleClass:
    """One class: ``edges`` that its cycles may have beside rw, where ``shape`` says how many rw."""

    base: str
    suffix: str
    edges: Edge
    shape: Shape

    @property
    def name(self) -> str:
        """As in findings: ``G-single-realtime``."""
        return self.base + self.suffix

    @property
    def labels(self) -> Edge:
        """All edges that a cycle of the class may have."""
        return self.edges if self.shape is Shape.NONE else self.edges | Edge.RW


_BASES: Sequence[tuple[str, Edge, Shape]] = (
    ("G0", Edge.WW, Shape.NONE),
    ("G1c", _DATA, Shape.NONE),
    ("G-single", _DATA, Shape.ONE),
    ("G-nonadjacent", _DATA, Shape.APART),
    ("G2-item", _DATA, Shape.ANY),
)
CLASSES: Sequence[CycleClass] = tuple(
    CycleClass(base, suffix, edges | more, shape)
    for suffix, more in _SUFFIXES.items()
    for base, edges, shape in _BASES
)
"""In the order in which they are looked for: a class comes after the classes that imply it."""

_WEAKER = {"G0": "G1c", "G-single": "G-nonadjacent", "G-nonadjacent": "G2-item"}


def implies(strong: CycleClass, weak: CycleClass) -> bool:
    """Whether a cycle of the first is, by definition or by its meaning, one of the second too."""
    suffixes, base = list(_SUFFIXES), strong.base
    if suffixes.index(strong.suffix) > suffixes.index(weak.suffix):
        return False
    while base != weak.base and base in _WEAKER:
        base = _WEAKER[base]
    return base == weak.base


def hides(other: CycleClass, sought: CycleClass) -> bool:
    """Whether a cycle of the first keeps the second from being looked for in the same component.

    A closed walk whose rw edges lie apart can be taken apart into cycles; only where none of them is a
    G0 or G1c does it prove a cycle of that shape.
    """
    if sought.shape is Shape.APART and other.shape is Shape.NONE:
        return list(_SUFFIXES).index(other.suffix) <= list(_SUFFIXES).index(sought.suffix)
    return implies(other, sought)


def classify(labels: Sequence[Edge]) -> str:
    """The name of the class of a cycle from the labels of its edges in order."""
    rw = [label == Edge.RW for label in labels]
    if not any(rw):
        base = "G1c" if Edge.WR in labels else "G0"
    elif sum(rw) == 1:
        base = "G-single"
    elif any(one and other for one, other in zip(rw, rw[1:] + rw[:1], strict=True)):
        base = "G2-item"
    else:
        base = "G-nonadjacent"
    return base + ("-realtime" if Edge.REALTIME in labels else "-process" if Edge.PROCESS in labels else "")


_READ = ("G1a", "G1b", "dirty-update", "incompatible-order", "future-read")


@dataclass(frozen=True, slots=True)
class Model:
    """What a model forbids itself, and the weaker models whose prohibitions it keeps."""

    forbids: tuple[str, ...]
    includes: tuple[str, ...] = ()


MODELS: Mapping[str, Model] = {
    "read-uncommitted": Model(("G0", "duplicate-elements", "garbage-read")),
    "read-committed": Model((*_READ, "G1c"), ("read-uncommitted",)),
    "cursor-stability": Model(("lost-update",), ("read-committed",)),
    "consistent-view": Model(("G-single",), ("cursor-stability",)),
    "repeatable-read": Model(("G2-item", "internal"), ("cursor-stability",)),
    "snapshot-isolation": Model(("G-nonadjacent", "internal"), ("consistent-view",)),
    "serializable": Model((), ("repeatable-read", "snapshot-isolation")),
    "strong-session-read-uncommitted": Model(("G0-process",), ("read-uncommitted",)),
    "strong-session-read-committed": Model(
        ("G1c-process",), ("read-committed", "strong-session-read-uncommitted")
    ),
    "strong-session-snapshot-isolation": Model(
        ("G-nonadjacent-process",), ("snapshot-isolation", "strong-session-read-committed")
    ),
    "strong-session-serializable": Model(
        ("G2-item-process",), ("serializable", "strong-session-snapshot-isolation")
    ),
    "strong-read-uncommitted": Model(("G0-realtime",), ("strong-session-read-uncommitted",)),
    "strong-read-committed": Model(
        ("G1c-realtime",), ("strong-session-read-committed", "strong-read-uncommitted")
    ),
    "strong-snapshot-isolation": Model(
        ("G-nonadjacent-realtime",), ("strong-session-snapshot-isolation", "strong-read-committed")
    ),
    "strict-serializable": Model(
        ("G2-item-realtime",), ("strong-session-serializable", "strong-snapshot-isolation")
    ),
}
"""Weaker models first."""

STRONGEST = "strict-serializable"
_CYCLES = {each.name: each for each in CLASSES}


def included(model: str) -> frozenset[str]:
    """The model and all weaker ones that it implies."""
    return frozenset({model}).union(*(included(weaker) for weaker in MODELS[model].includes))


def forbidden(model: str) -> frozenset[str]:
    """Every class of findings that contradicts the model."""
    named = {kind for weaker in included(model) for kind in MODELS[weaker].forbids}
    cycles = {
        name
        for name, strong in _CYCLES.items()
        if any(kind in _CYCLES and implies(strong, _CYCLES[kind]) for kind in named)
    }
    return frozenset(named | cycles)


def ruled_out(kinds: Iterable[str]) -> tuple[str, ...]:
    """The models that a history with such findings does not keep, weaker ones first."""
    found = set(kinds)
    return tuple(model for model in MODELS if found & forbidden(model))


def weakest(models: Iterable[str]) -> tuple[str, ...]:
    """Those of them that imply no other of them: the shortest way to say what is ruled out."""
    these = tuple(models)
    return tuple(one for one in these if not (included(one) - {one}) & set(these))
