"""Consistency models, what each forbids, and which are stronger than which.

A small table from the literature. The levels PL-1 to PL-3, cursor stability and consistent view: Adya,
*Weak Consistency*, 1999, chapters 3 and 4. Snapshot isolation by cycles without adjacent rw edges: Cerone
and Gotsman, *Analysing Snapshot Isolation*, 2016. Session and strong variants: Daudjee and Salem, *Lazy
Database Replication with Snapshot Isolation*, VLDB 2006, and *...with Ordering Guarantees*, ICDE 2004.
The mapping of the anomalies that are not Adya's (``internal``, ``dirty-update`` and others): Kingsbury
and Alvaro, *Elle*, VLDB 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from checkers.log.classes import CLASSES, implies

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
