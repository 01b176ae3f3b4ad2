"""A campaign as JUnit XML, which CI services show: a suite for each scenario, a case for each run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from harness.experiments.experiment import Experiment
from harness.experiments.outcomes import Outcome, Status

_RESULTS = {
    Status.ANOMALY: Failure,
    Status.UNKNOWN: Failure,
    Status.ERROR: Error,
    Status.HUNG: Error,
    Status.IMPOSSIBLE: Skipped,
}


def write_junit(path: Path, name: str, outcomes: Sequence[Outcome], left: Sequence[Experiment]) -> None:
    """Write the file; runs that were not started are skipped cases that say so."""
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
