"""Delta debugging: of things that together make something fail, a few that still do.

Source: A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
Transactions on Software Engineering 28 (2002), there called ddmin. It keeps only what cannot be left
out one by one (1-minimal), if the test always answers alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """A subset of ``items``, in their order, that still ``fails``; ``fails(items)`` is taken for granted.

    The empty subset is tried first, then halves, then what is left when one of ever finer parts goes.
    """
    left = list(items)
    if not left or fails([]):
        return []
    parts = 2
    while len(left) > 1:
        chunks = _chunks(left, parts)
        tried = chunks if parts == 2 else _rests(chunks)
        smaller = next((some for some in tried if fails(some)), None)
        if smaller is not None:
            left, parts = smaller, max(parts - 1, 2)
        elif parts >= len(left):
            break
        else:
            parts = min(2 * parts, len(left))
    return left


def _chunks(items: Sequence[T], parts: int) -> list[list[T]]:
    """``items`` split into ``parts`` parts of about the same size."""
    ends = [round(len(items) * number / parts) for number in range(parts + 1)]
    return [list(items[begin:end]) for begin, end in pairwise(ends) if begin < end]


def _rests(chunks: Sequence[list[T]]) -> list[list[T]]:
    """Everything but one part, for each of them; the last parts go first, for they depend on others."""
    return [
        [item for number, chunk in enumerate(chunks) if number != gone for item in chunk]
        for gone in reversed(range(len(chunks)))
    ]
