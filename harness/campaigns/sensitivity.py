"""Which seeded defects a campaign finds: each is tried on its runs until one shows what nothing states.

A defect that never acted proves nothing, and an anomaly of a run in which it did not act is not its own. Nor
is one that the scenario states: it shows without the defect too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from evidence.folder import write_text
from harness.campaigns.reporting import link
from harness.experiments.experiment import Experiment, Outcome, Status
from harness.experiments.store import Store, begin, run_pending, unfinished
from harness.narrator import Narrator
from plans.defects import Defect, defects
from plans.versions import within
from protocol.errors import UsageError
from protocol.exit_codes import ExitCode
from protocol.wording import counted
from reports import marks
from reports.document import document

PAGE, TABLE = "sensitivity.html", "sensitivity.md"
_EARLY = (Status.ERROR, Status.HUNG)
_HEADS = ("defect", "what goes wrong", "outcome", "run", "shown by", "what was found", "runs", "seconds")


@dataclass(frozen=True)
class Options:
    """The user's options besides the runs and the defects: see ``fencepost sensitivity --help``."""

    total_s: float | None = None
    parallel: int = 1
    new: bool = False
    quiet: bool = False
    markdown: Path | None = None


class Detection(StrEnum):
    """What a campaign made of a defect, the worst last."""

    CAUGHT = "caught"
    NOTICED = "noticed"
    MISSED = "missed"
    NEVER_ACTED = "never acted"
    NOT_TRIED = "not tried"


_BADGES: Mapping[Detection, str] = {Detection.CAUGHT: "valid", Detection.MISSED: "anomaly"}
ABOUT = {
    Detection.CAUGHT: "a run in which the defect acted ended with an anomaly or a decision that nothing "
    "states",
    Detection.NOTICED: "such a run ended otherwise than expected (unknown, an error), and none showed that",
    Detection.MISSED: "the defect acted, and every run was as expected",
    Detection.NEVER_ACTED: "the defect acted in no run, which proves nothing",
    Detection.NOT_TRIED: "no run of the campaign on a release that has the changed method has run",
}


@dataclass(frozen=True)
class DefectResult:
    """One defect: what was found, by which run (None for no single one), in how many runs and seconds."""

    defect: Defect
    found: Detection
    by: Outcome | None
    runs: int
    took_s: float

    @property
    def what(self) -> str:
        """Why the run counts, in one line: its headline also has what its scenario breaks on purpose."""
        return self.by.why if self.by else ""


def experiments_with(units: Sequence[Experiment], names: Sequence[str]) -> list[Experiment]:
    """Each run with each defect that its release can have, defect after defect; no control by a defect."""
    known = defects()
    return [
        replace(unit, defects=(name,))
        for name in names
        for unit in units
        if not unit.defects and within(unit.version, known[name].releases)
    ]


def pending(store: Store, units: Sequence[Experiment]) -> Iterator[Experiment]:
    """What is still to run, looked up when it is asked for: nothing more of a defect that was caught."""
    for unit in store.waiting(units):
        if not any(_caught(one) for one in _of(store, unit.defects[0])):
            yield unit


def results(store: Store, names: Sequence[str]) -> list[DefectResult]:
    """The result of each defect up to now."""
    return [_result(defects()[name], _of(store, name)) for name in names]


def _of(store: Store, name: str) -> list[Outcome]:
    return [one for one in store.outcomes if f" defect={name} #" in one.name]


def _caught(one: Outcome) -> bool:
    return one.status is Status.ANOMALY and one.acted > 0 and bool(one.showed)


def _result(defect: Defect, outcomes: Sequence[Outcome]) -> DefectResult:
    acted = [one for one in outcomes if one.acted]
    caught = [one for one in acted if _caught(one)]
    noticed = [one for one in acted if one.status is not Status.AS_EXPECTED]
    found = Detection.MISSED if acted else Detection.NEVER_ACTED if outcomes else Detection.NOT_TRIED
    by = next(iter((*caught, *noticed)), None)
    if by is not None:
        found = Detection.CAUGHT if caught else Detection.NOTICED
    return DefectResult(defect, found, by, len(outcomes), sum(one.took_s for one in outcomes))


def decision(store: Store, names: Sequence[str], left: int) -> tuple[ExitCode, str]:
    """The exit code and why; ``left`` runs were not started because the time was over.

    A run that ended early before the defect acted has not tried it, nor has one that cannot be made here.
    """
    uncaught = [tried for name in names if not any(map(_caught, tried := _of(store, name)))]
    early = [one for tried in uncaught for one in tried if one.status in _EARLY and not one.acted]
    if early:
        what = f"{counted(len(early), 'run')} ended early before the defect acted"
        return ExitCode.HARNESS, f"{what}; first {early[0].name}: {early[0].why}"
    if left:
        return ExitCode.UNKNOWN, f"{counted(left, 'run')} not started in time"
    impossible = [tried[0] for tried in uncaught if {one.status for one in tried} == {Status.IMPOSSIBLE}]
    if impossible:
        what = f"{counted(len(impossible), 'defect')} cannot be tried here"
        return ExitCode.UNKNOWN, f"{what}; first {impossible[0].name}: {impossible[0].why}"
    return ExitCode.AS_EXPECTED, "every defect was tried"


def measure(
    units: Sequence[Experiment],
    names: Sequence[str],
    place: Path,
    options: Options,
    *,
    about: str,
    run_s: float,
) -> int:
    """Run what is pending, write the table and the page into the folder, and return the exit code."""
    narrator = Narrator(quiet=options.quiet)
    experiments = experiments_with(units, names)
    if not experiments:
        raise UsageError(
            f"no run of {about} is on a release that has {', '.join(names)}",
            remedy="name another with --bookkeeper; `fencepost list defects` has the releases",
        )
    resumed = None if options.new else unfinished(place, experiments, lambda one: pending(one, experiments))
    store = resumed or begin(place, "sensitivity", experiments)
    narrator.line(f"sensitivity of {about}: {counted(len(names), 'defect')}, folder {store.path}")
    early = "ended early; the same command continues it"
    with store.alone():
        try:
            waiting = pending(store, experiments)
            ended = run_pending(
                store, waiting, run_s=run_s, parallel=options.parallel, total_s=options.total_s
            )
            with closing(ended) as outcomes:
                for one in outcomes:
                    acted = f"acted {counted(one.acted, 'time')}"
                    narrator.line(f"  {one.name}  {one.took_s:.1f} s  {one.status}, {acted}")
            early = ""
        finally:
            found = results(store, names)
            for path in filter(None, (store.path / TABLE, options.markdown)):
                write_text(path, "\n".join(table(found, about)) + "\n")
            write_text(store.path / PAGE, page(found, about, store.path))
            code, why = decision(store, names, left=sum(1 for _ in pending(store, experiments)))
            narrator.line(f"table: {store.path / TABLE}")
            narrator.line(f"page:  {store.path / PAGE}")
            print(f"{_counted(found)}; {early or f'exit {code}: {why}'}", flush=True)
    return code


def _counted(found: Sequence[DefectResult]) -> str:
    numbers = ((sum(one.found is kind for one in found), kind) for kind in Detection)
    outcomes = ", ".join(f"{number} {kind}" for number, kind in numbers if number)
    return f"{counted(len(found), 'defect')}: {outcomes or 'none'}"


def _cells(one: DefectResult) -> tuple[str, ...]:
    by, shown = (one.by.name, ", ".join(one.by.showed)) if one.by else ("", "")
    runs, took_s = str(one.runs), f"{one.took_s:.0f}"
    return one.defect.name, one.defect.title, one.found.value, by, shown, one.what, runs, took_s


def table(found: Sequence[DefectResult], about: str) -> Iterator[str]:
    """The lines of a Markdown page."""
    yield from (f"# Sensitivity of {about}", "", _counted(found), "")
    yield from (f"- *{kind}*: {text}." for kind, text in ABOUT.items())
    rows = ([cell.replace("|", " ") for cell in _cells(one)] for one in found)
    yield from ("", *marks.table(_HEADS, rows))


def page(found: Sequence[DefectResult], about: str, folder: Path) -> str:
    """The same as one HTML document that works offline; it links to the runs that are kept."""
    return document(
        "sensitivity.html",
        "Sensitivity",
        styles=("base.css", "campaign.css"),
        about=about,
        counted=_counted(found),
        kinds={kind.value: text for kind, text in ABOUT.items()},
        heads=_HEADS,
        rows=[(_cells(one), _BADGES.get(one.found, "unknown"), link(one.by, folder)) for one in found],
    )
