"""Release numbers and ranges of them: ``<4.15``, ``>=4.15.1,<4.18``.

A range is comparisons joined by commas, all of which must hold; missing parts of a number
count as 0 (``4.15`` is ``4.15.0``), and what follows a dash (``-SNAPSHOT``) is not compared.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Annotated

from pydantic import WithJsonSchema

from plans.reading.mistakes import checked

_VERSION = re.compile(r"(\d+(?:\.\d+){1,2})(?:-[A-Za-z0-9.]+)?")
_COMPARISON = re.compile(r"\s*(<=|>=|==|<|>)\s*(\S+)\s*")
_Parts = tuple[int, int, int]
_OPERATORS: dict[str, Callable[[_Parts, _Parts], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


def parts(version: str) -> _Parts:
    """``(4, 15, 0)`` for ``4.15``; ``ValueError`` for what is no release number."""
    match = _VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"`{version}` is no release number such as 4.18.0")
    numbers = [int(part) for part in match[1].split(".")] + [0]
    return numbers[0], numbers[1], numbers[2]


def within(version: str, versions: str) -> bool:
    """Whether ``version`` satisfies every comparison of the range; the empty range holds all."""
    return all(compare(parts(version), bound) for compare, bound in _comparisons(versions))


def overlap(one: str, other: str) -> bool:
    """Whether some release lies in both ranges: then the lowest such is 0.0.0, a bound, or just after one."""
    bounds = [bound for versions in (one, other) for _, bound in _comparisons(versions)]
    lowest = {(0, 0, 0), *bounds, *((major, minor, patch + 1) for major, minor, patch in bounds)}
    return any(
        all(compare(release, bound) for versions in (one, other) for compare, bound in _comparisons(versions))
        for release in lowest
    )


def _comparisons(versions: str) -> list[tuple[Callable[[_Parts, _Parts], bool], _Parts]]:
    found = []
    for text in versions.split(",") if versions else []:
        match = _COMPARISON.fullmatch(text)
        if match is None:
            raise ValueError(f"`{versions}` is no range of versions such as `<4.15` or `>=4.15.1,<4.18`")
        found.append((_OPERATORS[match[1]], parts(match[2])))
    return found


Version = Annotated[str, checked(parts), WithJsonSchema({"type": "string", "description": "4.18.0"})]
VersionRange = Annotated[
    str, checked(_comparisons), WithJsonSchema({"type": "string", "description": ">=4.15,<4.18"})
]
