"""A campaign's runs, each stored as it ends, and what is kept of their folders."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace

from evidence.folder import remove_run
from harness.experiments.experiment import Experiment
from harness.experiments.outcomes import Outcome, Status
from harness.experiments.running import Policy, run_all, unknown_again
from harness.experiments.store import RUNS, Store
from harness.experiments.workers import WorkerPool
from plans.campaign import Campaign


def carry_out(
    campaign: Campaign,
    store: Store,
    waiting: Iterable[Experiment],
    policy: Policy,
    begins: Callable[[Experiment], None],
) -> Generator[Outcome, None, None]:
    """Run ``waiting``; each outcome is on disk before it is yielded. A run that fails stops nothing.

    ``begins`` is called with each as it begins.
    """
    pool = WorkerPool(store.path, store.path / RUNS, run_s=campaign.limits.run_s, parallel=policy.parallel)
    once_more = unknown_again(pool.carry_out, campaign.unknown_again)
    with store.alone(), pool:
        for outcome in run_all(waiting, once_more, policy, stop=pool.stop, begins=begins):
            kept = _kept(campaign, store, outcome)
            store.add(kept)
            yield kept


def _kept(campaign: Campaign, store: Store, outcome: Outcome) -> Outcome:
    """The outcome without its folder where the campaign's rule does not keep it."""
    if outcome.came is not Status.AS_EXPECTED or campaign.keep.as_expected == "all" or not outcome.folder:
        return outcome
    again = any(
        (one.scenario, one.mode, one.version) == (outcome.scenario, outcome.mode, outcome.version)
        and one.folder
        for one in store.outcomes
    )
    if campaign.keep.as_expected == "first" and not again:
        return outcome
    remove_run(store.path / RUNS, store.path / RUNS / outcome.folder)
    return replace(outcome, folder="")
