"""Each finding has its small literal history, which has it; its lawful neighbour has no finding."""

import pytest

from checkers.judging.judge import CHECKERS, judge
from checkers.log.models import STRONGEST, forbidden
from plans.expected.expectations import PROPERTIES
from tests.histories.literals_log import LITERALS
from tests.histories.story import chunk, kinds_found
from tests.histories.test_log_stories import ANOMALIES

FINDINGS = [f"{checker.name}/{kind}" for checker in CHECKERS for kind in checker.kinds]

STATABLE = [checker for checker in CHECKERS if checker.name in PROPERTIES]


def test_every_finding_of_every_checker_has_a_history():
    assert sorted(LITERALS) == sorted(FINDINGS)
    assert set(ANOMALIES) == set(forbidden(STRONGEST))


def test_every_checker_but_evidence_has_kinds_of_findings():
    assert [checker.name for checker in CHECKERS if not checker.kinds] == ["evidence"]


@pytest.mark.parametrize("name", LITERALS)
def test_a_history_has_the_findings_that_it_stands_for_with_a_proof_and_a_count(name):
    case = LITERALS[name]
    verdict = judge([chunk(case.history)], case.run)
    assert kinds_found(verdict) == case.found
    prop, kind = name.split("/")
    assert all({*verdict.judgements[checker.name].seen} <= {*checker.figures} for checker in STATABLE)
    judgement = verdict.judgements[prop]
    [finding, *_] = [one for one in judgement.findings if one.kind == kind]
    assert judgement.verdict.value == "anomaly"
    assert finding.proof
    assert finding.count >= 1
    assert any(number for key, number in judgement.counts.items() if key.startswith(kind))


@pytest.mark.parametrize("name", LITERALS)
def test_its_lawful_neighbour_has_no_finding(name):
    case = LITERALS[name]
    assert not kinds_found(judge([chunk(case.neighbour)], case.neighbour_run))
