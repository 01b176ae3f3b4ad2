"""Conditions on how a boot goes: what its log has said, and whether it refused.

A boot that is ready has its journal behind it, so what only a boot before that says it cannot say any more.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from harness.conditions import condition, ready
from harness.stage import Stage
from protocol.errors import ContradictedError

_BEFORE_READY = ("journal_failed",)


@condition("said")
def said(stage: Stage, step: Any) -> tuple[bool, str]:
    """The log of the present or last boot has the event at least ``step.times`` times.

    ``ContradictedError`` when it cannot come any more.
    """
    process = stage.cluster.process(step.target)
    too_late = step.event in _BEFORE_READY and ready(stage, step)[0]  # looked at before the log
    found = Counter(one.event for one in stage.boot_log(step.target))
    who, times = f"{step.target} boot {process.boot}", found[step.event]
    if times >= step.times:
        return True, f"{who} logged {step.event}" + (f" {times} times" if times > 1 else "")
    if too_late:
        raise ContradictedError(f"{who} is ready, but the plan expects it to log {step.event}")
    told = ", ".join(f"{event} ({count})" for event, count in found.items())
    return False, f"{who} logged {told or 'no such event'}"


@condition("refused")
def refused(stage: Stage, step: Any) -> tuple[bool, str]:
    """The present or last boot has ended on its own."""
    process = stage.cluster.process(step.target)
    refusal = process.refusal()
    return refusal is not None, str(refusal or f"{step.target} boot {process.boot} is {process.state}")
