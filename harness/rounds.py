"""The rounds of a run: the plan's steps carried out so often in one cluster, each time on fresh ledgers.

Between rounds every fault is healed; where one had been injected, the next round begins when the
cluster is quiet again. Observations at the end of a run are made once, over all rounds.
"""

from __future__ import annotations

from harness.conditions import StepsOverError
from harness.finals import await_quiet
from harness.perform import perform
from harness.stage import Stage
from nemesis.registry import FAULTS
from plans.rounds import every


def carry_out(stage: Stage) -> None:
    """Carry out all rounds, or up to the step that says it is over; an error in one of them ends the run."""
    plan = stage.plan.plan
    for number in range(1, plan.rounds + 1):
        if number > 1:
            _between(stage)
        _begin(stage, number, plan.rounds)
        try:
            perform(plan.steps, stage)
        except StepsOverError as over:
            stage.left_out = str(over)
            stage.narrator.event(f"the steps behind are left out: {over}", style="yellow")
            return


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
