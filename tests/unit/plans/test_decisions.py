"""What clients decided, and figures of judgements, against what a plan states of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from plans.expected.comparison import Comparison
from plans.expected.decisions import Decision, decided
from plans.expected.expectations import Breaks, Decides, Holds, Measures
from plans.models import Plan
from tests.unit.plans import small
from tests.unit.plans.small import HEAD

CLOSED = Decision("recover", "recoverer", "fig9", 1, 100, "ok", 10)
REFUSED = Decision("recover", "recoverer", "fig9", 1, 100, "unknown", None, "NotEnoughBookies", -6)
BREAKS = Breaks(property="durability")


def decides(**more: Any) -> Decides:
    stated = {"ledger": "fig9", "outcome": "ok", "last_entry": 10, "document": "entry 11 may be there"}
    return Decides.model_validate(stated | more)


def refused(**more: Any) -> Decides:
    return decides(outcome="unknown", last_entry=None, **more)


READ = Decision("read", "recoverer", "fig9", 1, 100, "ok", entries=5, lac=4)


def read(**more: Any) -> Decides:
    return decides(**{"step": "read", "last_entry": None, **more})


def compared(entry: Decides, *decisions: Decision, verdict: str = "valid", **more: Any) -> Any:
    return small.compared([Holds(), entry], [], verdict, decisions=decisions, **more)


@pytest.mark.parametrize(
    ("entry", "decision", "met"),
    [
        (decides(), CLOSED, True),
        (decides(last_entry=None), CLOSED, True),
        (decides(last_entry=11), CLOSED, False),
        (decides(client="recoverer"), CLOSED, True),
        (decides(client="writer"), CLOSED, False),
        (decides(ledger="fig8"), CLOSED, False),
        (decides(step="close"), CLOSED, False),
        (decides(step="close"), replace(CLOSED, step="close"), True),
        (decides(), REFUSED, False),
        (refused(), REFUSED, True),
        (refused(error="NotEnoughBookies"), REFUSED, True),
        (refused(error="-6"), REFUSED, True),
        (refused(error="LedgerFenced"), REFUSED, False),
        (decides(outcome="fail", last_entry=None), REFUSED, False),
        (read(), READ, True),
        (read(entries=5, lac=4), READ, True),
        (read(entries=4), READ, False),
        (read(lac=5), READ, False),
        (read(step="append"), READ, False),
        (read(step="append", entries=5), replace(READ, step="append"), True),
        (refused(step="create"), replace(REFUSED, step="create"), True),
        (refused(step="create", error="LedgerFenced"), replace(REFUSED, step="create"), False),
    ],
)
def test_a_decision_is_compared_in_all_that_is_stated(entry: Decides, decision: Decision, met: bool) -> None:
    assert decided(entry, [decision], 1).met is met


@pytest.mark.parametrize("outcome", ["unknown", "fail"])
def test_a_client_that_did_not_answer_decided_nothing(outcome: str) -> None:
    silent = Decision("recover", "recoverer", "fig9", 1, 100, outcome)
    refused_request = replace(silent, error="BadRequest")
    for one in (silent, refused_request):
        row = decided(decides(outcome=outcome, last_entry=None), [one, replace(REFUSED, began_ns=200)], 1)
        assert (row.met, row.recorded, row.decision) == (False, False, "nothing that was recorded")
    comparison = compared(decides(), silent)
    assert (comparison.met, comparison.contradicted) == (False, False)


def test_a_recovery_that_ran_out_of_time_decided_nothing_unless_the_plan_names_its_error() -> None:
    late = Decision("recover", "recoverer", "fig9", 1, 100, "unknown", error="Timeout", code=-23, silent=True)
    row = decided(decides(outcome="unknown", last_entry=None), [late], 1)
    assert (row.met, row.recorded, row.decision) == (False, False, "nothing that was recorded")
    for error in ("Timeout", "-23"):
        assert decided(decides(outcome="unknown", last_entry=None, error=error), [late], 1).met


def test_the_first_decision_counts_whoever_ended_first() -> None:
    later = replace(REFUSED, began_ns=200)
    assert decided(decides(), [later, CLOSED], 1).met
    assert not decided(decides(), [replace(later, began_ns=50), CLOSED], 1).met


def test_another_step_than_the_first_is_named_by_its_number() -> None:
    later = replace(REFUSED, step="append", began_ns=200)
    made = [later, replace(READ, step="append")]
    assert decided(refused(step="append", number=2, error="NotEnoughBookies"), made, 1).met
    assert not decided(refused(step="append"), made, 1).met
    third = decided(refused(step="append", number=3), made, 1)
    assert (third.met, third.recorded, third.case) == (False, False, "fig9 (append 3)")


def test_what_a_step_read_and_learned_is_said() -> None:
    row = decided(read(entries=6, lac=4), [READ], 1)
    assert (row.stated, row.decision) == ("ok, entries 6, LAC 4", "ok, entries 5, LAC 4")
    short = replace(READ, outcome="unknown", error="NoSuchEntry", code=-13)
    assert str(short) == "unknown, entries 5, LAC 4, NoSuchEntry (-13)"


def test_a_row_says_case_document_decision_and_difference() -> None:
    row = decided(decides(case="Figure 9", differs="one answer is enough"), [CLOSED], 1)
    assert (row.case, row.document, row.decision, row.difference) == (
        "Figure 9",
        "entry 11 may be there",
        "ok, last entry 10",
        "one answer is enough",
    )
    assert decided(decides(client="recoverer"), [], 1).case == "fig9 by recoverer"
    assert decided(read(), [], 1).case == "fig9 (read)"


def test_rounds_are_counted_and_all_their_decisions_told() -> None:
    taken = [replace(CLOSED, round=1), replace(REFUSED, round=2), replace(CLOSED, round=3)]
    row = decided(decides(), taken, 4)
    assert (row.shown, row.of, row.met, row.differing) == (2, 4, False, (2, 4))
    assert row.decision == (
        "ok, last entry 10 (2 of 4); unknown, NotEnoughBookies (-6) (1 of 4); "
        "nothing that was recorded (1 of 4)"
    )
    comparison = compared(decides(), *taken, rounds=4)
    assert (comparison.met, comparison.as_stated, comparison.contradicted) == (False, 2, True)
    assert "in 2 of 4 rounds (2, 4)" in comparison.reasons[0]


def test_another_decision_than_stated_fails_the_run_and_says_both() -> None:
    comparison = compared(decides(), REFUSED)
    assert (comparison.met, comparison.contradicted, comparison.unexpected) == (False, True, False)
    assert comparison.reasons == (
        "fig9: the document says 'entry 11 may be there', the plan expects ok, last entry 10, "
        "the client decided unknown, NotEnoughBookies (-6)",
    )


def test_a_decision_that_no_round_shows_any_more_is_perhaps_a_mended_defect() -> None:
    known = decides(reference="docs/findings/a.md")
    others = [replace(REFUSED, round=number) for number in (1, 2)]
    fixed = compared(known, *others, rounds=2)
    assert fixed.contradicted
    assert fixed.reasons[0].endswith("(-6), perhaps fixed: docs/findings/a.md")
    for decisions in ([replace(CLOSED, round=1), others[1]], []):
        assert "perhaps fixed" not in compared(known, *decisions, rounds=2).reasons[0]


def test_a_decision_as_stated_is_told_with_what_the_document_says_otherwise() -> None:
    comparison = compared(decides(differs="one answer is enough"), CLOSED)
    assert (comparison.met, comparison.as_stated) == (True, 1)
    assert comparison.reasons == (
        "as expected: holds",
        "as expected: 1 decision, 1 of them not as the document says",
    )


def test_an_unknown_verdict_is_not_met_and_a_proven_decision_still_contradicts() -> None:
    met = compared(decides(), CLOSED, verdict="unknown")
    assert (met.met, met.contradicted, met.as_stated) == (False, False, 0)
    contradicted = compared(decides(), REFUSED, verdict="unknown")
    assert contradicted.contradicted
    assert "the client decided unknown" in contradicted.reasons[0]


def test_none_is_flagged_of_a_decision_in_a_run_that_proves_too_little() -> None:
    for verdict in ("unknown", "valid"):
        comparison = compared(decides(), REFUSED, verdict=verdict, whole=False)
        assert (comparison.met, comparison.contradicted) == (False, False)


def test_a_step_that_never_ended_is_unknown_and_no_other_decision() -> None:
    comparison = compared(decides())
    assert (comparison.met, comparison.contradicted) == (False, False)
    assert "decided nothing that was recorded" in comparison.reasons[0]


STEPS = """\
- create: {client: writer, ledger: main}
- recover: {client: reader, ledger: main}
  outcome: any
"""


def test_a_plan_may_state_decisions_beside_holds(load_text: Callable[..., Plan]) -> None:
    stated = "{decides: {ledger: main, outcome: unknown, error: -6, document: as told}}"
    plan = load_text(HEAD.replace("[holds]", f"[holds, {stated}]") + STEPS)
    (_, entry) = plan.expect["protected"]
    assert isinstance(entry, Decides)
    assert entry.error == "-6"


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("ledger: mian, outcome: ok", "unknown ledger `mian`; did you mean `main`?"),
        ("ledger: main, outcome: ok, step: close", "there is no `close` on `main` that could decide"),
        ("ledger: main, outcome: ok, client: writer", "there is no `recover` of `writer` on `main`"),
        ("ledger: main, outcome: ok, error: -6", "an outcome ok has no `error`"),
        ("ledger: main, outcome: fail, last_entry: 1", "`last_entry` belongs to an outcome ok, not fail"),
        ("ledger: main, outcome: any", "`outcome` cannot be `any`"),
        ("ledger: main, outcome: ok, step: open", "`step` cannot be `open`"),
        ("ledger: main, outcome: ok, step: create, number: 2", "there is no `create` number 2 on `main`"),
        ("ledger: main, outcome: ok, entries: 3", "`entries` belongs to append, read, tail, not to recover"),
        ("ledger: main, outcome: ok, lac: 3", "`lac` belongs to append, read, not to recover"),
        ("ledger: main, outcome: ok, step: create, last_entry: 3", "`last_entry` belongs to recover, close"),
    ],
)
def test_a_decision_that_cannot_be_is_refused(
    complaint: Callable[[str], str], stated: str, message: str
) -> None:
    text = HEAD.replace("[holds]", f"[{{decides: {{{stated}, document: d}}}}]") + STEPS
    assert message in complaint(text)


TOOK = "full_replication_ms of replicas is"


def measures(**bounds: int) -> Measures:
    return Measures.model_validate(
        {"property": "replicas", "figure": "full_replication_ms", "document": "in time", **bounds}
    )


def measured(entry: Measures, value: int | None, *, whole: bool = True) -> Comparison:
    figures = {"replicas": {} if value is None else {"full_replication_ms": value}}
    return small.compared([entry], [], "valid", whole=whole, figures=figures)


@pytest.mark.parametrize(
    ("bounds", "value", "met", "contradicted", "reason"),
    [
        ({"at_most": 9000}, 9000, True, False, f"as expected: {TOOK} 9,000, the plan expects at most 9,000"),
        ({"at_most": 9000}, 9001, False, True, f"{TOOK} 9,001, the plan expects at most 9,000 (in time)"),
        (
            {"at_most": 9000},
            None,
            False,
            False,
            f"{TOOK} not known, the plan expects at most 9,000 (in time)",
        ),
        ({"at_least": 1}, 1, True, False, "at least 1"),
        ({"at_least": 1}, 0, False, True, f"{TOOK} 0, the plan expects at least 1 (in time)"),
        ({"at_least": 1, "at_most": 3}, 2, True, False, "at least 1 and at most 3"),
    ],
)
def test_a_figure_lies_within_its_bounds(
    bounds: dict[str, int], value: int | None, met: bool, contradicted: bool, reason: str
) -> None:
    comparison = measured(measures(**bounds), value)
    assert (comparison.met, comparison.contradicted) == (met, contradicted)
    assert comparison.as_stated == int(met)
    assert reason in comparison.reasons[0 if not met else -1]


def test_in_evidence_that_is_not_whole_a_figure_contradicts_nothing() -> None:
    comparison = measured(measures(at_most=1), 2, whole=False)
    assert (comparison.met, comparison.contradicted) == (False, False)


def test_a_figure_without_a_bound_is_refused() -> None:
    with pytest.raises(ValidationError, match="needs a bound, `at_least` or `at_most`"):
        measures()
