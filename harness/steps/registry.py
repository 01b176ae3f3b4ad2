"""The registry of steps: a step's name -> its model, and the function that runs it.

The function gets the stage and the checked parameters, and returns what happened. It raises only when the run
cannot go on; an operation that BookKeeper refused is an outcome, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import BaseModel

from cluster.commands import Result
from evidence.codes import Outcome
from harness.stage import Stage
from plans.names import name_of

P = TypeVar("P", bound=BaseModel)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done:
    """What a step did, as a sentence, and how it ended for the plan's ``outcome``.

    ``facts`` are recorded beside the step: the client's result (:func:`ended`).
    """

    text: str
    outcome: Outcome = Outcome.OK
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Declared(Generic[T]):
    """A step or a condition: the model of its parameters, and ``run``, which gets an instance of it."""

    model: type[BaseModel]
    run: Callable[[Stage, BaseModel], T]


STEPS: dict[str, Declared[Done]] = {}


def step(model: type[P]) -> Callable[[Callable[[Stage, P], Done]], Callable[[Stage, P], Done]]:
    """Register the function below as what runs ``model``, under the name of that class."""

    def enter(function: Callable[[Stage, P], Done]) -> Callable[[Stage, P], Done]:
        declare("step", STEPS, model, function)
        return function

    return enter


def declare(
    what: str, table: dict[str, Declared[T]], model: type[P], function: Callable[[Stage, P], T]
) -> None:
    """Register what runs ``model``, which gets nothing but instances of it."""
    name = name_of(model)
    if name in table:
        raise ValueError(f"{what} {name!r} is registered twice")

    def run(stage: Stage, params: BaseModel) -> T:
        if not isinstance(params, model):
            raise TypeError(f"{name} is given {type(params).__name__}")
        return function(stage, params)

    table[name] = Declared(model, run)


def ended(result: Result, text: str, **facts: int | None) -> Done:
    """What is done and how it ended, with the refusal where there was one, and the facts that are known.

    The first facts are the client's decision: the last entry, or the error's name and code.
    """
    told = {"last_entry"} if result.ok else {"error", "code"}
    known = {name: value for name, value in facts.items() if value is not None}
    text = text if result.outcome is Outcome.OK else f"{text}: {result.refusal}"
    return Done(text, result.outcome, {**result.model_dump(include=told, exclude_unset=True), **known})
