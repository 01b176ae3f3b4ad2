"""A bookie has made its checkpoints when it wrote its journal's mark twice since the step began."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from harness.conditions.storage import Checkpointed, checkpointed

STEP = Checkpointed(target="b2")


class Marking:
    """A bookie that wrote its mark at these times, one look after the other."""

    name = "b2"

    def __init__(self, *times_ns: int) -> None:
        self._looks: Iterator[int] = iter(times_ns)

    def marked_ns(self) -> int:
        return next(self._looks)


def looks(*times_ns: int) -> list[bool]:
    bookie = Marking(*times_ns)
    stage: Any = SimpleNamespace(cluster=SimpleNamespace(bookie=lambda name: bookie))
    look = checkpointed(stage, STEP)
    return [look()[0] for _ in times_ns[1:]]


def test_a_mark_that_stays_is_no_checkpoint() -> None:
    assert looks(7, 7, 7) == [False, False]


def test_the_first_mark_may_end_a_checkpoint_that_began_before() -> None:
    assert looks(7, 8, 8, 9) == [False, False, True]


def test_a_bookie_that_was_never_marked_begins_at_nothing() -> None:
    assert looks(0, 5, 6) == [False, True]
