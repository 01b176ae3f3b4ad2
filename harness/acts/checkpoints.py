"""The condition that a bookie has made its checkpoints, as the journal's mark on its disk shows.

A checkpoint ends with the mark being written (``SyncThread#checkpoint``), also when nothing was
flushed and the mark did not move. The first end that is seen may be that of a checkpoint which
began before the step did; the second is not, for one thread makes them one after the other.
"""

from __future__ import annotations

from typing import Any

from cluster.interface import CanTellCheckpoints
from harness.conditions import Condition, beginning
from harness.stage import Stage
from protocol.errors import UsageError

_ENOUGH = 2


@beginning("checkpointed")
def checkpointed(stage: Stage, step: Any) -> Condition:
    """The bookie has written its journal's mark twice since now."""
    bookie = stage.cluster.process(step.target)
    if not isinstance(bookie, CanTellCheckpoints):
        raise UsageError(f"{step.target} cannot tell its checkpoints on this backend")
    seen = {bookie.marked_ns()}

    def condition(stage: Stage, step: Any) -> tuple[bool, str]:  # noqa: ARG001  # as every condition
        seen.add(bookie.marked_ns())
        ended = len(seen) - 1
        return ended >= _ENOUGH, f"{step.target} has ended {ended} of {_ENOUGH} checkpoints"

    return condition
