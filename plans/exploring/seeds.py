"""Random streams with names: everything random in a run comes from one seed, stream by stream.

A stream depends on the seed and its own name only, so a new stream changes no other. The draws
offered here use nothing but ``Random.random``, whose sequence Python keeps from version to
version; what chooses among items must get them in an order that only ever grows at its end.
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


def between(random: Random, low: float, high: float) -> float:
    """A number of ``[low, high)``, uniformly; ``low`` when they are equal."""
    return low + (high - low) * random.random()


def pick(random: Random, items: Sequence[T]) -> T:
    """One of ``items``, uniformly; ``ValueError`` when there is none."""
    if not items:
        raise ValueError("nothing to pick from")
    return items[min(int(random.random() * len(items)), len(items) - 1)]
