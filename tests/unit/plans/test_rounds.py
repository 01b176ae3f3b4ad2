"""Steps repeated in one cluster: names, refused plans, and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from plans.comparison import Found, compare
from plans.expectations import Breaks, Defect, Expectation, Holds
from plans.load import load_tree
from plans.models import Plan, plan_tree
from plans.resolve import resolve, with_rounds
from plans.rounds import in_rounds, ledger_and_round, ledger_in_round
from protocol.errors import PlanError

ROUNDS = 4
ALWAYS = Breaks(property="durability", kind="lost", ledger="main")
SOMETIMES = Defect(property="durability", kind="lost", ledger="main", reference="a report", rate="sometimes")
STEPS = """\
- create: {client: writer, ledger: main}
- append: {client: writer, ledger: main, entries: 100}
- kill: {target: b1}
"""


def lost(*rounds: int, ledger: str = "main") -> list[Found]:
    return [Found("durability", "lost", f"{ledger}.{number}") for number in rounds]


def compared(stated: Sequence[Expectation], found: Sequence[Found], **more: Any) -> Any:
    verdict = "anomaly" if found else "valid"
    return compare({"m": stated}, found, verdict, mode="m", version="4.18.0", rounds=ROUNDS, **more)


def test_a_ledger_bears_its_round_only_where_there_are_several() -> None:
    assert ledger_in_round("main", 3, 20) == "main.3"
    assert ledger_in_round("main", 1, 1) == "main"
    assert ledger_and_round("main.3", 20) == ("main", 3)
    assert ledger_and_round("w1.3", 1) == ("w1.3", 1)
    assert ledger_and_round("", 20) == ("", None)


def test_many_rounds_are_told_in_short() -> None:
    assert in_rounds({7, 3}, 20) == " in 2 of 20 rounds (3, 7)"
    assert in_rounds(set(range(1, 11)), 20).endswith("(1, 2, 3, 4, 5, 6, 7, 8, ...)")
    assert in_rounds({1}, 1) == in_rounds({1, 2}, 2) == ""


def test_what_breaks_must_break_in_every_round() -> None:
    whole = compared([ALWAYS], lost(1, 2, 3, 4))
    assert (whole.met, whole.as_stated) == (True, 4)
    assert whole.reasons == ("as expected: breaks durability (lost) on main, shown on 4 of 4",)
    partly = compared([ALWAYS], lost(1, 2, 4))
    assert (partly.met, partly.as_stated, partly.unexpected) == (False, 3, False)
    assert "not found in 1 of 4 rounds (3)" in partly.reasons[0]
    assert partly.shown[0].shown == 3


def test_a_defect_that_shows_sometimes_is_counted() -> None:
    some = compared([SOMETIMES], lost(2))
    assert (some.met, some.as_stated, some.absent) == (True, 4, ())
    assert [(one.rate, one.shown, one.of) for one in some.shown] == [("sometimes", 1, 4)]
    none = compared([SOMETIMES], [])
    assert (none.met, none.as_stated) == (True, 4)
    assert none.absent == ("defect durability (lost) on main",)


def test_what_nothing_states_is_told_once_with_its_rounds() -> None:
    said = compared([ALWAYS], lost(1, 2, 3, 4) + lost(2, 4, ledger="other"))
    assert (said.unexpected, said.as_stated) == (True, 2)
    assert said.reasons == (
        "an anomaly that was not expected: durability (lost) on other in 2 of 4 rounds (2, 4)",
    )


def test_an_anomaly_without_a_ledger_speaks_of_every_round() -> None:
    said = compared([Holds()], [Found("servers", "no_events")])
    assert (said.met, said.as_stated) == (False, 0)


def test_evidence_that_is_not_whole_leaves_no_round_as_stated() -> None:
    comparison = compared([ALWAYS], lost(1, 2, 3, 4), whole=False)
    assert (comparison.as_stated, comparison.shown) == (0, ())


def test_rounds_are_kept_with_the_run(load_steps: Callable[..., Plan], words: Any) -> None:
    plan = with_rounds(load_steps(STEPS), 20)
    kept = load_tree(plan_tree(resolve(plan, 1, "protected").plan), words)
    assert kept.rounds == 20


def test_all_rounds_together_stay_within_the_limits(load_text: Callable[..., Plan], head: str) -> None:
    plan = load_text(f"limits: {{entries: 150}}\n{head}{STEPS}")
    assert resolve(plan, 1, "protected").plan.rounds == 1
    with pytest.raises(PlanError, match="needs entries 200, its limit is 150"):
        resolve(with_rounds(plan, 2), 1, "protected")


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (
            "chaos: {for_s: 9, every_s: [1, 2], restart_after_s: [1, 2], faults: [{kill: {target: b1}}]}",
            "chaos",
        ),
        ("load: {workload: append, as: writers, clients: [writer]}", "load"),
        ("start: {target: b1, conf: {flushInterval: 1}}", "other settings or another release"),
        ('start: {target: b1, version: "4.17.3"}', "other settings or another release"),
    ],
)
def test_what_outlasts_a_round_is_refused(
    load_steps: Callable[..., Plan], complaint: Callable[[str], str], head: str, step: str, why: str
) -> None:
    steps = f"{STEPS}- together:\n    - - {step}\n"
    plan = load_steps(steps)
    assert with_rounds(plan, 1).rounds == 1
    with pytest.raises(PlanError, match=f"2 rounds: .*{why}"):
        with_rounds(plan, 2)
    assert "plan.yaml:1:9: a plan with 2 rounds cannot" in complaint(f"rounds: 2\n{head}{steps}")
    assert "plan.yaml:1:18: a plan with 20 rounds cannot" in complaint(
        f"series: {{rounds: 20}}\n{head}{steps}"
    )


def test_a_number_of_rounds_that_makes_no_sense_is_refused(load_steps: Callable[..., Plan]) -> None:
    for rounds in (0, 1001):
        with pytest.raises(PlanError, match=f"{rounds} rounds are outside 1..1000"):
            with_rounds(load_steps(STEPS), rounds)
