"""The engine of every campaign: its runs one after the other, each kept, until all are done or time is up."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from evidence.folder import remove_run
from harness.campaigns.crew import Crew
from harness.campaigns.night import RUNS, Night
from harness.campaigns.outcomes import Came, Outcome
from harness.units import Unit
from plans.campaign import Campaign

CarryOut = Callable[[Unit], Outcome]


@dataclass(frozen=True)
class Pass:
    """What a campaign may do now: ``total_s`` seconds (None: no limit), ``clock`` in seconds."""

    total_s: float | None
    clock: Callable[[], float] = time.monotonic


def carry_out(campaign: Campaign, night: Night, units: Sequence[Unit], limit: Pass) -> Iterator[Outcome]:
    """Run what is waiting; each outcome is on disk before it is yielded. A run that fails stops nothing."""
    with night.alone(), Crew(night.path, night.path / RUNS, run_s=campaign.limits.run_s) as crew:
        for outcome in each(night.waiting(units), crew.carry_out, campaign, limit):
            kept = _kept(campaign, night, outcome)
            night.add(kept)
            yield kept


def each(units: Sequence[Unit], carry: CarryOut, campaign: Campaign, limit: Pass) -> Iterator[Outcome]:
    """Outcomes until the time left is less than a run usually takes. What proved nothing is run again.

    An anomaly is never run again: repeating until it fits would prove nothing.
    """
    began = limit.clock()
    taken: list[float] = []
    for unit in units:
        usual = statistics.median(taken) if taken else 0.0
        if limit.total_s is not None and limit.clock() - began + usual > limit.total_s:
            return
        started = limit.clock()
        outcome = carry(unit)
        for tries in range(2, 2 + campaign.unknown_again):
            if outcome.came is not Came.UNKNOWN:
                break
            outcome = replace(carry(unit), tries=tries)
        taken.append(limit.clock() - started)
        yield outcome


def _kept(campaign: Campaign, night: Night, outcome: Outcome) -> Outcome:
    """The outcome without its folder where the campaign's rule does not keep it."""
    if outcome.came is not Came.AS_EXPECTED or campaign.keep.as_expected == "all" or not outcome.folder:
        return outcome
    again = any(
        (one.scenario, one.mode, one.version) == (outcome.scenario, outcome.mode, outcome.version)
        and one.folder
        for one in night.outcomes
    )
    if campaign.keep.as_expected == "first" and not again:
        return outcome
    remove_run(night.path / RUNS, night.path / RUNS / outcome.folder)
    return replace(outcome, folder="")
