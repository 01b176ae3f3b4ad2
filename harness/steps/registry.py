"""The registry of steps: a step's name -> its model, and the function that runs it.

The function gets the stage and the checked parameters, and returns what happened. It raises only when the run
cannot go on; an operation that BookKeeper refused is an outcome, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from cluster.commands import Result
from evidence.codes import Outcome
from harness.stage import Stage
from plans.names import Params, name_of

P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class Done:
    """What a step did, as a sentence, and how it ended for the plan's ``outcome``.

    ``facts`` are recorded beside the step: the client's result (:func:`ended`).
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


def ended(result: Result, text: str, **facts: int | None) -> Done:
    """What is done and how it ended, with the refusal where there was one, and the facts that are known.

    The first facts are the client's decision: the last entry, or the error's name and code.
    """
    told = {"last_entry"} if result.ok else {"error", "code"}
    known = {name: value for name, value in facts.items() if value is not None}
    text = text if result.outcome is Outcome.OK else f"{text}: {result.refusal}"
    return Done(text, result.outcome, {**result.model_dump(include=told, exclude_unset=True), **known})
