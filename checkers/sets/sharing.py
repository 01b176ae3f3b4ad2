"""Joining once what several checkers have in common, so that they have it in common still."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Part = TypeVar("Part")


def shared(merge: Callable[[Part, Part], Part]) -> Callable[[Part, Part], Part]:
    """``merge``, which gives the same object again when it is asked to join the same two as the last time.

    What several summaries share is then joined, pickled and sent once.
    """
    last: list[tuple[Part, Part, Part]] = []

    @wraps(merge)
    def merged(left: Part, right: Part) -> Part:
        if not (last and last[0][0] is left and last[0][1] is right):
            last[:] = [(left, right, merge(left, right))]
        return last[0][2]

    return merged
