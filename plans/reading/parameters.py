"""What is replaced in a plan before its models read it, so that a resolved plan says what was really done.

Parameters: ``vary: {for_s: 60}`` names values that a caller may set, and ``{vary: for_s}`` anywhere below
stands for the value, with its type. There is no text substitution and no arithmetic. An item of a list that
is a mapping (a step, an expectation) stands only for some values of parameters where it says so:
``only: {zookeeper: slow}``. Such a parameter has the values that the plan names, and its default.

Losses: ``cluster: {loss: power}`` makes each `kill` of a bookie a loss of power, so that the same schedule
can be compared at both levels (BP-46, "Detecting Data Loss On Boot").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from plans.reading.document import Document, KeyPath, Problem, Tree, changed, everything
from plans.reading.nearest import unknown
from protocol.addresses import is_bookie

ONLY = "only"
_TRUTH = {"true": True, "false": False}


def replaced(document: Document, settings: Mapping[str, object]) -> Document:
    """The document as its parameters make it; ``PlanError`` lists what is wrong with any of them.

    ``settings`` (name to value, or to its text) go before the defaults; the tree's ``vary`` then
    holds the values that are used.
    """
    defaults = document.tree.get("vary", {})
    if isinstance(defaults, dict):
        document = _without_what_does_not_stand(_varied(document, defaults, settings), defaults)
    return _with_losses(document)


def _varied(document: Document, defaults: Tree, settings: Mapping[str, object]) -> Document:
    values, problems = dict(defaults), []
    for name, given in settings.items():
        if name not in defaults:
            problems.append(Problem(("vary",), unknown("parameter", name, defaults)))
            continue
        try:
            values[name] = _like(defaults[name], given, name)
        except ValueError as error:
            problems.append(Problem(("vary", name), str(error)))
    others = {key: value for key, value in document.tree.items() if key != "vary"}
    for path, value in everything(others):
        if _is_reference(value) and value["vary"] not in values:
            problems.append(Problem((*path, "vary"), unknown("parameter", value["vary"], values)))
    document.refuse(problems)

    def used(value: object) -> object:
        return values[value["vary"]] if _is_reference(value) else value

    tree = {key: values if key == "vary" else changed(value, used) for key, value in document.tree.items()}
    return replace(document, tree=tree)


def _is_reference(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and set(value) == {"vary"} and isinstance(value["vary"], str)


def _like(default: object, given: object, name: str) -> object:
    if isinstance(default, bool):
        value = _TRUTH.get(given.lower()) if isinstance(given, str) else given
        if not isinstance(value, bool):
            raise ValueError(f"parameter `{name}` must be true or false, not `{given}`")
        return value
    if isinstance(default, int | float):
        return _number(default, given, name)
    return str(given)


def _number(default: float, given: object, name: str) -> float:
    for kind in (int, float):
        try:
            number = kind(str(given))
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    raise ValueError(f"parameter `{name}` must be a number as {default} is, not `{given}`")


def _without_what_does_not_stand(document: Document, defaults: Tree) -> Document:
    found = {
        path: value[ONLY]
        for path, value in everything(document.tree)
        if path and isinstance(path[-1], int) and isinstance(value, dict) and ONLY in value
    }
    if not found:
        return document
    values = document.tree.get("vary", {})
    for path, only in found.items():
        document.refuse(_malformed((*path, ONLY), only, values))
    document.refuse(_unforeseen(found, values, defaults))
    dropped = {path for path, only in found.items() if any(values[name] != only[name] for name in only)}
    now: dict[KeyPath, KeyPath] = {}
    tree = _kept(document.tree, (), (), dropped, now)
    keys, places = (
        {now[path]: place for path, place in known.items() if path in now}
        for known in (document.keys, document.values)
    )
    return replace(document, tree=tree, keys=keys, values=places)


def _malformed(path: KeyPath, only: object, values: Tree) -> Iterator[Problem]:
    if not isinstance(only, dict) or not only:
        yield Problem(path, f"`{ONLY}` maps parameters of the plan to the value for which this stands")
        return
    for name in only:
        if name not in values:
            yield Problem((*path, name), unknown("parameter", name, values), at_key=True)


def _unforeseen(found: Mapping[KeyPath, Tree], values: Tree, defaults: Tree) -> Iterator[Problem]:
    for name, value in values.items():
        named = [only[name] for only in found.values() if name in only]
        known = list(dict.fromkeys([defaults.get(name), *named]))
        if named and value not in known:
            allowed = ", ".join(f"`{one}`" for one in known)
            yield Problem(("vary", name), f"parameter `{name}` is one of {allowed}, not `{value}`")


def _kept(
    value: object, old: KeyPath, new: KeyPath, dropped: set[KeyPath], now: dict[KeyPath, KeyPath]
) -> object:
    """The value without what is dropped; ``now`` gets the new path of each old path that is left."""
    now[old] = new
    if isinstance(value, list):
        left = [index for index in range(len(value)) if (*old, index) not in dropped]
        return [_kept(value[index], (*old, index), (*new, at), dropped, now) for at, index in enumerate(left)]
    if not isinstance(value, dict):
        return value
    is_item = bool(old) and isinstance(old[-1], int)
    return {
        key: _kept(inner, (*old, key), (*new, key), dropped, now)
        for key, inner in value.items()
        if not (is_item and key == ONLY)
    }


def _with_losses(document: Document) -> Document:
    cluster, steps = document.tree.get("cluster"), document.tree.get("steps", [])
    if not isinstance(cluster, dict) or cluster.get("loss") != "power":
        return document
    text = "with `loss: power` a `kill` names its bookie; a schedule can have `power_loss` instead"
    document.refuse(
        Problem((*path, "kill", "target"), text)
        for path, value in everything(steps, ("steps",))
        if isinstance(value, dict)
        and isinstance(kill := value.get("kill"), dict)
        and kill.get("target") == "any-bookie"
    )
    disks = {"disks": {}, **cluster}
    return replace(document, tree={**document.tree, "cluster": disks, "steps": changed(steps, _by_power)})


def _by_power(value: object) -> object:
    if not isinstance(value, dict) or not isinstance(kill := value.get("kill"), dict):
        return value
    target = kill.get("target")
    if not isinstance(target, str) or not is_bookie(target):
        return value
    lost = {"targets": [target], "level": "power", **kill}
    del lost["target"]
    return dict(("power_loss", lost) if key == "kill" else (key, inner) for key, inner in value.items())
