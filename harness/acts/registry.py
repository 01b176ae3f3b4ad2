"""The registry of actions: step name -> function that runs the step.

An act gets the stage and its checked parameters, and returns what happened. It raises only when
the run cannot go on; an operation that BookKeeper refused is an outcome, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evidence.codes import Outcome
from harness.stage import Stage


@dataclass(frozen=True, slots=True)
class Done:
    """What an act did, as a sentence, and how it ended for the plan's ``outcome``.

    ``facts`` are recorded beside the step: the client's result (:func:`told`).
    """

    text: str
    outcome: Outcome = Outcome.OK
    facts: Mapping[str, Any] = field(default_factory=dict)


Act = Callable[[Stage, Any], Done]

ACTS: dict[str, Act] = {}


def act(name: str) -> Callable[[Act], Act]:
    """Register the function below under a step name."""

    def enter(function: Act) -> Act:
        if name in ACTS:
            raise ValueError(f"act {name!r} is registered twice")
        ACTS[name] = function
        return function

    return enter


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
