"""Parts of a plan that stand only for some values of its parameters: ``only: {zookeeper: slow}``.

Any item of a list that is a mapping (a step, an expectation) may have the key. What does not stand is
taken out before anything else reads the plan, so that a resolved plan says what was really done. A
parameter that decides such things has the values that the plan names, and its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from plans.document import Document, Path, Place, Problem
from plans.nearest import unknown

KEY = "only"


def apply(document: Document, defaults: Mapping[str, Any]) -> tuple[Document, list[Problem]]:
    """The document without what does not stand, and what is wrong with the conditions or their values.

    The tree's ``vary`` holds the values that are used, ``defaults`` those of the plan's author.
    """
    found = dict(_conditions(document.tree, ()))
    if not found:
        return document, []
    tree = document.tree
    values = tree.get("vary") if isinstance(tree, dict) else None
    values = values if isinstance(values, dict) else {}
    problems = [problem for path, only in found.items() for problem in _malformed(path, only, values)]
    if problems:
        return document, problems
    problems = list(_unforeseen(found, values, defaults))
    dropped = {path for path, only in found.items() if any(values[name] != only[name] for name in only)}
    kept = _without(tree, (), dropped)
    keys, places = (_moved(part, dropped) for part in (document.keys, document.values))
    return Document(document.source, kept, keys, places), problems


def _conditions(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """(path of the item, its condition) of every item of a list that has one."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict) and KEY in item:
                yield (*path, index), item[KEY]
            yield from _conditions(item, (*path, index))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _conditions(inner, (*path, key))


def _malformed(path: Path, only: Any, values: Mapping[str, Any]) -> Iterator[Problem]:
    here = (*path, KEY)
    if not isinstance(only, dict) or not only:
        yield Problem(here, f"`{KEY}` maps parameters of the plan to the value for which this stands")
        return
    for name in only:
        if name not in values:
            yield Problem((*here, name), unknown("parameter", name, values), at_key=True)


def _unforeseen(
    found: Mapping[Path, Any], values: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[Problem]:
    for name, value in values.items():
        named = [only[name] for only in found.values() if name in only]
        known = list(dict.fromkeys([defaults.get(name), *named]))
        if named and value not in known:
            allowed = ", ".join(f"`{one}`" for one in known)
            yield Problem(("vary", name), f"parameter `{name}` is one of {allowed}, not `{value}`")


def _without(value: Any, path: Path, dropped: set[Path]) -> Any:
    if isinstance(value, list):
        return [
            _without(item, (*path, index), dropped)
            for index, item in enumerate(value)
            if (*path, index) not in dropped
        ]
    if not isinstance(value, dict):
        return value
    of_item = bool(path) and isinstance(path[-1], int)
    return {
        key: _without(inner, (*path, key), dropped)
        for key, inner in value.items()
        if not (of_item and key == KEY)
    }


def _moved(places: Mapping[Path, Place], dropped: set[Path]) -> dict[Path, Place]:
    """The places by the paths that they have now; those of what was taken out go with it."""
    moved = {}
    for path, place in places.items():
        fresh: list[str | int] = []
        for at, part in enumerate(path):
            if path[: at + 1] in dropped:
                break
            fresh.append(part - _dropped_before(path[:at], part, dropped) if isinstance(part, int) else part)
        else:
            moved[tuple(fresh)] = place
    return moved


def _dropped_before(path: Path, index: int, dropped: set[Path]) -> int:
    return sum((*path, before) in dropped for before in range(index))
