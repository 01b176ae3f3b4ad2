"""``fencepost campaign`` from its file to its exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from checkers.facts.wording import counted
from evidence.folder import write_text
from harness.campaigns.carrying import carry_out
from harness.campaigns.conclusion import Conclusion
from harness.campaigns.decision import decision
from harness.campaigns.differences import changes
from harness.campaigns.junit import write_junit
from harness.campaigns.listing import shard, units_of
from harness.campaigns.matrix import measured
from harness.campaigns.page import NAME as PAGE
from harness.campaigns.page import page
from harness.campaigns.pruning import prune
from harness.campaigns.summary import markdown, notices
from harness.experiments.experiment import Experiment
from harness.experiments.outcomes import Outcome, Status
from harness.experiments.running import Policy
from harness.experiments.store import Store, begin, nights, unfinished
from harness.narrator import Narrator
from plans.campaign import Campaign

_STYLES = {Status.AS_EXPECTED: "green", Status.IMPOSSIBLE: "yellow"}
SUMMARY, JUNIT = "summary.md", "junit.xml"


@dataclass(frozen=True)
class Options:
    """The user's options besides the file: see ``fencepost campaign --help``."""

    results: Path
    version: str | None = None
    part: tuple[int, int] = (1, 1)
    total_s: float | None = None
    parallel: int = 1
    new: bool = False
    unknown_warns: bool = False
    junit: Path | None = None
    markdown: Path | None = None
    annotate: bool = False
    quiet: bool = False


def run_campaign(campaign: Campaign, options: Options) -> int:
    """Run the pending experiments, write the reports into the night's folder, and return the exit code."""
    narrator = Narrator(quiet=options.quiet)
    place = options.results / "campaigns" / _name(campaign, options)
    units = shard(units_of(campaign, plans=place / "plans", version=options.version), *options.part)
    store = _store(campaign, options, place, units)
    before = _last(place, store)
    waiting = len(store.waiting(units))
    narrator.line(
        f"campaign {campaign.name}: {counted(len(units), 'run')}, {len(units) - waiting} done already"
    )
    narrator.line(f"  folder {store.path}")
    policy = Policy(
        total_s=options.total_s if options.total_s is not None else campaign.limits.total_s,
        parallel=options.parallel,
    )

    def begins(one: Experiment) -> None:
        if options.parallel > 1:
            narrator.line(f"  begins {one}")

    try:
        with closing(carry_out(campaign, store, store.waiting(units), policy, begins)) as outcomes:
            for number, outcome in enumerate(outcomes, start=1):
                _tell(narrator, f"{number} of {waiting}", outcome)
    finally:
        code = _conclude(campaign, options, store, units, before, narrator)
    for path in prune(place, campaign.keep.nights):
        narrator.line(f"removed: {path}")
    return code


def _name(campaign: Campaign, options: Options) -> str:
    number, of = options.part
    return campaign.name if of == 1 else f"{campaign.name}-{number}-of-{of}"


def _store(campaign: Campaign, options: Options, place: Path, units: Sequence[Experiment]) -> Store:
    found = unfinished(place, units) if campaign.resume and not options.new else None
    return found or begin(place, campaign.name, units)


def _last(place: Path, store: Store) -> list[Outcome]:
    """The results of the night before this one."""
    others: Iterator[Store] = (other for other in nights(place) if other.path != store.path)
    return [outcome for other in islice(others, 1) for outcome in other.outcomes]


def _conclude(
    campaign: Campaign,
    options: Options,
    store: Store,
    units: Sequence[Experiment],
    before: Sequence[Outcome],
    narrator: Narrator,
) -> int:
    outcomes, left = store.outcomes, store.waiting(units)
    code, why = decision(
        outcomes,
        left=len(left),
        unfinished_fails=campaign.unfinished == "fail",
        unknown_warns=options.unknown_warns,
    )
    changed = changes(outcomes, before) if before else []
    cells = measured(campaign.matrix, store) if campaign.matrix else []
    told = Conclusion(campaign, outcomes, changed, len(left), why, cells)
    for path in filter(None, (store.path / SUMMARY, options.markdown)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(markdown(told), encoding="utf-8")
    write_text(store.path / PAGE, page(told, store.path))
    for path in filter(None, (store.path / JUNIT, options.junit)):
        write_junit(path, campaign.name, outcomes, left)
    if options.annotate:
        for line in notices(outcomes, unknown_warns=options.unknown_warns):
            print(line)
    narrator.line(f"summary: {store.path / SUMMARY}")
    narrator.line(f"page:    {store.path / PAGE}")
    fine = sum(one.came is Status.AS_EXPECTED for one in outcomes)
    unfinished_text = f", {len(left)} not run" if left else ""
    print(f"{fine} of {len(outcomes)} runs as expected{unfinished_text}; exit {code}: {why}")
    sys.stdout.flush()
    return code


def _tell(narrator: Narrator, at: str, outcome: Outcome) -> None:
    again = f" (try {outcome.tries})" if outcome.tries > 1 else ""
    narrator.line(
        f"  {at}  {outcome.name}  {outcome.took_s:.1f} s  {outcome.came}{again}",
        style=_STYLES.get(outcome.came, "red"),
    )
    if outcome.why:
        narrator.line(f"      {outcome.why}")
    if outcome.came not in _STYLES and outcome.repeat:
        narrator.line(f"      again: {outcome.repeat}")
