"""``scripts/bench calm``: live runs in which nothing is broken; what is found there must be a known defect.

The soaks with all their faults left out: the same clusters and loads, for some seconds, in every mode by
turns. The checkers' trial on recorded histories, which share no assumptions with the checkers. Anything else
that is found is a false alarm, or a new defect of BookKeeper.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from cli.options import PARALLEL
from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder, remove_run
from evidence.recorders import read_lines
from evidence.seeding import seeded
from harness.experiments.parallel import run_each
from harness.judging import broken_unstated, judging
from harness.narrator import Narrator
from harness.preparing import Prepared, prepare_plan, with_changes
from harness.request import RunRequest, default_results
from harness.vocabulary import words
from plans.defects import NONE
from plans.expected.expectations import Holds
from plans.grammar.sequence import Step, StepSpec
from plans.grammar.steps import Elapsed
from plans.load import find, load
from plans.models import Plan
from protocol.errors import FencepostError
from protocol.exit_codes import ExitCode
from protocol.faults import UNPLANNED
from protocol.modes import MODES

SOAKS = ("soak/kill9", "soak/recovery", "soak/failover", "soak/forced", "soak/striped")
"""One for each load."""


@dataclass(frozen=True)
class Calm:
    """The result of one run: what was found, whether there was enough to be valid, boots with the agent."""

    name: str
    mode: str
    seed: int
    verdict: RunVerdict
    agents: int = 0
    unstated: tuple[str, ...] = ()
    """Properties with an anomaly that is no known defect (``plans/expected/expectations.py``)."""

    @property
    def found(self) -> list[str]:
        """Every finding in a line."""
        return [
            f"{'flagged' if name in self.unstated else 'a known defect'}: {name}/{one.kind}: {one.text}"
            for name, judgement in self.verdict.judgements.items()
            for one in judgement.findings
        ]

    def __str__(self) -> str:
        acked = self.verdict.judgements["durability"].seen.get("acknowledged", 0)
        return f"{self.name} {self.mode} #{self.seed}: {self.verdict.verdict.value}, {acked:,} acknowledged"


@click.command("calm")
@click.option("--times", type=click.IntRange(1), default=50, show_default=True, help="Runs in all.")
@click.option("--first-seed", type=click.IntRange(1), default=1, show_default=True)
@click.option("--for-s", type=click.FloatRange(min=0.5), default=3.0, show_default=True, help="Load in each.")
@click.option("--agent", is_flag=True, help="Load the agent without a defect in servers and clients.")
@PARALLEL
@click.option("--results", type=click.Path(path_type=Path), default=None, help="Default: results/calm.")
def command(
    times: int, first_seed: int, for_s: float, agent: bool, parallel: int, results: Path | None
) -> None:
    """Live runs without faults: exit code 4 for an anomaly that is no known defect, 3 for an unknown run."""
    place = results or default_results() / "calm"
    ended: list[Calm] = []
    runs = list(requests(times, first_seed, for_s, place, agent=agent))
    try:
        for calm in carried_out(runs, place, parallel):
            ended.append(calm)
            click.echo(f"{len(ended)} of {times}  {calm}")
            for finding in calm.found:
                click.echo(f"  {finding}")
    finally:
        click.echo(summary(ended))
    sys.exit(exit_code(ended))


def requests(
    times: int, first_seed: int, for_s: float, results: Path, *, agent: bool = False
) -> Iterator[Prepared]:
    """The given number of runs: the soaks take turns, and with each round of them the modes."""
    changes = (NONE.name,) if agent else ()
    modes = list(MODES)
    for number in range(first_seed - 1, first_seed - 1 + times):
        soak = SOAKS[number % len(SOAKS)]
        mode = modes[number // len(SOAKS) % len(modes)]
        request = RunRequest(soak, modes=(mode,), seed=number + 1, results=results)
        plan = without_faults(load(find(soak), words()), for_s)
        yield prepare_plan(request, with_changes(plan, changes, ()))


def without_faults(plan: Plan, for_s: float) -> Plan:
    """The plan's loads for the given time, none of its other steps, and nothing that it expects to break."""
    begins = [step for step in plan.steps if _is(step, "load")]
    ends = [step for step in plan.steps if _is(step, "end_load")]
    idle = StepSpec(name="wait_for", params=Elapsed(for_s=for_s))
    name, holds = plan.name.replace("soak/", "calm/"), dict.fromkeys(MODES, (Holds(),))
    return plan.model_copy(update={"name": name, "steps": (*begins, idle, *ends), "expect": holds})


def _is(step: Step, name: str) -> bool:
    return isinstance(step, StepSpec) and step.name == name


def carried_out(runs: Sequence[Prepared], results: Path, parallel: int) -> Iterator[Calm]:
    """Run ``parallel`` at a time, judge on one Spark session; folders of valid runs are not kept."""
    results.mkdir(parents=True, exist_ok=True)
    with (
        judging(results) as judge,
        closing(run_each(runs, judge, Narrator(quiet=True), parallel=parallel)) as ended,
    ):
        for number, result in ended:
            one, (mode,) = runs[number - 1], result.modes
            broken = injected(mode.folder)
            if broken:
                raise FencepostError(f"{result.path} is no run without faults: {', '.join(broken)}")
            agents = sum(change.installed for change in seeded(mode.folder))
            if one.plan.cluster.seed_defects and agents < one.plan.cluster.bookies + len(one.plan.clients):
                raise FencepostError(f"{result.path}: only {agents} boots have loaded the agent")
            others = broken_unstated(mode.verdict, mode.folder)
            calm = Calm(one.plan.name, mode.mode, one.seed, mode.verdict, agents, others)
            if calm.verdict.verdict is Verdict.VALID:
                remove_run(results, result.path)
            yield calm


def injected(folder: RunFolder) -> list[str]:
    """Faults of a run that were injected, and processes that ended by themselves."""
    acted = [
        line
        for line in read_lines(folder.faults).records
        if line.get("phase") == "injected" or line.get("kind") == UNPLANNED
    ]
    return sorted({f"{line['kind']} {line['target']}" for line in acted})


def exit_code(ended: Sequence[Calm]) -> ExitCode:
    """Of a bench whose runs ended so: an unknown run proves nothing, so it is no pass."""
    if any(calm.unstated for calm in ended):
        return ExitCode.ANOMALY
    unknown = any(calm.verdict.verdict is Verdict.UNKNOWN for calm in ended)
    return ExitCode.UNKNOWN if unknown else ExitCode.AS_EXPECTED


def summary(ended: Sequence[Calm]) -> str:
    """``0 of 50 live runs without faults were flagged, 1 met a known defect; 49 valid, 0 unknown``."""
    flagged = sum(bool(calm.unstated) for calm in ended)
    known = sum(bool(calm.found) and not calm.unstated for calm in ended)
    valid = sum(calm.verdict.verdict is Verdict.VALID for calm in ended)
    unknown = sum(calm.verdict.verdict is Verdict.UNKNOWN for calm in ended)
    agents = sum(calm.agents for calm in ended)
    loaded = f"; the agent was loaded in {agents} boots and changed nothing" if agents else ""
    runs = f"{flagged} of {len(ended)} live runs without faults were flagged, {known} met a known defect"
    return f"{runs}; {valid} valid, {unknown} unknown{loaded}"
