"""Performing a plan's steps in order: rounds, triggers, blocks that run together, expected outcomes.

A round is the plan's steps once, on fresh ledgers in the same cluster. Between rounds every fault is healed;
where one had been injected, the next round begins when the cluster is quiet again. One step ends before the
next begins. A step in a ``together`` block runs in a separate thread; a trigger waits for a time after
the block began, or for an event. Every step is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import wait
from functools import partial

from evidence.codes import Outcome
from evidence.recorders import CONTRADICTED
from harness.recording.context import RunContext, in_background, of_servers, sentence
from harness.recording.finals import await_quiet
from harness.registry import STEPS, Done, await_condition
from harness.steps.faults import inject
from nemesis.registry import FAULTS, Fault
from plans.grammar.rounds import every
from plans.grammar.sequence import Place, Step, StepSpec, Together
from plans.grammar.steps import Act, Condition, Elapsed, Quiet
from protocol.errors import (
    ClientError,
    ContradictedError,
    FencepostError,
    NotReadyError,
    StepError,
    UsageError,
    of_machine,
)

_LOOK_S = 0.1


class StepsOverError(NotReadyError):
    """A condition was not reached, and the plan says that its other steps are skipped then."""


def run_rounds(context: RunContext) -> None:
    """Run all rounds, or stop at the step that ends the plan or deviates from it.

    Raises errors of the harness or the machine.
    """
    try:
        _all_rounds(context)
    except FencepostError as raised:
        error, context.ended_by = context.ended_by or raised, None
        if not of_servers(error, context):
            raise error from error.__cause__
        if not isinstance(error, StepsOverError):
            context.note(sentence(error))
        context.left_out = sentence(error)
        context.narrator.event(f"the remaining steps are skipped: {context.left_out}", style="yellow")
    finally:
        context.steps_until = None


def _all_rounds(context: RunContext) -> None:
    plan = context.plan.plan
    for number in range(1, plan.rounds + 1):
        if number > 1:
            _between(context)
        context.round = number
        context.ledgers.begin_round(number)
        if plan.rounds > 1:
            context.narrator.event(f"round {number} of {plan.rounds}", style="bold")
        perform(plan.steps, context)


def _between(context: RunContext) -> None:
    """Heal what is in force, and wait until the cluster is as it was when a fault had touched it."""
    healed = context.nemesis.heal()
    if healed:
        context.narrator.event(f"heal {', '.join(healed)}")
    if any(step.name in FAULTS for step in every(context.plan.plan.steps)):
        context.narrator.event(f"quiet: {await_quiet(context)}", style="dim")


def perform(steps: Sequence[Step], context: RunContext, *, path: Place = ()) -> None:
    """Run ``steps`` (resolved step specs) one after the other; ``path`` leads to their block.

    An error ends the other branches too, at their next look at the cluster; it is the context's ``ended_by``.
    """
    began, block_ns = time.monotonic(), time.monotonic_ns()
    try:
        for index, step in enumerate(steps):
            context.assert_alive()
            _await_trigger(step, context, began)
            if isinstance(step, Together):
                places = [(*path, index, number) for number in range(len(step.branches))]
                branches = [
                    in_background(partial(perform, branch, context, path=place), f"branch-{place[-1]}")
                    for branch, place in zip(step.branches, places, strict=True)
                ]
                wait(branches)
                for branch in branches:
                    branch.result()
            else:
                _perform_one(step, context, (*path, index), block_ns)
    except (FencepostError, OSError) as error:
        known = of_machine(error) if isinstance(error, OSError) else error
        context.ended_by = context.ended_by or known
        raise


def _await_trigger(step: Step, context: RunContext, began: float) -> None:
    if step.at_s is not None:
        _sleep_until(context, began + step.at_s)
    if isinstance(step.when, Elapsed):
        _sleep_until(context, time.monotonic() + step.when.for_s)
    elif step.when is not None:
        await_condition(context, step.when)


def _sleep_until(context: RunContext, until: float) -> None:
    """Sleep until then, by the monotonic clock; whatever ends the steps ends this, too."""
    while (left_s := until - time.monotonic()) > 0:
        context.assert_alive()
        time.sleep(min(left_s, _LOOK_S))


def _perform_one(step: StepSpec, context: RunContext, path: Place, block_ns: int) -> None:
    """Run and record the step at ``path``, whose block began at ``block_ns``."""
    began_ns = time.monotonic_ns()

    def record(**what: object) -> None:
        line = {
            "step": step.name,
            "params": step.params.model_dump(mode="json", by_alias=True),
            "path": list(path),
            "round": context.round,
            "block_ns": block_ns,
            "began_ns": began_ns,
            "ended_ns": time.monotonic_ns(),
            "planned": step.outcome,
        }
        context.steps.write({**line, **what})

    try:
        done = _done(step, context)
    except FencepostError as error:
        facts = {CONTRADICTED: True} if isinstance(error, ContradictedError) else {}
        record(error=str(error), **facts)
        raise
    outcome = done.outcome.name.lower()
    record(outcome=outcome, text=done.text, facts=dict(done.facts))
    context.narrator.event(done.text)
    if step.outcome not in ("any", outcome):
        in_round = f" of round {context.round}" if context.plan.plan.rounds > 1 else ""
        raise StepError(
            f"step {step.name!r}{in_round} ended {outcome}, the plan expects {step.outcome}: {done.text}",
            remedy="write `outcome: any` on the step if this may happen, or if a `decides` judges it",
        )


def _done(step: StepSpec, context: RunContext) -> Done:
    """Run one step; an act that may end in any way has an unknown outcome without a reply in time.

    Its client may also have been killed by a fault of the plan.
    """
    try:
        return _run(step, context)
    except (NotReadyError, ClientError) as error:
        if isinstance(error, ClientError):
            context.assert_alive()
        if isinstance(step.params, Act) and step.outcome in ("any", "unknown"):
            return Done(f"{step.params.client} {step.name} {step.params.ledger}: {error}", Outcome.UNKNOWN)
        raise


def _run(step: StepSpec, context: RunContext) -> Done:
    if isinstance(step.params, Elapsed):
        _sleep_until(context, time.monotonic() + step.params.for_s)
        return Done(f"waited {step.params.for_s:g} s")
    if isinstance(step.params, Condition):
        return _waited(step.params, context)
    if step.name in STEPS:
        return STEPS[step.name].run(context, step.params)
    if isinstance(step.params, Fault):
        return inject(context, step.params)
    raise UsageError(f"no step is named {step.name!r}", remedy="`fencepost list faults` shows the names")


def _waited(wanted: Condition, context: RunContext) -> Done:
    try:
        return Done(f"{wanted.condition}: {await_condition(context, wanted)}")
    except NotReadyError as error:
        if isinstance(wanted, Quiet) and wanted.otherwise == "finish":
            raise StepsOverError(str(error)) from error
        raise
