"""What may become smaller in a plan, pass by pass: order, steps, times, settings, shape, amounts, clients.

A pass gets a plan's tree and a question (``fails``: does this tree still fail?) and gives a tree that
does. It may ask about trees that are no plans; the answer is no. The cheapest and most readable
gains come first.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar

from plans.executed import BOOKIES as PINNED
from plans.reading.document import KeyPath, Tree, changed, everything
from plans.shrinking.ddmin import ddmin
from plans.shrinking.units import LEDGERS, LOADS, SORTS, Unit, name_of, params_of, placed, units, without
from protocol.addresses import is_bookie
from protocol.faults import EFFECTS

T = TypeVar("T")
Fails = Callable[[Tree], bool]
_AMOUNTS = ("entries", "entries_per_ledger", "ledgers", "for_s", "rate_per_s", "outstanding")
_NEEDED = frozenset({"client", "ledger", "target", "targets", "workload", "as", "condition", "from", "to"})
_NEVER_LESS = frozenset({*_NEEDED, "ack_quorum", "otherwise"})
"""What a plan may lose rests on the ack quorum: with a smaller one, less would be promised, not less lost.
Without ``otherwise`` a wait may end the run by an error.
"""
_LESS_OF_A_FAULT = frozenset({"timeout_s", "ready_timeout_s", "may_idle"})
"""A fault keeps all other parameters: its default is often stronger (every disk, all messages)."""
_BOOKIE = re.compile(r"\bb\d+\b")
_SHAPED = ("create", "load")
"""Steps that say how ledgers are made."""
_MOST_HALVES = 4


def one_sequence(tree: Tree, fails: Fails) -> Tree:
    """All steps one after the other, in the order in which they began, as soon as they can."""
    if not any("together" in step for step in tree["steps"]):
        return tree
    steps = [{key: value for key, value in step.items() if key != "at_s"} for step in in_order(tree["steps"])]
    flat = {
        **tree,
        "steps": [step for step in steps if step.get("wait_for", {}).get("condition") != "elapsed"],
    }
    return flat if fails(flat) else tree


def in_order(steps: list[Tree]) -> list[Tree]:
    """Every single step, those of blocks included, in the order in which they begin."""
    return [step for _, step in sorted(_absolute(steps, 0.0), key=itemgetter(0))]


def _absolute(steps: list[Tree], begin_s: float) -> Iterator[tuple[float, Tree]]:
    """Each step with the time at which it begins, counted from the plan's begin."""
    now_s = begin_s
    for step in steps:
        now_s = max(now_s, begin_s + step.get("at_s", 0.0))
        if "together" in step:
            inner = [list(_absolute(branch, now_s)) for branch in step["together"]]
            yield from (one for branch in inner for one in branch)
            now_s = max([now_s, *(at_s for branch in inner for at_s, _ in branch)])
        else:
            yield now_s, step


def fewer_units(tree: Tree, fails: Fails) -> Tree:
    """Without loads, ledgers, faults, waits that it does not take: one sort of them after the other.

    A failure mostly needs one of each of several sorts, and half of everything would lack one of them.
    """
    for sort in SORTS:
        tree = _without_most(tree, units(tree["steps"], sort), _without_units, fails)
    return tree


def only_about(tree: Tree, ledgers: Sequence[str], fails: Fails) -> Tree:
    """The plan with only one of these ledgers and the loads that write it; the first such plan that fails.

    ``ledgers`` are the findings' ledgers, as a run names them: a load's are ``<writer>.<id>``.
    """
    for ledger in dict.fromkeys(_source_of(name, tree["steps"]) for name in ledgers):
        gone = [
            unit
            for sort in (LOADS, LEDGERS)
            for unit in units(tree["steps"], sort)
            if not any(place in unit for place in ledger)
        ]
        smaller = _without_units(tree, gone)
        if ledger and gone and fails(smaller):
            return smaller
    return tree


def _source_of(ledger: str, steps: list[Tree]) -> Unit:
    """The steps that make a ledger: it is created by name, or written by a load that has this writer."""
    writer = ledger.partition(".")[0]
    return frozenset(
        place
        for place, step in placed(steps)
        if (name_of(step) == "create" and params_of(step)["ledger"] == ledger)
        or (name_of(step) == "load" and "." in ledger and writer in params_of(step).get("writers", ()))
    )


def fewer_steps(tree: Tree, fails: Fails) -> Tree:
    """The plan without single steps."""
    single = [Unit({place}) for place, _ in placed(tree["steps"])]
    return _without_most(tree, single, _without_units, fails)


def _without_units(tree: Tree, gone: Iterable[Unit]) -> Tree:
    return {**tree, "steps": without(tree["steps"], {place for unit in gone for place in unit})}


def _without_most(tree: Tree, items: list[T], less: Callable[[Tree, set[T]], Tree], fails: Fails) -> Tree:
    """The tree without as many items as it can fail without; ``less`` gives the tree without some of them."""

    def only(some: list[T]) -> Tree:
        return less(tree, set(items) - set(some))

    return only(ddmin(items, lambda some: fails(only(some)))) if items else tree


def no_times(tree: Tree, fails: Fails) -> Tree:
    """Without the times of steps."""
    timed = [("steps", *place, "at_s") for place, step in placed(tree["steps"]) if "at_s" in step]
    return _without_most(tree, timed, _without_paths, fails)


def fewer_settings(tree: Tree, fails: Fails) -> Tree:
    """Without settings of the cluster, its disks and helpers, and optional parameters of steps."""
    cluster = tree.get("cluster", {})
    parts = ("disks", "autorecovery", "racks", "zk2")
    paths: list[KeyPath] = [("cluster", key) for key in parts if key in cluster]
    for conf in ("bookie_conf", "client_conf", "autorecovery_conf"):
        paths += [("cluster", conf, key) for key in cluster.get(conf, {})]
    paths += [(key,) for key in ("limits", "required") if key in tree]
    for place, step in placed(tree["steps"]):
        above = ("steps", *place, name_of(step))
        less = set(params_of(step)) - _NEVER_LESS
        if name_of(step) in EFFECTS:
            less &= _LESS_OF_A_FAULT
        paths += [(*above, key) for key in params_of(step) if key in less]
    return _without_most(tree, paths, _without_paths, fails)


def _without_paths(tree: Tree, gone: set[KeyPath]) -> Tree:
    smaller = copy.deepcopy(tree)
    for path in gone:
        holder: Any = smaller
        for part in path[:-1]:
            holder = holder[part]
        holder.pop(path[-1], None)
    cluster = {key: value for key, value in smaller.get("cluster", {}).items() if value or key == "disks"}
    return {**smaller, "cluster": cluster}


def smaller_cluster(tree: Tree, fails: Fails) -> Tree:
    """With the bookies that are hit first in number, and as few others as it takes; ack quorums stay."""
    present = tree.get("cluster", {}).get("bookies", 3)
    shapes = (params_of(step) for _, step in placed(tree["steps"]) if name_of(step) in _SHAPED)
    fewest = max([1, *(shape.get("ack_quorum", 2) for shape in shapes)])
    for bookies in range(fewest, present):
        smaller = _with_bookies(tree, bookies)
        if smaller is not None and fails(smaller):
            return smaller
    return tree


def _with_bookies(tree: Tree, bookies: int) -> Tree | None:
    """The plan on ``bookies`` bookies: named bookies are renumbered and ensembles reduced.

    A first ensemble that the plan names is kept where enough of its bookies are left.
    """
    smaller = copy.deepcopy({**tree, "cluster": {**tree.get("cluster", {}), "bookies": bookies}})
    steps = [step for _, step in placed(smaller["steps"])]
    pinned = [step.get("create", {}).pop(PINNED, None) or [] for step in steps]
    hit = dict.fromkeys(name for step in steps for name in _bookies_in(step))
    if len(hit) > bookies:
        return None
    named = [*hit, *(name for name in dict.fromkeys(chain.from_iterable(pinned)) if name not in hit)]
    new = {old: f"b{number}" for number, old in enumerate(named[:bookies], start=1)}
    for step, former in zip(steps, pinned, strict=True):
        name = name_of(step)
        step |= _renamed({key: step[key] for key in (name, "when") if key in step}, new)
        if name in _SHAPED and step[name].get("ensemble", 3) > bookies:
            write_quorum = min(step[name].get("write_quorum", 3), bookies)
            step[name] |= {"ensemble": bookies, "write_quorum": write_quorum}
        ensemble = params_of(step).get("ensemble", 3)
        left = [new[old] for old in former if old in new][:ensemble]
        if former and len(left) == ensemble:
            step[name][PINNED] = left
    return smaller


def _bookies_in(value: object) -> Iterator[str]:
    texts = (text for _, text in everything(value) if isinstance(text, str))
    return (part for text in texts for part in text.split("-") if is_bookie(part))


def _renamed(value: object, new: dict[str, str]) -> Any:
    def rename(one: object) -> object:
        return _BOOKIE.sub(lambda found: new.get(found[0], found[0]), one) if isinstance(one, str) else one

    return changed(value, rename)


def smaller_amounts(tree: Tree, fails: Fails) -> Tree:
    """With fewer entries, shorter waits, lower rates: one, or as near to it as halving comes."""
    for place, step in placed(tree["steps"]):
        for key in _AMOUNTS:
            value = params_of(step).get(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 1:
                tree = _smallest(tree, place, key, value, fails)
    return tree


def _smallest(tree: Tree, place: KeyPath, key: str, value: float, fails: Fails) -> Tree:
    amount = 1.0
    for _ in range(_MOST_HALVES):
        smaller = int(amount) if isinstance(value, int) else amount
        if smaller >= value:
            break
        less = _with(tree, place, key, smaller)
        if fails(less):
            return less
        amount = round((amount + value) / 2) if amount > 1 else max(2, round(value / 10))
    return tree


def fewer_clients(tree: Tree, fails: Fails) -> Tree:
    """Without clients: those of a list, and processes that no step names."""
    for place, step in placed(tree["steps"]):
        for key in ("writers", "readers", "recoverers", "targets"):
            if len(names := params_of(step).get(key, [])) > 1:
                tree = _fewer_names(tree, place, key, names, fails)
    text = repr(tree["steps"])
    used = [client for client in tree["clients"] if re.search(rf"\b{client}\b", text)]
    smaller = {**tree, "clients": used or tree["clients"][:1]}
    return smaller if smaller != tree and fails(smaller) else tree


def _fewer_names(tree: Tree, place: KeyPath, key: str, names: list[str], fails: Fails) -> Tree:
    """The tree with as few of these names as it can fail with, but at least one."""

    def only(some: list[str]) -> Tree:
        return _with(tree, place, key, some)

    return only(ddmin(names, lambda some: bool(some) and fails(only(some))))


def _with(tree: Tree, place: KeyPath, key: str, value: object) -> Tree:
    changed = copy.deepcopy(tree)
    params_of(dict(placed(changed["steps"]))[place])[key] = value
    return changed


PASSES: dict[str, Callable[[Tree, Fails], Tree]] = {
    "one sequence": one_sequence,
    "steps that belong together": fewer_units,
    "single steps": fewer_steps,
    "clients": fewer_clients,
    "bookies": smaller_cluster,
    "settings": fewer_settings,
    "times": no_times,
    "amounts": smaller_amounts,
}
"""Every pass by what it makes less of, in the order in which they are tried."""
