"""The registry of acts: step name -> what carrying it out means.

An act gets the stage and its checked parameters, and returns what happened. It raises only when
the run cannot go on; an operation that BookKeeper refused is an outcome, not an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evidence.codes import Outcome
from harness.stage import Stage


@dataclass(frozen=True, slots=True)
class Done:
    """What an act did, as a sentence, and how it ended for the plan's ``outcome``."""

    text: str
    outcome: Outcome = Outcome.OK


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
