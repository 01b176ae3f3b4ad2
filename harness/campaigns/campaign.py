"""``fencepost campaign`` from its file to its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from evidence.folder import write_text
from harness.campaigns.listing import shard, units_of
from harness.campaigns.matrix import measured
from harness.campaigns.reporting import (
    PAGE,
    Conclusion,
    changes,
    decision,
    markdown,
    notices,
    page,
    write_junit,
)
from harness.experiments.experiment import Experiment, Outcome, Status, judged_by_other_code
from harness.experiments.store import begin, executions, prune, run_pending, unfinished
from harness.narrator import Narrator
from plans.campaign import Campaign
from protocol.exit_codes import ExitCode
from protocol.wording import counted

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
    """Run the pending experiments, write the reports into the campaign's folder, and return the exit code."""
    narrator = Narrator(quiet=options.quiet)
    number, of = options.part
    place = options.results / "campaigns" / (campaign.name + (f"-{number}-of-{of}" if of > 1 else ""))
    units = shard(units_of(campaign, plans=place / "plans", version=options.version), *options.part)
    resumes = campaign.resume and not options.new
    resumed = unfinished(place, units, lambda store: store.waiting(units)) if resumes else None
    store = resumed or begin(place, campaign.name, units)
    before = next((other.outcomes for other in executions(place) if other.path != store.path), [])
    total_s = options.total_s if options.total_s is not None else campaign.limits.total_s

    def begins(one: Experiment) -> None:
        if options.parallel > 1:
            narrator.line(f"  begins {one}")

    early = "ended early; the same command continues it" if campaign.resume else "ended early"
    with store.alone():
        waiting = store.waiting(units)
        done = len(units) - len(waiting)
        narrator.line(f"campaign {campaign.name}: {counted(len(units), 'run')}, {done} done already")
        narrator.line(f"  folder {store.path}")
        if others := judged_by_other_code(store.outcomes):
            narrator.line(
                f"  {counted(others, 'run')} judged by another version of the checkers; --new repeats them"
            )
        outcomes = run_pending(
            store,
            waiting,
            run_s=campaign.limits.run_s,
            parallel=options.parallel,
            total_s=total_s,
            again=campaign.unknown_again,
            keep=campaign.keep.as_expected,
            begins=begins,
        )
        try:
            with closing(outcomes):
                for place_in_all, outcome in enumerate(outcomes, start=1):
                    _tell(narrator, f"{place_in_all} of {len(waiting)}", outcome)
            early = ""
        finally:
            left = store.waiting(units)
            code, why = decision(
                store.outcomes,
                left=len(left),
                unfinished_fails=campaign.unfinished == "fail",
                unknown_warns=options.unknown_warns,
            )
            changed = changes(store.outcomes, before) if before else []
            cells = measured(campaign.matrix, store) if campaign.matrix else []
            conclusion = Conclusion(campaign, store.outcomes, changed, len(left), early or why, cells)
            failed = early or ("" if code is ExitCode.AS_EXPECTED else why)
            _report(conclusion, options, store.path, left, narrator, failed=failed, early=bool(early))
            fine = sum(one.status is Status.AS_EXPECTED for one in conclusion.outcomes)
            not_run = f", {len(left)} not run" if left else ""
            why = early or f"exit {code}: {why}"  # the error that ends it early has another exit code
            print(f"{fine} of {len(conclusion.outcomes)} runs as expected{not_run}; {why}")
            sys.stdout.flush()
    for path in prune(place, campaign.keep.nights):
        narrator.line(f"removed: {path}")
    return code


def _report(
    conclusion: Conclusion,
    options: Options,
    folder: Path,
    left: Sequence[Experiment],
    narrator: Narrator,
    *,
    failed: str,
    early: bool,
) -> None:
    for path in filter(None, (folder / SUMMARY, options.markdown)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(markdown(conclusion), encoding="utf-8")
    write_text(folder / PAGE, page(conclusion, folder))
    for path in filter(None, (folder / JUNIT, options.junit)):
        write_junit(
            path,
            conclusion.campaign.name,
            conclusion.outcomes,
            left,
            failed=failed,
            early=early,
            unfinished_fails=conclusion.campaign.unfinished == "fail",
            unknown_warns=options.unknown_warns,
        )
    if options.annotate:
        for line in notices(conclusion.outcomes, unknown_warns=options.unknown_warns):
            print(line)
    narrator.line(f"summary: {folder / SUMMARY}")
    narrator.line(f"page:    {folder / PAGE}")


def _tell(narrator: Narrator, at: str, outcome: Outcome) -> None:
    again = f" (try {outcome.tries})" if outcome.tries > 1 else ""
    narrator.line(
        f"  {at}  {outcome.name}  {outcome.took_s:.1f} s  {outcome.status}{again}",
        style=_STYLES.get(outcome.status, "red"),
    )
    if outcome.why:
        narrator.line(f"      {outcome.why}")
    for defect in outcome.absent:
        narrator.line(f"      not seen: {defect}")
    if outcome.status not in _STYLES and outcome.repeat:
        narrator.line(f"      again: {outcome.repeat}")
