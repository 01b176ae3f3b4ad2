"""Which steps of a plan belong together: a fault with its end, a load with its end, a ledger's acts.

Works on the tree of a plan. A step's place is its path from the list of steps; a step that is taken away
takes empty branches and blocks with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from plans.reading.document import KeyPath, Tree
from plans.reading.walk import MODIFIERS
from protocol.faults import EFFECTS, effects_of

Unit = frozenset[KeyPath]
LOADS, LEDGERS, FAULTS, OTHERS = "load", "ledger", "fault", "other"
SORTS = (LOADS, LEDGERS, FAULTS, OTHERS)
"""Sorts of units, in the order in which they are tried."""


def name_of(step: Tree) -> str:
    """The name of the step's kind, such as ``kill``."""
    return next(key for key in step if key not in MODIFIERS)


def params_of(step: Tree) -> Tree:
    """The parameters of the step; empty for a step without parameters."""
    return step[name_of(step)] or {}


def placed(steps: Sequence[Tree], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Tree]]:
    """Every single step with its place, those of blocks included, in the order of the plan."""
    for index, step in enumerate(steps):
        if "together" in step:
            for number, branch in enumerate(step["together"]):
                yield from placed(branch, (*path, index, "together", number))
        else:
            yield (*path, index), step


def without(steps: Sequence[Tree], gone: Collection[KeyPath], path: KeyPath = ()) -> list[Tree]:
    """The steps without those at these places; a block of one branch becomes that branch's steps."""
    left: list[Tree] = []
    for index, step in enumerate(steps):
        here = (*path, index)
        if "together" not in step:
            left += [] if here in gone else [step]
            continue
        branches = [
            branch
            for number, old in enumerate(step["together"])
            if (branch := without(old, gone, (*here, "together", number)))
        ]
        if len(branches) > 1:
            left.append({**step, "together": branches})
        elif branches:
            left += branches[0]
    return left


def units(steps: Sequence[Tree], sort: str | None = None) -> list[Unit]:
    """The steps in groups that are taken away together, each step in one, in the order of first steps.

    With ``sort`` only those of one sort.
    """
    groups: dict[str, set[KeyPath]] = {}
    sorts: dict[str, str] = {}
    open_faults: dict[str, str] = {}
    for place, step in placed(steps):
        key = _key(place, step, open_faults)
        groups.setdefault(key, set()).add(place)
        sorts.setdefault(key, _sort(step, key))
    return [frozenset(group) for key, group in groups.items() if sort in (None, sorts[key])]


def _sort(step: Tree, key: str) -> str:
    first = key.partition(" ")[0]
    if first in (LOADS, LEDGERS):
        return first
    return FAULTS if name_of(step) in EFFECTS else OTHERS


def _key(place: KeyPath, step: Tree, open_faults: dict[str, str]) -> str:
    """The name of the step's group; ``open_faults`` maps what a later step may end to its group."""
    name, params = name_of(step), params_of(step)
    own = f"step {place}"
    if name in ("load", "end_load"):
        return f"load {params.get('as')}"
    if "load" in params:
        return f"load {params['load']}"
    if "ledger" in params and name not in EFFECTS:
        return f"ledger {params['ledger']}"
    if name in ("start", "resume"):
        return open_faults.pop(f"down {params['target']}", own)
    if name == "heal":
        return open_faults.pop(f"{params.get('kind')} {params.get('target')}", own)
    if name == "release":
        return open_faults.get(f"named {params.get('fault')}", own)
    if name in EFFECTS:
        open_faults.update(dict.fromkeys(_ended_by(name, params), own))
    return own


def _ended_by(name: str, params: Tree) -> Iterator[str]:
    """What names the fault in the step that ends it."""
    targets = params.get("targets", [params["target"]] if "target" in params else [])
    if effects_of(name).down:
        yield from (f"down {target}" for target in targets)
    if "from" in params:
        yield f"{name} {params['from']}-{params['to']}"
    yield from (f"{name} {target}" for target in targets)
    if "as" in params:
        yield f"named {params['as']}"
