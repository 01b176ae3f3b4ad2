"""The registry of steps: a step's name -> its model, and the function that runs it.

The function gets the stage and the checked parameters, and returns what happened. It raises only when the run
cannot go on; an operation that BookKeeper refused is an outcome, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from evidence.codes import Outcome
from harness.stage import Stage
from plans.names import Params, name_of

P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class Done:
    """What a step did, as a sentence, and how it ended for the plan's ``outcome``.

    ``facts`` are recorded beside the step: the client's result (:func:`told`).
    """

    text: str
    outcome: Outcome = Outcome.OK
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A step: the model of its parameters, and ``run``, which gets an instance of it."""

    model: type[BaseModel]
    run: Callable[[Stage, BaseModel], Done]


STEPS: dict[str, Step] = {}


def step(model: type[P]) -> Callable[[Callable[[Stage, P], Done]], Callable[[Stage, P], Done]]:
    """Register the function below as what runs ``model``, under the name of that class."""

    def enter(function: Callable[[Stage, P], Done]) -> Callable[[Stage, P], Done]:
        name = name_of(model)
        if name in STEPS:
            raise ValueError(f"step {name!r} is registered twice")
        STEPS[name] = Step(model, lambda stage, params: function(stage, checked(model, params)))
        return function

    return enter


def checked(model: type[P], params: object) -> P:
    """``params``, which must be an instance of ``model``: a step that was read without it cannot run."""
    if not isinstance(params, model):
        raise TypeError(f"{name_of(model)} is given {type(params).__name__}")
    return params


def outcome_of(reply: dict[str, Any]) -> Outcome:
    """How a client's reply ended: ok, fail (nothing was sent), or else unknown."""
    if reply.get("ok"):
        return Outcome.OK
    return Outcome.FAIL if reply.get("outcome") == "fail" else Outcome.UNKNOWN


def refusal(reply: dict[str, Any]) -> str:
    """Why a reply is not ok: the error's name and code."""
    return f"{reply.get('error', 'error')} ({reply.get('code', '?')})"


def told(reply: dict[str, Any]) -> dict[str, Any]:
    """The decision in a reply: the last entry, or the error's name and code."""
    keys = ("last_entry",) if reply.get("ok") else ("error", "code")
    return {key: reply[key] for key in keys if key in reply}
