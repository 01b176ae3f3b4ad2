"""A campaign's reports: Markdown, a page that works offline; for CI annotations and JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from harness.campaigns.conclusion import Conclusion
from harness.campaigns.matrix import heat_map
from harness.campaigns.matrix import table as matrix_table
from harness.experiments.experiment import Experiment, Outcome, Status
from harness.experiments.store import RUNS
from reports import marks
from reports.document import document
from reports.page.writing import NAME as REPORT

PAGE = "campaign.html"
_LEVELS = {Status.ANOMALY: "error", Status.ERROR: "error", Status.HUNG: "error", Status.UNKNOWN: "error"}
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


def markdown(told: Conclusion) -> str:
    """What was decided, what is to be done, what changed, and a line for each scenario."""
    lines = [f"# {told.title}", ""]
    if told.campaign.about:
        lines += [told.campaign.about, ""]
    lines += [" ".join([told.counted, *told.load]), ""]
    if told.failed:
        rows = ((one.name, one.came, one.why, one.repeat and f"`{one.repeat}`") for one in told.failed)
        lines += ["## To be looked at", "", *marks.table(("run", "result", "why", "repeat it"), rows), ""]
    if told.changed:
        changed = ((one.now.name, one.before or "not run", one.now.came) for one in told.changed)
        lines += ["## Since the last time", "", *marks.table(("run", "before", "now"), changed), ""]
    if told.groups:
        heads = ("scenario", "release", "mode", "as expected", "seconds")
        groups = ((*one.key, one.as_expected, f"{one.took_s:.1f}") for one in told.groups)
        lines += ["## Scenarios", "", *marks.table(heads, groups)]
    if told.cells:
        lines += ["", *matrix_table(told.cells)]
    return "\n".join(lines).rstrip() + "\n"


def notices(outcomes: Sequence[Outcome], *, unknown_warns: bool) -> Iterator[str]:
    """Workflow commands for what is to be done, one a line, each at the scenario's file."""
    for one in outcomes:
        level = _LEVELS.get(one.came)
        if level is None:
            continue
        if one.came is Status.UNKNOWN and unknown_warns:
            level = "warning"
        file = f"scenarios/{one.scenario}.yaml"
        title = _data(one.name).replace(":", "%3A").replace(",", "%2C")
        yield f"::{level} file={file},title={title}::{_data(f'{one.came}: {one.why}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def write_junit(path: Path, name: str, outcomes: Sequence[Outcome], left: Sequence[Experiment]) -> None:
    """Write JUnit XML: a suite for each scenario, a case for each run, skipped where it was not started."""
    document = JUnitXml(name)
    cases = [(one.scenario, _case(one)) for one in outcomes]
    for unit in left:
        skipped = TestCase(str(unit).removeprefix(f"{unit.scenario} "), unit.scenario)
        skipped.result = [Skipped("not started in time")]
        cases.append((unit.scenario, skipped))
    for scenario, group in groupby(sorted(cases, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        suite = TestSuite(scenario)
        suite.add_testcases([case for _, case in group])
        document.add_testsuite(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    document.write(str(path), pretty=True)


def _case(outcome: Outcome) -> TestCase:
    case = TestCase(outcome.name.removeprefix(f"{outcome.scenario} "), outcome.scenario, outcome.took_s)
    if outcome.came in _RESULTS:
        said = "not proven" if outcome.came is Status.UNKNOWN else outcome.came.value
        result = _RESULTS[outcome.came](f"{said}: {outcome.why}", outcome.came.value)
        result.text = "\n".join(filter(None, (outcome.headline, outcome.why, outcome.repeat)))
        case.result = [result]
    return case


def page(told: Conclusion, night: Path) -> str:
    """The same as one document in the night's folder, with links to the pages of runs that are kept."""
    return document(
        "campaign.html",
        told.campaign.name,
        styles=("base.css", "campaign.css"),
        told=told,
        matrix=heat_map(told.cells) if told.cells else "",
        sign=lambda came: _SIGNS.get(came, _BAD),
        link=lambda one: link(one, night),
    )


def link(one: Outcome | None, night: Path) -> str:
    """Where the page of a run lies that is kept in the night's folder, seen from there; else empty."""
    place = f"{RUNS}/{one.folder}/{REPORT}" if one and one.folder else ""
    return place if place and (night / place).is_file() else ""
