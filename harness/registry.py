"""The registry of steps and conditions: a name in plans -> the model, and the function that runs it.

The function of a step gets the context and the checked parameters, and returns what happened. It raises only
when the run cannot go on; an operation that BookKeeper refused is an outcome, not an error. The function of a
condition looks at the cluster, and returns whether the condition holds and the state it saw, as a phrase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from pydantic import BaseModel

from cluster.commands import CommandResult
from cluster.interface import ProcessState
from cluster.waiting import wait_until
from evidence.codes import Outcome
from harness.recording.context import RunContext
from plans.grammar.names import name_of
from plans.grammar.steps import Condition
from protocol.addresses import ZOOKEEPER
from protocol.errors import NotReadyError, ServerError, UnplannedDeathError

P = TypeVar("P", bound=BaseModel)
C = TypeVar("C", bound=Condition)
T = TypeVar("T")
Seen = tuple[bool, str]
Look = Callable[[], Seen]


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
    run: Callable[[RunContext, BaseModel], T]


STEPS: dict[str, Declared[Done]] = {}
CONDITIONS: dict[str, Declared[Look]] = {}
"""To run a condition is to start it; the result is a function that looks at the cluster once."""


def step(model: type[P]) -> Callable[[Callable[[RunContext, P], Done]], Callable[[RunContext, P], Done]]:
    """Register the function below as what runs ``model``, under the name of that class."""
    return partial(_declare, "step", STEPS, model)


def condition(model: type[C]) -> Callable[[Callable[[RunContext, C], Seen]], Callable[[RunContext, C], Seen]]:
    """Register the function below, which looks at the cluster once, for ``model``, under its class's name."""

    def enter(function: Callable[[RunContext, C], Seen]) -> Callable[[RunContext, C], Seen]:
        _declare("condition", CONDITIONS, model, lambda context, wanted: lambda: function(context, wanted))
        return function

    return enter


def beginning(model: type[C]) -> Callable[[Callable[[RunContext, C], Look]], Callable[[RunContext, C], Look]]:
    """Register the function below for ``model``, a condition on what happens after its step began.

    It is called once, when the step begins, and returns the function that looks at the cluster.
    """
    return partial(_declare, "condition", CONDITIONS, model)


def _declare(
    what: str, table: dict[str, Declared[T]], model: type[P], function: Callable[[RunContext, P], T]
) -> Callable[[RunContext, P], T]:
    """Register what runs ``model``, which gets nothing but instances of it, and return it."""
    name = name_of(model)
    if name in table:
        raise ValueError(f"{what} {name!r} is registered twice")

    def run(context: RunContext, params: BaseModel) -> T:
        if not isinstance(params, model):
            raise TypeError(f"{name} is given {type(params).__name__}")
        return function(context, params)

    table[name] = Declared(model, run)
    return function


def ended(result: CommandResult, text: str, **facts: int | None) -> Done:
    """What is done and how it ended, with the refusal where there was one, and the facts that are known.

    The first facts are the client's decision: the last entry, or the error's name and code.
    """
    fields = {"last_entry"} if result.ok else {"error", "code"}
    known = {name: value for name, value in facts.items() if value is not None}
    text = text if result.outcome is Outcome.OK else f"{text}: {result.refusal}"
    return Done(text, result.outcome, {**result.model_dump(include=fields, exclude_unset=True), **known})


def await_condition(context: RunContext, wanted: Condition, what: str = "") -> str:
    """Wait until the condition holds, ``wanted.timeout_s`` at most; the last state seen.

    A failed process of the run ends the wait with its error; ``what`` names the condition in other errors.
    That ZooKeeper does not answer while a fault has it is no error.
    """
    look = CONDITIONS[wanted.condition].run(context, wanted)

    def seen() -> Seen:
        context.assert_alive()
        try:
            return look()
        except (NotReadyError, UnplannedDeathError):
            raise
        except ServerError as error:
            if not _zookeeper_away(context):
                raise
            return False, str(error)

    return wait_until(seen, wanted.timeout_s, what or f"condition {wanted.condition!r}")


def _zookeeper_away(context: RunContext) -> bool:
    """Whether ZooKeeper does not run, or is under a fault."""
    faulted = any(entry.target == ZOOKEEPER for entry in context.nemesis.in_force())
    return faulted or context.cluster.zookeeper.state is not ProcessState.RUNNING
