"""Counts of trials over many runs: each mode of each run counts as one or more trials.

A trial is a run, or a round of a run. Runs are counted together when scenario, release, parameters
and mode agree. Data only: new and stored runs give the same counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from evidence.findings import Verdict
from evidence.folder import RunFolder, read_json
from evidence.seeding import releases_text
from evidence.shapes import RunTree
from plans.expected.comparison import Comparison, Shown
from reports.results import ModeResult, RunResult

ENDED_EARLY = "error"


@dataclass(frozen=True)
class Trial:
    """The result of one run in one mode."""

    scenario: str
    mode: str
    releases: str
    """Of its bookies."""
    settings: str
    """The plan's parameters as text."""
    rounds: int
    as_stated: int
    """Number of ``rounds`` that were as expected."""
    verdict: str
    """:data:`ENDED_EARLY` for a run without a verdict."""
    shown: tuple[Shown, ...] = ()
    took_s: float = 0.0
    """Wall time with judging, 0 where it was not measured."""
    why: str = ""
    """The first reason why it was not as expected."""


def trials(results: Iterable[RunResult]) -> list[Trial]:
    """Every mode of every run."""
    return [trial(result.scenario, mode) for result in results for mode in result.modes]


def trial(scenario: str, result: ModeResult) -> Trial:
    """What one mode of a run showed."""
    verdict, took_s = result.verdict.verdict.value, round(result.took_s, 1)
    return _trial(scenario, result.mode, result.folder.run(), verdict, result.comparison, took_s)


def stored_trial(run: Path, mode: str, took_s: float) -> Trial:
    """The same from the folder of a run that is concluded; ``EvidenceError`` when it is not."""
    facts = RunFolder(run / mode).run()
    stored = read_json(run / "verdict.json")["modes"][mode]
    comparison = TypeAdapter(Comparison).validate_python(stored)
    return _trial(facts["scenario"], mode, facts, stored["verdict"], comparison, took_s)


def _trial(
    scenario: str, mode: str, facts: RunTree, verdict: str, comparison: Comparison, took_s: float
) -> Trial:
    return Trial(
        scenario=scenario,
        mode=mode,
        releases=releases_text(facts),
        settings=settings_text(facts["plan"].get("vary", {})),
        rounds=comparison.rounds,
        as_stated=comparison.as_stated,
        verdict=verdict,
        shown=comparison.shown,
        took_s=took_s,
        why="" if comparison.met else comparison.reasons[0],
    )


def settings_text(vary: Mapping[str, object]) -> str:
    """Parameters as a plan's ``--set`` takes them, ``v2=true for_s=60``."""
    pairs = ((name, str(value).lower() if isinstance(value, bool) else value) for name, value in vary.items())
    return " ".join(f"{name}={value}" for name, value in sorted(pairs))


@dataclass(frozen=True)
class Tally:
    """Trials of one kind, counted."""

    trials: Sequence[Trial]

    @property
    def first(self) -> Trial:
        """Whose scenario, mode, releases and settings all of them share."""
        return self.trials[0]

    @property
    def of(self) -> int:
        """The number of trials, rounds counted."""
        return sum(one.rounds for one in self.trials)

    @property
    def as_stated(self) -> int:
        """Number of trials with the result that the plan states."""
        return sum(one.as_stated for one in self.trials)

    @property
    def unknown(self) -> int:
        """How many say nothing, because the run proved too little or ended early."""
        return sum(one.rounds for one in self.trials if one.verdict in (Verdict.UNKNOWN, ENDED_EARLY))

    @property
    def unit(self) -> str:
        """Whether rounds or runs are counted."""
        unit = "round" if any(one.rounds > 1 for one in self.trials) else "run"
        return unit if self.of == 1 else f"{unit}s"

    def stated(self) -> list[Shown]:
        """How often each anomaly that the plan states showed, over all trials that were judged."""
        return summed(shown for one in self.trials for shown in one.shown)

    def sometimes(self) -> list[Shown]:
        """The statements marked ``sometimes``."""
        return [shown for shown in self.stated() if shown.rate == "sometimes"]


def summed(shown: Iterable[Shown]) -> list[Shown]:
    """Counts of the same statement added up."""
    counts: dict[tuple[str, str], Shown] = {}
    for one in shown:
        kind = one.text, one.rate
        known = counts.get(kind, Shown(*kind, 0, 0))
        counts[kind] = Shown(*kind, known.shown + one.shown, known.of + one.of)
    return list(counts.values())


def tallies(found: Iterable[Trial]) -> list[Tally]:
    """Trials that belong together counted together, in the order in which the first of each came."""
    groups: dict[tuple[str, str, str, str], list[Trial]] = {}
    for one in found:
        groups.setdefault((one.scenario, one.releases, one.settings, one.mode), []).append(one)
    return [Tally(group) for group in groups.values()]
