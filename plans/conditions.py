"""The grammar of conditions, and the two that plans themselves make.

A condition is a model of its parameters, and has the name of its class (:func:`plans.names.name_of`). All but
these two stand with the functions that look at the cluster, in ``harness/conditions``; the loader is given
them. Every condition but ``elapsed`` says how long waiting may take.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from plans.names import Params, name_of


class _Named(Params):
    condition: str = ""

    @field_validator("condition")
    @classmethod
    def _its_own(cls, value: str) -> str:
        if value not in ("", name_of(cls)):
            raise ValueError(f"`condition` is `{name_of(cls)}` here, not `{value}`")
        return name_of(cls)


class Condition(_Named):
    """A state of the cluster; waiting longer than ``timeout_s`` ends the run as an error."""

    timeout_s: float = Field(default=120, gt=0)


class RecordedCondition(Condition):
    """A condition that the reader has no model for, kept as it was written."""

    model_config = ConfigDict(extra="allow")

    @field_validator("condition")
    @classmethod
    def _its_own(cls, value: str) -> str:
        return value


class Quiet(Condition):
    """Every bookie runs, is registered and answering, and none is in limbo or repairing.

    Where that does not come, ``otherwise: finish`` leaves out the steps that are left: the run is healed,
    observed and judged as it is.
    """

    otherwise: Literal["error", "finish"] = "error"


class Elapsed(_Named):
    """``for_s`` seconds have passed since the step began: an idle interval that a scenario needs."""

    for_s: float = Field(gt=0)


AnyCondition = Condition | Elapsed
