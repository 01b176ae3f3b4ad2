"""The condition that a bookie has made its checkpoints, as the journal's mark on its disk shows.

A checkpoint ends with the mark being written (``SyncThread#checkpoint``), also when nothing was
flushed and the mark did not move. The first end that is seen may be that of a checkpoint which
began before the step did; the second is not, for one thread makes them one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cluster.interface import Bookie
from harness.conditions import Condition, beginning
from harness.stage import Stage

_ENOUGH = 2


@beginning("checkpointed")
def checkpointed(stage: Stage, step: Any) -> Condition:
    """The bookie has written its journal's mark twice since now."""
    ended = checkpoints_ended(stage.cluster.bookie(step.target))
    return lambda _stage, _step: ended()


def checkpoints_ended(bookie: Bookie) -> Callable[[], tuple[bool, str]]:
    """A question for :func:`wait_until`: whether the bookie has ended two checkpoints since this call."""
    seen = {bookie.marked_ns()}

    def ended() -> tuple[bool, str]:
        seen.add(bookie.marked_ns())
        number = len(seen) - 1
        return number >= _ENOUGH, f"{bookie.name} has ended {number} of {_ENOUGH} checkpoints"

    return ended
