"""Named conditions that a plan may wait for; each queries the real cluster.

A condition returns whether it holds and the state it saw, as a phrase. Limbo is recognised by the
bookie's own answer to a plain read of an entry that cannot exist (507: limbo).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from cluster.interface import ProcessState
from cluster.waiting import wait_until
from harness.acts.registry import Done, act
from harness.stage import Stage
from plans.conditions import Elapsed, Quiet
from protocol.errors import NotReadyError
from protocol.wire import EOK, NO_ENTRY, NO_LEDGER, UNKNOWN_STATE

Condition = Callable[[Stage, Any], tuple[bool, str]]
CONDITIONS: dict[str, Condition] = {}
BEGINNINGS: dict[str, Callable[[Stage, Any], Condition]] = {}
"""Conditions on what happens from the step's beginning on: each looks once, and gives what to poll."""

_NO_SUCH_ENTRY_ID = 2**40
_AT_ONCE_S = 0.0
_MEANING = {
    None: "no answer",
    EOK: "has the entry",
    NO_LEDGER: "no such ledger",
    NO_ENTRY: "no such entry",
    UNKNOWN_STATE: "limbo",
}
_PREBOOT_CHECK = {"preboot_start": True, "preboot_end": False, "preboot_error": False}
_CHECK = {"preboot_start": True, "full_check_init": True, "clear_integcheck_flag": False}
"""The log events that show whether BP-46's check of a boot is in progress; the last one counts.

A bookie does not answer that question (its events are declared in ``datainteg/Events.java``).
"""


class StepsOverError(NotReadyError):
    """A condition was not reached, and the plan says that its other steps are skipped then."""


def condition(name: str) -> Callable[[Condition], Condition]:
    """Register the function below as the condition ``name``."""

    def enter(function: Condition) -> Condition:
        CONDITIONS[name] = function
        return function

    return enter


def beginning(name: str) -> Callable[[Callable[[Stage, Any], Condition]], Callable[[Stage, Any], Condition]]:
    """Register the function below as the start of the condition ``name``."""

    def enter(function: Callable[[Stage, Any], Condition]) -> Callable[[Stage, Any], Condition]:
        BEGINNINGS[name] = function
        return function

    return enter


@act("wait_for")
def wait_for(stage: Stage, step: Any) -> Done:
    """Wait until a named condition holds."""
    if isinstance(step, Elapsed):
        time.sleep(step.for_s)
        return Done(f"waited {step.for_s:g} s")
    try:
        return Done(f"{step.condition}: {await_condition(stage, step, step.timeout_s)}")
    except NotReadyError as error:
        if isinstance(step, Quiet) and step.otherwise == "finish":
            raise StepsOverError(str(error)) from error
        raise


def await_condition(stage: Stage, asked: Any, timeout_s: float) -> str:
    """Wait until the asked condition (its parameters) holds; the last state seen."""
    begin = BEGINNINGS.get(asked.condition)
    condition = begin(stage, asked) if begin else CONDITIONS[asked.condition]
    return wait_until(
        lambda: alive_and(condition, stage, asked),
        timeout_s,
        f"condition {asked.condition!r}",
    )


def alive_and(condition: Condition, stage: Stage, asked: Any) -> tuple[bool, str]:
    """The condition, after a check that no process of the run has failed."""
    stage.assert_alive()
    return condition(stage, asked)


@condition("ready")
def ready(stage: Stage, step: Any) -> tuple[bool, str]:
    """The process is on the last rung of its readiness ladder; each rung is recorded as it is reached."""
    process = stage.cluster.process(step.target)
    if process.state is not ProcessState.RUNNING:
        return False, f"{step.target} is {process.state}"
    try:
        process.wait_ready(_AT_ONCE_S)
    except NotReadyError as error:
        return False, str(error)
    return True, f"{step.target} is ready in boot {process.boot}"


@condition("registered")
def registered(stage: Stage, step: Any) -> tuple[bool, str]:
    """The bookie is registered in the metadata store in the mode that the plan names."""
    metadata = stage.cluster.metadata
    if step.target not in metadata.registered():
        return step.state == "absent", f"{step.target} is {_registered(False)}"
    state = "writable" if step.target in metadata.writable() else "read_only"
    return step.state in ("any", state), f"{step.target} is registered, {state.replace('_', '-')}"


@condition("down")
def down(stage: Stage, step: Any) -> tuple[bool, str]:
    """The process has ended."""
    state = stage.cluster.process(step.target).state
    return state is ProcessState.DOWN, f"{step.target} is {state}"


@condition("limbo")
def limbo(stage: Stage, step: Any) -> tuple[bool, str]:
    """The bookie answers 507 for the ledger (BP-46's limbo)."""
    status = stage.cluster.answer(step.target, stage.ledgers.id(step.ledger), _NO_SUCH_ENTRY_ID)
    return status == UNKNOWN_STATE, f"{step.target} {_said(status)}"


@condition("not_limbo")
def not_limbo(stage: Stage, step: Any) -> tuple[bool, str]:
    """The bookie answers for the ledger, and not with 507."""
    status = stage.cluster.answer(step.target, stage.ledgers.id(step.ledger), _NO_SUCH_ENTRY_ID)
    return status not in (None, UNKNOWN_STATE), f"{step.target} {_said(status)}"


@condition("forgotten")
def forgotten(stage: Stage, step: Any) -> tuple[bool, str]:
    """The bookie answers NoSuchLedger."""
    status = stage.cluster.answer(step.target, stage.ledgers.id(step.ledger), _NO_SUCH_ENTRY_ID)
    return status == NO_LEDGER, f"{step.target} {_said(status)}"


@condition("state")
def state(stage: Stage, step: Any) -> tuple[bool, str]:
    """The ledger's metadata is in a given state."""
    found = stage.cluster.metadata.ledger(stage.ledgers.id(step.ledger))
    if found is None:
        return False, f"{step.ledger} has no metadata"
    return found[0].state.name.lower() == step.state, f"{step.ledger} is {found[0].state.name}"


@condition("acked")
def acked(stage: Stage, step: Any) -> tuple[bool, str]:
    """At least ``step.entries`` adds of the ledger were acknowledged to its writer."""
    count = acked_entries(stage, step.ledger)
    return count >= step.entries, f"{count} of {step.entries} adds to {step.ledger} acknowledged"


@condition("acted")
def acted(stage: Stage, step: Any) -> tuple[bool, str]:
    """The named fault has acted on at least ``step.times`` messages; that confirms it."""
    count = stage.faults.acted(step.fault)
    if count is None:
        return False, f"no fault named {step.fault} is in force"
    return count >= step.times, f"{step.fault} has acted {count} of {step.times} times"


@condition("quiet")
def quiet(stage: Stage, step: Any) -> tuple[bool, str]:  # noqa: ARG001  # takes no parameters
    """Every bookie is registered and answers; none is in limbo for a known ledger, none repairs."""
    present = stage.cluster.metadata.registered()
    for name in stage.cluster.bookies:
        if name not in present:
            return False, f"{name} is not registered"
        for ledger in stage.cluster.metadata.ledgers() or [0]:
            status = stage.cluster.answer(name, ledger, _NO_SUCH_ENTRY_ID)
            if status in (None, UNKNOWN_STATE):
                return False, f"{name} {_said(status)} for ledger {ledger}"
        if repairing(stage, name):
            return False, f"{name} is checking and repairing its entries"
    return True, f"all {len(stage.cluster.bookies)} bookies registered, answering, none in limbo or repairing"


def acked_entries(stage: Stage, ledger: str) -> int:
    """Number of adds to a named ledger that were acknowledged to its writers up to now."""
    total = 0
    for client, handle in stage.ledgers.handles(ledger):
        total += int(stage.call(client, "status", handle=handle).get("acked", 0))
    return total


def _said(status: int | None) -> str:
    return f"answers {_MEANING.get(status, status)}" if status is not None else "does not answer"


def _registered(there: bool) -> str:
    return "registered" if there else "not registered"


def repairing(stage: Stage, bookie: str) -> bool:
    """Whether the boot has begun to check and repair its entries and has not finished."""
    return _goes_on(stage, bookie, _CHECK)


def await_preboot_check(stage: Stage, bookie: str, timeout_s: float) -> None:
    """Wait until the boot's preboot check, if any, has ended, well or with an error.

    A bookie does not wait for it (docs/findings/preboot-not-awaited.md). ``NotReadyError`` after the time.
    """

    def ended() -> tuple[bool, str]:
        stage.assert_alive()
        return not _goes_on(stage, bookie, _PREBOOT_CHECK), f"{bookie} marks its ledgers"

    try:
        wait_until(ended, timeout_s, f"the end of {bookie}'s preboot check")
    except NotReadyError as error:
        raise NotReadyError(
            str(error), remedy="`timeout_s` of the start says how long, `checked: false` continues without it"
        ) from error


def _goes_on(stage: Stage, bookie: str, tells: Mapping[str, bool]) -> bool:
    return next((tells[one.event] for one in reversed(stage.boot_log(bookie)) if one.event in tells), False)
