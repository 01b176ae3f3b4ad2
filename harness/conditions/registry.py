"""The registry of conditions: a condition's name -> its model, and the function that looks at the cluster.

A look returns whether the condition holds and the state it saw, as a phrase.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cluster.waiting import wait_until
from harness.stage import Stage
from harness.steps.registry import Declared, declare
from plans.steps import Condition

C = TypeVar("C", bound=Condition)
Seen = tuple[bool, str]
Look = Callable[[], Seen]


CONDITIONS: dict[str, Declared[Look]] = {}
"""What runs a condition begins it, and gives the look."""


def condition(model: type[C]) -> Callable[[Callable[[Stage, C], Seen]], Callable[[Stage, C], Seen]]:
    """Register the function below as the look of ``model``, under the name of that class."""

    def enter(function: Callable[[Stage, C], Seen]) -> Callable[[Stage, C], Seen]:
        declare("condition", CONDITIONS, model, lambda stage, wanted: lambda: function(stage, wanted))
        return function

    return enter


def beginning(model: type[C]) -> Callable[[Callable[[Stage, C], Look]], Callable[[Stage, C], Look]]:
    """Register the function below as what begins ``model``, a condition on what happens from then on.

    It is called once, when the step begins, and gives the look.
    """

    def enter(function: Callable[[Stage, C], Look]) -> Callable[[Stage, C], Look]:
        declare("condition", CONDITIONS, model, function)
        return function

    return enter


def await_condition(stage: Stage, wanted: Condition) -> str:
    """Wait until the condition holds, ``wanted.timeout_s`` at most; the last state seen."""
    look = CONDITIONS[wanted.condition].run(stage, wanted)
    return wait_until(lambda: alive_and(stage, look), wanted.timeout_s, f"condition {wanted.condition!r}")


def alive_and(stage: Stage, look: Look) -> Seen:
    """The look, after a check that no process of the run has failed."""
    stage.assert_alive()
    return look()
