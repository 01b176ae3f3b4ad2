"""The step that waits for a condition; its parameters are the condition's."""

from __future__ import annotations

import time

from harness.conditions.registry import await_condition
from harness.stage import Stage
from harness.steps.registry import Done
from plans.conditions import AnyCondition, Elapsed, Quiet
from protocol.errors import NotReadyError


class StepsOverError(NotReadyError):
    """A condition was not reached, and the plan says that its other steps are skipped then."""


def wait_for(stage: Stage, wanted: AnyCondition) -> Done:
    """Wait until a named condition holds."""
    if isinstance(wanted, Elapsed):
        time.sleep(wanted.for_s)
        return Done(f"waited {wanted.for_s:g} s")
    try:
        return Done(f"{wanted.condition}: {await_condition(stage, wanted)}")
    except NotReadyError as error:
        if isinstance(wanted, Quiet) and wanted.otherwise == "finish":
            raise StepsOverError(str(error)) from error
        raise
