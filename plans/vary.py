"""The parameters of a plan: values with a name and a default that a caller may set.

``vary: {for_s: 60}`` names them; ``{vary: for_s}`` anywhere below stands for the value, with its
type. There is no text substitution and no arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from plans.document import Document, Path, Problem
from plans.nearest import unknown

_TRUTH = {"true": True, "false": False}


def apply(document: Document, settings: Mapping[str, object]) -> tuple[Document, list[Problem]]:
    """The document with every reference replaced, and what is wrong with references or settings.

    ``settings`` (name to value, or to its text) go before the defaults; the tree's ``vary`` then
    holds the values that were used.
    """
    tree = document.tree
    declared = tree.get("vary", {}) if isinstance(tree, dict) else {}
    if not isinstance(declared, dict) or not isinstance(tree, dict):
        return document, []
    values = dict(declared)
    problems: list[Problem] = []
    for name, given in settings.items():
        if name not in declared:
            problems.append(Problem(("vary",), unknown("parameter", name, declared)))
            continue
        try:
            values[name] = _like(declared[name], given, name)
        except ValueError as error:
            problems.append(Problem(("vary", name), str(error)))
    replaced = {
        key: values if key == "vary" else _replace(inner, (key,), values, problems)
        for key, inner in tree.items()
    }
    return Document(document.source, replaced, document.keys, document.values), problems


def _like(default: Any, given: object, name: str) -> Any:
    if isinstance(default, bool):
        value = _TRUTH.get(given.lower()) if isinstance(given, str) else given
        if not isinstance(value, bool):
            raise ValueError(f"parameter `{name}` must be true or false, not `{given}`")
        return value
    if isinstance(default, int | float):
        return _number(default, given, name)
    return str(given)


def _number(default: int | float, given: object, name: str) -> int | float:
    for kind in (int, float):
        try:
            number = kind(str(given))
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    raise ValueError(f"parameter `{name}` must be a number as {default} is, not `{given}`")


def _replace(value: Any, path: Path, values: Mapping[str, Any], problems: list[Problem]) -> Any:
    if isinstance(value, list):
        return [_replace(inner, (*path, index), values, problems) for index, inner in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if set(value) == {"vary"} and isinstance(value["vary"], str):
        if value["vary"] in values:
            return values[value["vary"]]
        problems.append(Problem((*path, "vary"), unknown("parameter", value["vary"], values)))
        return None
    return {key: _replace(inner, (*path, key), values, problems) for key, inner in value.items()}
