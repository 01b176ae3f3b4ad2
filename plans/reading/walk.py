"""The steps of a plan as written, before they are checked: by path, name and raw parameters.

Tolerates every malformed tree (the reader complains about it); finds the names that a plan
introduces, so that parameters can be checked against them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from plans.cluster import SHARED, disk_names
from plans.grammar.names import Names, bookie_names
from plans.reading.document import KeyPath
from protocol.addresses import ADMIN, FOLLOWER, MAX_AUTORECOVERY, MAX_BOOKIES, autorecovery_names

MODIFIERS = ("at_s", "when", "outcome", "note")
"""Keys that are allowed beside a step's name."""

_LOADS = ("load", "end_load")
"""Steps whose ``as`` names a load; elsewhere it names a fault."""


@dataclass(frozen=True, slots=True)
class RawStep:
    """One step as written; ``path`` leads to its parameters, ``outcome`` is the key beside its name."""

    path: KeyPath
    name: str
    params: dict[str, object]
    outcome: object = "ok"


def raw_steps(tree: object) -> Iterator[RawStep]:
    """Every step with a name, in the order of the file, branches of ``together`` included."""
    yield from _steps(tree.get("steps") if isinstance(tree, dict) else None, ("steps",))


def names_of(tree: object, *, faults: tuple[str, ...] | None, modes: tuple[str, ...] | None) -> Names:
    """The names that the plan's steps may use; a part that is malformed stays unchecked."""
    if not isinstance(tree, dict):
        return Names()
    cluster = tree.get("cluster", {})
    cluster = cluster if isinstance(cluster, dict) else {"bookies": 0, "disks": 0}
    bookies = _number(cluster.get("bookies", 3), MAX_BOOKIES)
    clients = tree.get("clients")
    steps = list(raw_steps(tree))
    return Names(
        bookies=bookie_names(bookies) or None,
        clients=_texts(clients) if isinstance(clients, list) else None,
        ledgers=_texts([step.params.get("ledger") for step in steps if step.name == "create"]),
        loads=_texts([step.params.get("as") for step in steps if step.name == "load"]),
        faults=faults,
        given=_texts([step.params.get("as") for step in steps if step.name not in _LOADS]),
        modes=modes,
        disks=_disks(cluster.get("disks")),
        autorecovery=tuple(autorecovery_names(_number(cluster.get("autorecovery", 0), MAX_AUTORECOVERY))),
        followers=(FOLLOWER,) if cluster.get("zk2") else (),
        operators=(ADMIN,) if any(step.name == ADMIN for step in steps) else (),
    )


def _steps(value: object, path: KeyPath) -> Iterator[RawStep]:
    for index, step in enumerate(value if isinstance(value, list) else ()):
        for name, params in step.items() if isinstance(step, dict) else ():
            below = (*path, index, name)
            if name == "together":
                for number, branch in enumerate(params if isinstance(params, list) else ()):
                    yield from _steps(branch, (*below, number))
            elif name not in MODIFIERS:
                yield RawStep(
                    below, name, params if isinstance(params, dict) else {}, step.get("outcome", "ok")
                )


def _number(count: object, most: int) -> int:
    """A number of servers, 0 for what is none."""
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= most else 0


def _disks(value: object) -> tuple[str, ...] | None:
    if value is None:
        return ()
    if not isinstance(value, dict):
        return None
    more = value.get("more", ())
    return disk_names(value.get("journal", SHARED), _texts(more) if isinstance(more, list) else ())


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))
