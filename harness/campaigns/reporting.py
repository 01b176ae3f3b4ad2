"""The result of a campaign (its decision, what changed, what failed) and its reports.

Markdown, and a page that works offline; for CI annotations and JUnit XML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from harness.campaigns.matrix import Measured, heat_map
from harness.campaigns.matrix import table as matrix_table
from harness.experiments.experiment import Earlier, Experiment, Outcome, Status, counts, judged_by_other_code
from harness.experiments.store import RUNS
from plans.campaign import Campaign
from protocol.exit_codes import ExitCode
from protocol.wording import counted
from reports import marks
from reports.document import document
from reports.page.writing import NAME as REPORT
from reports.text import BUSY

_CODES = (
    (Status.ANOMALY, ExitCode.ANOMALY),
    (Status.ERROR, ExitCode.HARNESS),
    (Status.HUNG, ExitCode.HARNESS),
    (Status.UNKNOWN, ExitCode.UNKNOWN),
)
PAGE = "campaign.html"
_SIGNS = {
    Status.AS_EXPECTED: ("✓", "valid"),
    Status.IMPOSSIBLE: ("–", "not-judged"),
    Status.UNKNOWN: ("?", "unknown"),
}
_BAD = ("✗", "anomaly")
_RESULTS = {
    Status.ANOMALY: Failure,
    Status.UNKNOWN: Failure,
    Status.ERROR: Error,
    Status.HUNG: Error,
    Status.IMPOSSIBLE: Skipped,
}


@dataclass(frozen=True)
class Change:
    """One unit with another outcome than in the last execution; ``before`` is None where it was not run then.

    A unit's key names its plan, so that a changed plan is another unit.
    """

    now: Outcome
    before: Status | None

    @property
    def worse(self) -> bool:
        """Whether it is not as expected now, and was before or was not run."""
        return self.now.status is not Status.AS_EXPECTED and self.before in (None, Status.AS_EXPECTED)


def changes(now: Sequence[Outcome], before: Sequence[Outcome]) -> list[Change]:
    """Every unit of ``now`` with another outcome, the worst first; new units only when they failed."""
    known = {one.key: one.status for one in before}
    found = [
        Change(one, known.get(one.key))
        for one in now
        if one.status is not known.get(one.key, Status.AS_EXPECTED)
    ]
    return sorted(found, key=lambda change: (not change.worse, list(Status).index(change.now.status)))


def decision(
    outcomes: Sequence[Outcome], *, left: int, unfinished_fails: bool, unknown_warns: bool = False
) -> tuple[ExitCode, str]:
    """The exit code and why; ``left`` runs were not started because the time was over.

    Unknown is never a pass, unless the user chose to be only warned; nor is a campaign in which nothing
    ran. A defect that shows sometimes may be absent, which fails nothing and is said.
    """
    found = counts(outcomes)
    for status, code in _CODES:
        if status in found and not (status is Status.UNKNOWN and unknown_warns):
            first = next(one for one in outcomes if one.status is status)
            label = "not proven" if status is Status.UNKNOWN else status.value
            return code, f"{counted(found[status], 'run')} {label}; first {first.name}: {first.why}"
    if left and unfinished_fails:
        return ExitCode.UNKNOWN, f"not proven: {counted(left, 'run')} not started in time"
    if Status.AS_EXPECTED not in found:
        return ExitCode.UNKNOWN, "not proven: no run reached its end"
    absent, impossible = sum(bool(one.absent) for one in outcomes), found.get(Status.IMPOSSIBLE, 0)
    besides = [f"in {counted(absent, 'run')} a defect that shows sometimes was not seen"] if absent else []
    besides += [f"{counted(impossible, 'run')} impossible here"] if impossible else []
    return ExitCode.AS_EXPECTED, "as expected" + (f" ({', '.join(besides)})" if besides else "")


@dataclass(frozen=True)
class Group:
    """The runs of one scenario on one release in one mode, which are its ``key``."""

    key: tuple[str, str, str]
    outcomes: Sequence[Outcome]

    @property
    def as_expected(self) -> str:
        """``2 of 3``."""
        fine = sum(one.status is Status.AS_EXPECTED for one in self.outcomes)
        return f"{fine} of {len(self.outcomes)}"

    @property
    def took_s(self) -> float:
        """Seconds that a run took, the mean."""
        return sum(one.took_s for one in self.outcomes) / len(self.outcomes)


@dataclass(frozen=True)
class Conclusion:
    """``decided`` is why the exit code is what it is, ``left`` counts runs that there was no time for."""

    campaign: Campaign
    outcomes: Sequence[Outcome]
    changed: Sequence[Change]
    left: int
    decided: str
    cells: Sequence[Measured] = ()

    @property
    def title(self) -> str:
        """The campaign's name and its decision; which run was the first to fail is below it."""
        return f"Campaign {self.campaign.name}: {self.decided.partition('; first ')[0]}"

    @property
    def counted(self) -> str:
        """Number of runs by outcome, and of runs that were not started."""
        parts = [f"{number} {status}" for status, number in counts(self.outcomes).items()]
        unfinished = f"; {counted(self.left, 'run')} not started in time" if self.left else ""
        others = judged_by_other_code(self.outcomes)
        older = f" {counted(others, 'run')} judged by another version of the checkers." if others else ""
        again = sum(one.tries > 1 for one in self.outcomes)
        repeated = f"; {counted(again, 'run')} unknown at the first try" if again else ""
        result = ", ".join(parts) or "none"
        return f"{counted(len(self.outcomes), 'run')}: {result}{repeated}{unfinished}.{older}"

    @property
    def load(self) -> list[str]:
        """What the runs took of the processor, and how many ran while the machine was busy."""
        spent = [one.cpu_s for one in self.outcomes if one.cpu_s is not None]
        if not spent:
            return []
        of = "" if len(spent) == len(self.outcomes) else f" of {len(spent)} of {len(self.outcomes)} runs"
        lines = [f"Processor time{of}: {sum(spent):.0f} s in all, {median(spent):.1f} s for a run (median)."]
        busy = sum((one.cpu_pressure or 0) > BUSY for one in self.outcomes)
        waited = f"processes waited for a core more than {BUSY * 100:.0f} % of the time"
        if all(one.cpu_pressure is None for one in self.outcomes):
            lines += ["How long processes waited for a core is unknown on this machine."]
        elif busy:
            lines += [f"{busy} of {counted(len(self.outcomes), 'run')} had a busy machine: {waited}."]
        return lines

    @property
    def repeated(self) -> list[tuple[Outcome, Earlier]]:
        """Each inconclusive run that was run again, after its outcome."""
        not_stored = (Earlier("", "not stored"),)
        again = (one for one in self.outcomes if one.tries > 1)
        return [(one, earlier) for one in again for earlier in one.earlier or not_stored]

    @property
    def absent(self) -> list[tuple[Outcome, str]]:
        """Each defect that shows sometimes and did not, after the outcome of its run."""
        return [(one, defect) for one in self.outcomes for defect in one.absent]

    @property
    def failed(self) -> list[Outcome]:
        """The outcomes that need attention, the worst first."""
        order = list(Status)
        found = [one for one in self.outcomes if one.status is not Status.AS_EXPECTED]
        return sorted(found, key=lambda one: order.index(one.status))

    @property
    def groups(self) -> list[Group]:
        """Every scenario, release and mode, sorted."""
        found: dict[tuple[str, str, str], list[Outcome]] = {}
        for one in self.outcomes:
            found.setdefault((one.scenario, one.version, one.mode), []).append(one)
        return [Group(key, outcomes) for key, outcomes in sorted(found.items())]


def markdown(conclusion: Conclusion) -> str:
    """What was decided, what needs attention, what changed, and a line for each scenario."""
    lines = [f"# {conclusion.title}", ""]
    if conclusion.campaign.about:
        lines += [conclusion.campaign.about, ""]
    lines += [" ".join([conclusion.counted, *conclusion.load]), ""]
    if conclusion.failed:
        rows = (
            (one.name, one.status, one.why, one.repeat and f"`{one.repeat}`") for one in conclusion.failed
        )
        lines += ["## To be looked at", "", *marks.table(("run", "result", "why", "repeat it"), rows), ""]
    if conclusion.absent:
        absent = ((one.name, defect) for one, defect in conclusion.absent)
        lines += ["## Not seen", "", *marks.table(("run", "defect that shows sometimes"), absent), ""]
    if conclusion.repeated:
        rows = (
            (one.name, one.status, earlier.why, earlier.folder and f"`{RUNS}/{earlier.folder}`")
            for one, earlier in conclusion.repeated
        )
        about = ("run", "result", "why it was unknown before", "evidence of that")
        lines += ["## Unknown at the first try", "", *marks.table(about, rows), ""]
    if conclusion.changed:
        changed = ((one.now.name, one.before or "not run", one.now.status) for one in conclusion.changed)
        lines += ["## Since the last time", "", *marks.table(("run", "before", "now"), changed), ""]
    if conclusion.groups:
        heads = ("scenario", "release", "mode", "as expected", "seconds per run (mean)")
        groups = ((*one.key, one.as_expected, f"{one.took_s:.1f}") for one in conclusion.groups)
        lines += ["## Scenarios", "", *marks.table(heads, groups)]
    if conclusion.cells:
        lines += ["", *matrix_table(conclusion.cells)]
    return "\n".join(lines).rstrip() + "\n"


def notices(outcomes: Sequence[Outcome], *, unknown_warns: bool) -> Iterator[str]:
    """Workflow commands for what needs attention, one a line, each at the scenario's file."""
    for one in outcomes:
        level, text = "error", f"{one.status}: {one.why}"
        if one.status is Status.UNKNOWN and unknown_warns:
            level = "warning"
        elif one.status in (Status.AS_EXPECTED, Status.IMPOSSIBLE):
            level, text = "notice", f"not seen: {', '.join(one.absent)}" if one.absent else ""
        if text:
            file = f"scenarios/{one.scenario}.yaml"
            title = _data(one.name).replace(":", "%3A").replace(",", "%2C")
            yield f"::{level} file={file},title={title}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def write_junit(
    path: Path,
    name: str,
    outcomes: Sequence[Outcome],
    left: Sequence[Experiment],
    *,
    failed: str = "",
    early: bool = False,
    unfinished_fails: bool = False,
    unknown_warns: bool = False,
) -> None:
    """Write JUnit XML: a suite for each scenario, a case for each run.

    A run that was not started is skipped, or a failure where the campaign says that it fails. If the
    campaign ``failed`` and no run did, a case of its own says why.
    """
    document = JUnitXml(name)
    cases = [(one.scenario, _case(one, unknown_warns=unknown_warns)) for one in outcomes]
    for unit in left:
        case = TestCase(str(unit).removeprefix(f"{unit.scenario} "), unit.scenario)
        why = "not run: the campaign ended early" if early else "not started in time"
        case.result = [(Failure if unfinished_fails else Skipped)(why)]
        cases.append((unit.scenario, case))
    if failed and all(isinstance(one, Skipped) for _, case in cases for one in case.result):
        case = TestCase("campaign", name)
        case.result = [Error(_printable(failed))]
        cases.append((name, case))
    for scenario, group in groupby(sorted(cases, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        suite = TestSuite(scenario)
        suite.add_testcases([case for _, case in group])
        document.add_testsuite(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    document.write(str(path), pretty=True)


def _case(outcome: Outcome, *, unknown_warns: bool) -> TestCase:
    case = TestCase(outcome.name.removeprefix(f"{outcome.scenario} "), outcome.scenario, outcome.took_s)
    if outcome.status in _RESULTS:
        label = "not proven" if outcome.status is Status.UNKNOWN else outcome.status.value
        warns = unknown_warns and outcome.status is Status.UNKNOWN
        kind = Skipped if warns else _RESULTS[outcome.status]
        result = kind(_printable(f"{label}: {outcome.why}"), outcome.status.value)
        result.text = _printable("\n".join(filter(None, (outcome.headline, outcome.why, outcome.repeat))))
        case.result = [result]
    if outcome.earlier:
        before = (f"unknown before: {one.why} ({one.folder})" for one in outcome.earlier)
        case.system_out = _printable("\n".join(before))
    return case


def _printable(text: str) -> str:
    """Without the control characters of a server's log, which XML cannot have."""
    return "".join(one for one in text if one.isprintable() or one in "\n\t")


def page(conclusion: Conclusion, folder: Path) -> str:
    """The same as one document in the campaign's folder, with links to the pages of runs that are kept."""
    return document(
        "campaign.html",
        conclusion.campaign.name,
        styles=("base.css", "campaign.css"),
        conclusion=conclusion,
        matrix=heat_map(conclusion.cells) if conclusion.cells else "",
        sign=lambda status: _SIGNS.get(status, _BAD),
        link=lambda one: link(one, folder),
    )


def link(one: Outcome | Earlier | None, folder: Path) -> str:
    """Where the page of a run lies that is kept in the campaign's folder, seen from there; else empty."""
    place = f"{RUNS}/{one.folder}/{REPORT}" if one and one.folder else ""
    return place if place and (folder / place).is_file() else ""
