"""An outcome on ``docs/coverage.md`` equals what the plan states, and the result of its series.

A clause (up to a semicolon or ``<br>``) names scenarios, a colon, and outcomes: "`a`, `b`: holds in
protected, breaks in unprotected". A name with something in brackets behind it speaks of a part of the
scenario only, which no test can hold against the plan. A clause whose scenarios were not measured yet says
so: "no series yet".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from bench.series.rows import Row, read_rows
from bench.series.units import stated_units
from checkers.judging.verdict import SAFETY
from cluster.releases.versions import DEFAULT_VERSION
from harness.vocabulary import words
from plans.expected.controls import effect
from plans.expected.expectations import PROPERTIES, Breaks, Decides, Defect, Expectation, Measures
from plans.load import find, load
from plans.models import Plan
from plans.versions import within
from tests.repo.test_coverage_page import NAME, rows

OUTCOME = re.compile(r"\b(holds|breaks|differs|as described)\b", re.IGNORECASE)
MODE = re.compile(r"\b(unprotected|protected|journal|nosync)\b")
RELEASE = re.compile(r"^[a-z ]+ on (4\.\d+\.\d+)\b")
SUBJECTS = re.compile(r"((?:`[a-z0-9/-]+`(?: \([^)]*\))?(?:, | and )?)+): [^:]*$")
UNMEASURED = "no series yet"


@dataclass(frozen=True, repr=False)
class Claim:
    """One outcome of one scenario on the page; no ``modes`` means all of the plan."""

    scenario: str
    outcome: str
    modes: tuple[str, ...]
    release: str
    properties: frozenset[str]
    whole: bool
    unmeasured: bool

    def __repr__(self) -> str:
        return f"{self.scenario}: {self.outcome} in {self.modes or 'all modes'} on {self.release}"

    @property
    def plan(self) -> Plan:
        return plan_of(self.scenario)

    @property
    def asked(self) -> tuple[str, ...]:
        return self.modes or self.plan.modes

    def broken(self, mode: str) -> list[Expectation]:
        """What the plan states to break in that mode, but by its controls."""
        shown = {
            entry
            for control in self.plan.control
            if control.step is not None
            for entry in effect(self.plan, control, mode, self.release)
        }
        ledgers = {getattr(entry, "ledger", None) for entry in shown} - {None} | {"control"}
        stated = [entry for entry in self.plan.expect.get(mode, ()) if within(self.release, entry.versions)]
        return [one for one in stated if breaking(one) and getattr(one, "ledger", None) not in ledgers]

    def stated(self, mode: str) -> bool:
        """Whether the plan states that something breaks, by a control or not."""
        entries = self.plan.expect.get(mode, ())
        return any(breaking(one) for one in entries if within(self.release, one.versions))


def breaking(entry: Expectation) -> bool:
    return isinstance(entry, Breaks | Defect) or (isinstance(entry, Decides) and bool(entry.differs))


@cache
def plan_of(name: str) -> Plan:
    return load(find(name), words())


def claims_of(cell: str, properties: frozenset[str]) -> Iterator[Claim]:
    for clause in re.split(r"; |<br>|(?<=[a-z)])\. ", cell):
        found = list(OUTCOME.finditer(clause))
        for at, outcome in enumerate(found):
            before = clause[: outcome.start()]
            named = SUBJECTS.search(before) or SUBJECTS.search(clause[: found[0].start()])
            end = found[at + 1].start() if at + 1 < len(found) else len(clause)
            text = clause[outcome.start() : end]
            release = RELEASE.match(text)
            for one in re.finditer(rf"{NAME.pattern}( \()?", named[1] if named else ""):
                plan = plan_of(one[1])
                yield Claim(
                    scenario=one[1],
                    outcome=outcome[1].lower(),
                    modes=tuple(MODE.findall(re.sub(r"`[^`]*`", "", text))),
                    release=release[1] if release else plan.cluster.version or DEFAULT_VERSION,
                    properties=properties,
                    whole=one[2] is None,
                    unmeasured=UNMEASURED in text,
                )


@pytest.fixture(scope="module")
def claims(root: Path) -> list[Claim]:
    listed = (
        claim
        for _, _, cell, judges in rows(root)
        for claim in claims_of(cell, frozenset(re.findall(r"`([a-z]+)`", judges)))
    )
    return list(listed)


def contradicted(claim: Claim) -> bool:
    """Whether the plan states otherwise; of the modes that are not named one may differ."""
    if claim.outcome == "holds" and claim.whole:
        other = [
            any(getattr(one, "property", None) in claim.properties for one in claim.broken(mode))
            for mode in claim.asked
        ]
        return any(other) if claim.modes else all(other)
    if claim.outcome == "breaks":
        shown = [claim.stated(mode) for mode in claim.asked]
        return not (all(shown) if claim.modes else any(shown))
    return False


def unlike_its_series(claim: Claim, measured: list[Row]) -> bool:
    """Whether a row has another result, or none as expected without a remark, or contradicts the remark."""
    ours = {
        mode: [
            row
            for row in measured
            if (row.scenario, row.mode, row.release) == (claim.scenario, mode, claim.release)
        ]
        for mode in claim.asked
    }
    if claim.unmeasured:
        return all(ours.values())
    found = [row for rows in ours.values() for row in rows]
    other = any(row.as_stated + row.unknown < row.of for row in found)
    return not all(any(row.as_stated for row in rows) for rows in ours.values()) or other


def test_what_the_page_says_is_what_the_plans_state(claims: list[Claim]) -> None:
    assert len(claims) > 100
    assert [claim for claim in claims if contradicted(claim)] == []


def test_what_the_page_says_is_what_the_series_came_to(root: Path, claims: list[Claim]) -> None:
    present = {unit.digest for unit in stated_units()}
    rows = read_rows(root / "docs" / "series.json")
    measured = [row for row in rows if row.plan in present or not row.wrong]
    assert [claim for claim in claims if unlike_its_series(claim, measured)] == []


def test_a_property_that_fails_no_run_judges_no_promise_that_holds(root: Path) -> None:
    """A safety property counts in every run; another one only where a plan requires or states it."""
    idle = {
        promise: others
        for _, promise, cell, judges in rows(root)
        if re.search(r"\bholds\b", cell, re.IGNORECASE) and NAME.search(cell)
        if (others := set(re.findall(r"`([a-z]+)`", judges)) - {*SAFETY} - counting(NAME.findall(cell)))
    }
    assert idle == {}


def counting(names: Iterable[str]) -> set[str]:
    """The properties that a plan among ``names`` requires, counts or makes a statement about."""
    found: set[str] = set()
    for plan in map(plan_of, names):
        stated = [entry for mode in plan.modes for entry in plan.expect.get(mode, ())]
        found |= {*(plan.required or PROPERTIES), *(kind.split("/")[0] for kind in plan.counting or ())}
        found |= {entry.property for entry in stated if isinstance(entry, Breaks | Defect | Measures)}
    return found


@pytest.mark.parametrize(
    ("cell", "wrong"),
    [
        ("`bp46/truncation`: holds in protected and journal, breaks in unprotected", [False, False]),
        ("`bp46/truncation`: holds in unprotected; `bp46/truncation`: breaks in journal", [True, True]),
        ("`bp46/truncation` (its first half): holds in unprotected", [False]),
        ("`protocol/order`, `bp46/limbo-late`: breaks, as [told](x.md)", [False, False]),
        ("`closing/damaged-entry-log`: holds, breaks on 4.15.0", [False, False]),
        ("`closing/damaged-entry-log`: breaks", [True]),
    ],
)
def test_a_wrong_outcome_is_seen(cell: str, wrong: list[bool]) -> None:
    found = list(claims_of(cell, frozenset({"durability"})))
    assert [contradicted(claim) for claim in found] == wrong


def test_a_series_that_is_missing_or_came_out_otherwise_is_seen() -> None:
    row = Row("bp46/truncation", "journal", "V3", "4.18.0", "", "runs", 10, 10, 0, 13, (), (), "")
    (claim,) = claims_of("`bp46/truncation`: holds in journal", frozenset({"durability"}))
    (unmeasured,) = claims_of(
        f"`bp46/truncation`: holds in journal ({UNMEASURED})", frozenset({"durability"})
    )
    assert [unlike_its_series(claim, found) for found in ([row], [])] == [False, True]
    assert [unlike_its_series(unmeasured, found) for found in ([row], [])] == [True, False]
    (other,) = [Row(**{**row.__dict__, "as_stated": 9, "wrong": ("late",)})]
    assert unlike_its_series(claim, [other])
    said_nothing = {"as_stated": 9, "unknown": 1}, {"as_stated": 0, "unknown": 10}
    unknown = [Row(**{**row.__dict__, **some, "wrong": ("late",)}) for some in said_nothing]
    assert [unlike_its_series(claim, [one]) for one in unknown] == [False, True]
