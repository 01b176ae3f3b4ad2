"""The rounds of a run: the plan's steps, repeated in one cluster, each time on fresh ledgers.

Between rounds every fault is healed; where one had been injected, the next round begins when the
cluster is quiet again. Observations at the end of a run are made once, over all rounds.
"""

from __future__ import annotations

from harness.conditions import StepsOverError
from harness.finals import await_quiet
from harness.otherwise import of_servers, sentence
from harness.perform import perform
from harness.stage import Stage
from nemesis.registry import FAULTS
from plans.rounds import every
from protocol.errors import FencepostError


def carry_out(stage: Stage) -> None:
    """Run all rounds, or stop at the step that ends the plan or deviates from it.

    Raises errors of the harness or the machine.
    """
    try:
        _all_rounds(stage)
    except FencepostError as raised:
        error, stage.ended_by = stage.ended_by or raised, None
        if not of_servers(error, stage):
            raise error from error.__cause__
        if not isinstance(error, StepsOverError):
            stage.note(sentence(error))
        stage.left_out = sentence(error)
        stage.narrator.event(f"the steps behind are left out: {stage.left_out}", style="yellow")


def _all_rounds(stage: Stage) -> None:
    plan = stage.plan.plan
    for number in range(1, plan.rounds + 1):
        if number > 1:
            _between(stage)
        _begin(stage, number, plan.rounds)
        perform(plan.steps, stage)


def _begin(stage: Stage, number: int, rounds: int) -> None:
    stage.round = number
    stage.ledgers.begin_round(number)
    if rounds > 1:
        stage.narrator.event(f"round {number} of {rounds}", style="bold")


def _between(stage: Stage) -> None:
    """Heal what is in force, and wait until the cluster is as it was when a fault had touched it."""
    healed = stage.faults.heal()
    if healed:
        stage.narrator.event(f"heal {', '.join(healed)}")
    if any(step.name in FAULTS for step in every(stage.plan.plan.steps)):
        stage.narrator.event(f"quiet: {await_quiet(stage)}", style="dim")
