"""Random streams with names: everything random in a run comes from one seed, stream by stream.

A stream depends on the seed and its own name only, so a new stream changes no other. The draws
offered here use nothing but ``Random.random``, whose sequence Python keeps from version to
version. Lists from which items are chosen may only grow at their end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
HIGHEST_SEED = 2**63 - 1


def stream(seed: int, name: str) -> Random:
    """The generator of the stream ``name`` under ``seed`` (SHA-256 of both)."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return Random(int.from_bytes(digest, "big"))


class Spread(Random):
    """A stream whose first number is spread evenly over consecutive seeds, so that a few differ in it.

    An additive recurrence: the multiples of ``step``, an irrational number, without their whole parts.
    """

    def __init__(self, seed: int, name: str, *, step: float) -> None:
        super().__init__()
        self._rest = stream(seed, name)
        self._first: float | None = seed % 2**32 * step % 1  # beyond 2**53 a product has no fraction

    def random(self) -> float:
        """The next number."""
        first, self._first = self._first, None
        return self._rest.random() if first is None else first


def between(random: Random, low: float, high: float) -> float:
    """A number of ``[low, high)``, uniformly; ``low`` when they are equal."""
    return low + (high - low) * random.random()


def pick(random: Random, items: Sequence[T]) -> T:
    """One of ``items``, uniformly; ``ValueError`` when there is none."""
    if not items:
        raise ValueError("nothing to pick from")
    return items[min(int(random.random() * len(items)), len(items) - 1)]
