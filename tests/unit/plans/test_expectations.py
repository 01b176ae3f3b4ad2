"""Whether a run was as its plan expects: the table of cases, and steps repeated in one cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from plans.expected.comparison import Comparison, ExpectedOfMode, FoundAnomaly, Judged, compare, unstated
from plans.expected.expectations import Breaks, Defect, Expectation, Holds, applicable, standing
from plans.grammar.rounds import in_rounds, ledger_and_round, ledger_in_round
from plans.load import load_tree
from plans.models import Plan, plan_tree
from plans.resolve import resolve, with_rounds
from protocol.errors import PlanError
from tests.unit.plans.small import HEAD, compared

HOLDS = Holds()
LOST = FoundAnomaly("durability", "lost", "main", "undetermined")
BELOW = FoundAnomaly("closing", "closed_below", "main")
ELSEWHERE = FoundAnomaly("durability", "lost", "other", "explained")
FENCED = FoundAnomaly("fencing", "write_after_close", "main")


def breaks(kind: str = "lost", ledger: str | None = "main", versions: str = "") -> Breaks:
    return Breaks(property="durability", kind=kind, ledger=ledger, versions=versions)


def defect(rate: str, versions: str = "") -> Defect:
    return Defect.model_validate(
        {"property": "fencing", "ledger": "main", "reference": "#4843", "rate": rate, "versions": versions}
    )


@pytest.mark.parametrize(
    ("stated", "found", "verdict", "met", "reason"),
    [
        ([HOLDS], [], "valid", True, "as expected: holds"),
        ([], [], "valid", True, "as expected: holds"),
        ([HOLDS], [], "unknown", False, "unknown, which meets no expectation"),
        ([breaks()], [], "unknown", False, "unknown, which meets no expectation"),
        ([breaks()], [LOST], "unknown", False, "unknown, which meets no expectation"),
        ([HOLDS], [LOST], "anomaly", False, "not expected: durability (lost, undetermined) on main"),
        ([], [LOST], "anomaly", False, "not expected: durability (lost, undetermined) on main"),
        ([HOLDS], [], "anomaly", False, "no finding says which"),
        ([breaks()], [LOST], "anomaly", True, "as expected: breaks durability (lost) on main"),
        ([breaks()], [], "valid", False, "expected, but not found: breaks durability (lost) on main"),
        ([breaks()], [LOST, BELOW], "anomaly", False, "not expected: closing (closed_below) on main"),
        ([breaks()], [ELSEWHERE], "anomaly", False, "expected, but not found: breaks durability"),
        ([breaks(ledger=None)], [LOST, ELSEWHERE], "anomaly", True, "as expected: breaks durability (lost)"),
        ([breaks(kind="")], [LOST], "anomaly", True, "as expected: breaks durability on main"),
        ([breaks(kind="vanished")], [LOST], "anomaly", False, "not expected: durability (lost"),
        ([defect("always")], [FENCED], "anomaly", True, "as expected: defect fencing on main"),
        ([defect("always")], [], "valid", False, "perhaps fixed: #4843"),
        ([defect("sometimes")], [FENCED], "anomaly", True, "as expected: defect fencing on main"),
        ([defect("sometimes")], [], "valid", True, "not seen this time (it shows sometimes): defect fencing"),
        ([defect("sometimes")], [LOST], "anomaly", False, "not expected: durability"),
        ([defect("sometimes")], [], "unknown", False, "meets no expectation"),
        ([breaks()], [LOST], "not judged", False, "meets no expectation"),
    ],
)
def test_the_table(
    stated: Sequence[Expectation], found: Sequence[FoundAnomaly], verdict: str, met: bool, reason: str
) -> None:
    comparison = compared(stated, found, verdict, "protected")
    assert comparison.met is met
    assert reason in "\n".join(comparison.reasons)


@pytest.mark.parametrize(("verdict", "unexpected"), [("unknown", False), ("anomaly", True)])
def test_an_unknown_verdict_is_no_anomaly_and_an_anomaly_without_a_finding_is_one(
    verdict: str, unexpected: bool
) -> None:
    assert compared([HOLDS], [], verdict).unexpected is unexpected


@pytest.mark.parametrize(
    ("found", "verdict", "more", "missed"),
    [
        ([], "valid", {}, True),
        ([ELSEWHERE], "anomaly", {}, True),
        ([LOST], "anomaly", {}, False),
        ([], "unknown", {}, False),
        ([], "valid", {"whole": False}, False),
        ([ELSEWHERE], "anomaly", {"undecided": [("order", "main")]}, False),
    ],
)
def test_an_anomaly_is_missed_where_the_record_shows_that_it_was_not_there(
    found: list[FoundAnomaly], verdict: str, more: dict[str, Any], missed: bool
) -> None:
    assert compared([breaks()], found, verdict, **more).missed is missed


def test_an_absent_defect_is_reported_by_name() -> None:
    comparison = compared([defect("sometimes")], [], "valid")
    assert comparison.met
    assert comparison.absent == ("defect fencing on main",)


def test_one_anomaly_found_a_thousand_times_is_told_once() -> None:
    comparison = compared([], [LOST] * 1000)
    assert len(comparison.reasons) == 1


def test_only_what_is_stated_for_the_mode_and_version_applies() -> None:
    stated = [breaks(versions="<4.15"), defect("always", versions=">=4.15.1")]
    expect: dict[str, list[Expectation]] = {"protected": stated, "journal": [HOLDS]}
    assert applicable(expect, "protected", "4.14.7") == (breaks(versions="<4.15"),)
    assert applicable(expect, "protected", "4.15.0") == ()
    assert applicable(expect, "nosync", "4.15.0") == ()
    assert Holds(versions="<4.15").model_dump() == {"holds": {"versions": "<4.15"}}
    assert not compare(ExpectedOfMode(expect, "protected", "4.14.7"), Judged("valid")).met
    assert compare(ExpectedOfMode(expect, "protected", "4.15.0"), Judged("valid")).met


def test_evidence_that_is_not_whole_meets_nothing_and_is_no_anomaly() -> None:
    comparison = compared([Breaks(property="durability")], [FoundAnomaly("durability", "lost")], whole=False)
    assert not comparison.met
    assert not comparison.unexpected


def test_only_an_anomaly_that_nothing_states_is_unexpected() -> None:
    stated = [Breaks(property="closing")]
    missing = compared(stated, [], "valid")
    stranger = compared(stated, [FoundAnomaly("order", "acked_twice")])
    assert (missing.unexpected, stranger.unexpected) == (False, True)


def test_beside_a_seeded_defect_only_what_nothing_states_counts() -> None:
    stated = {"protected": [HOLDS, breaks()], "journal": [breaks("")]}
    found = [LOST, FENCED, UNCHECKED]
    assert unstated(stated, found, mode="protected", version="4.18.0") == [FENCED]
    assert unstated(stated, found, mode="protected", version="4.14.7") == [FENCED, UNCHECKED]


CONTROL = FoundAnomaly("durability", "lost", "control")


@pytest.mark.parametrize(
    ("undecided", "entry", "reason"),
    [
        (("durability", "main"), breaks(ledger="control"), "durability is unknown on main, which meets"),
        (("closing", "main"), breaks(ledger="control"), "closing is unknown on main"),
        (("order", ""), breaks(ledger="control"), "order is unknown, which meets no expectation"),
        (("durability", "main"), breaks(ledger=None), "durability is unknown on main"),
        (("durability", "control"), breaks(ledger=None), ""),
        (("closing", "main"), breaks(ledger=None), "closing is unknown on main"),
        (("closing", "control"), breaks(ledger="control"), ""),
        (("closing", "control"), breaks(ledger=None), ""),
    ],
)
def test_what_is_unknown_meets_nothing_beside_an_expected_anomaly(
    undecided: tuple[str, str], entry: Breaks, reason: str
) -> None:
    comparison = compared([entry], [CONTROL], undecided=[undecided])
    assert comparison.met is not bool(reason)
    assert reason in comparison.reasons[0]
    assert not comparison.unexpected


@pytest.mark.parametrize(
    ("also", "met"),
    [
        ([], False),
        ([BELOW], True),
        ([FoundAnomaly("availability", "stuck", "main")], True),
        ([FoundAnomaly("content", "damaged", "main")], True),
        ([FoundAnomaly("content", "damaged_copy", "main")], False),
        ([FENCED], False),
        ([FoundAnomaly("lac", "went_back", "main")], False),
        ([FoundAnomaly("metadata", "wrong_length", "main")], False),
    ],
)
def test_what_is_unknown_needs_an_anomaly_that_may_be_the_reason(also: list[FoundAnomaly], met: bool) -> None:
    named = [
        Defect(property=name, ledger="main", rate="sometimes", reference="#1")
        for name in ("closing", "availability", "content", "fencing", "lac", "metadata")
    ]
    stated = [breaks(ledger="control"), *named]
    comparison = compared(stated, [CONTROL, *also], undecided=[("durability", "main")])
    assert comparison.met is met
    own = compared(stated, [CONTROL, *also], undecided=[("lac", "main")])
    assert own.met is (met or also[:1] == [FoundAnomaly("lac", "went_back", "main")])


def test_an_anomaly_of_one_round_leaves_nothing_unknown_in_another() -> None:
    """It is of no ledger, or of one."""
    for ledger, others in (("main.1", "main"), ("", "other")):
        found = [FoundAnomaly("durability", "lost", ledger)]
        sometimes = [Defect(property="durability", rate="sometimes", reference="#1")]
        assert compared(sometimes, found, rounds=2, undecided=[("durability", f"{others}.1")]).met
        after = compared(sometimes, found, rounds=2, undecided=[("durability", f"{others}.2")])
        assert after.met is not bool(ledger)


def test_what_is_unknown_is_counted_by_rounds() -> None:
    found = [FoundAnomaly("durability", "lost", f"control.{number}") for number in (1, 2, 3)]
    undecided = [("durability", "main.2"), ("durability", "control.3")]
    comparison = compared([breaks(ledger="control")], found, rounds=3, undecided=undecided)
    assert (comparison.met, comparison.as_stated) == (False, 2)
    assert comparison.reasons == (
        "durability is unknown on main in 1 of 3 rounds (2), which meets no expectation",
    )


UNCHECKED = FoundAnomaly("servers", "available_unchecked")


@pytest.mark.parametrize(
    ("stated", "found", "mode", "version", "met"),
    [
        ([HOLDS], [UNCHECKED], "protected", "4.18.0", True),
        ([breaks()], [LOST, UNCHECKED], "protected", "4.18.0", True),
        ([breaks()], [UNCHECKED], "protected", "4.18.0", False),
        ([HOLDS], [UNCHECKED, LOST], "protected", "4.18.0", False),
        ([HOLDS], [UNCHECKED], "journal", "4.18.0", False),
        ([HOLDS], [UNCHECKED], "protected", "4.14.7", False),
        ([HOLDS], [FoundAnomaly("servers", "unchecked")], "protected", "4.18.0", False),
    ],
)
def test_a_standing_defect_is_told_and_excuses_nothing_else(
    stated: Sequence[Expectation], found: Sequence[FoundAnomaly], mode: str, version: str, met: bool
) -> None:
    comparison = compared(stated, found, mode=mode, version=version)
    assert comparison.met is met
    message = "met on the way, a known defect: defect servers (available_unchecked), docs/findings/"
    known = UNCHECKED.kind in {defect.kind for defect in standing(mode, version)}
    assert (message in "\n".join(comparison.reasons)) is (UNCHECKED in found and known)


def test_a_length_that_recovery_took_from_an_answer_is_known_in_every_mode() -> None:
    known, own = (compared([HOLDS], [FoundAnomaly("metadata", f"wrong_{one}length")]) for one in ("", "own_"))
    assert known.met and "recovered-length.md" in "\n".join(known.reasons) and own.unexpected


def test_a_lost_key_is_named_with_its_page_and_another_stuck_recovery_is_not() -> None:
    lost, stuck = (FoundAnomaly("availability", kind, "main") for kind in ("key_lost", "stuck"))
    known = compared([], [lost], mode="protected", version="4.18.0")
    assert known.met
    assert known.reasons[-1].endswith("docs/findings/damaged-key.md")
    assert not compared([], [stuck], mode="protected", version="4.18.0").met
    assert not compared([], [lost], mode="protected", version="4.17.3").met


def test_a_plan_that_states_a_standing_defect_speaks_for_itself() -> None:
    entry = Defect(property="servers", kind="available_unchecked", reference="#1", rate="always")
    shown = compared([entry], [UNCHECKED], mode="protected")
    assert shown.reasons == ("as expected: defect servers (available_unchecked)",)
    assert not compared([entry], [], "valid", mode="protected").met


@pytest.mark.parametrize(
    ("counting", "met"),
    [
        (None, False),
        ({"durability", "availability"}, False),
        ({"durability", "availability/stuck"}, False),
        ({"durability", "availability/key_lost"}, True),
        ({"durability"}, True),
    ],
)
def test_what_does_not_count_in_the_verdict_does_not_count_beside_what_is_stated(
    counting: set[str] | None, met: bool
) -> None:
    found = [LOST, FoundAnomaly("availability", "stuck", "main")]
    comparison = compared([breaks()], found, counting=counting)
    assert (comparison.met, comparison.unexpected) == (met, not met)


ROUNDS = 4
ALWAYS = Breaks(property="durability", kind="lost", ledger="main")
SOMETIMES = Defect(property="durability", kind="lost", ledger="main", reference="a report", rate="sometimes")
STEPS = """\
- create: {client: writer, ledger: main}
- append: {client: writer, ledger: main, entries: 100}
- kill: {target: b1}
"""


def lost(*rounds: int, ledger: str = "main") -> list[FoundAnomaly]:
    return [FoundAnomaly("durability", "lost", f"{ledger}.{number}") for number in rounds]


def compared_rounds(stated: Sequence[Expectation], found: Sequence[FoundAnomaly], **more: Any) -> Comparison:
    return compared(stated, found, "anomaly" if found else "valid", rounds=ROUNDS, **more)


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
    whole = compared_rounds([ALWAYS], lost(1, 2, 3, 4))
    assert (whole.met, whole.as_stated) == (True, 4)
    assert whole.reasons == ("as expected: breaks durability (lost) on main, shown on 4 of 4",)
    partly = compared_rounds([ALWAYS], lost(1, 2, 4))
    assert (partly.met, partly.as_stated, partly.unexpected) == (False, 3, False)
    assert "not found in 1 of 4 rounds (3)" in partly.reasons[0]
    assert partly.shown[0].shown == 3


def test_a_defect_that_shows_sometimes_is_counted() -> None:
    some = compared_rounds([SOMETIMES], lost(2))
    assert (some.met, some.as_stated, some.absent) == (True, 4, ())
    assert [(one.rate, one.shown, one.of) for one in some.shown] == [("sometimes", 1, 4)]
    none = compared_rounds([SOMETIMES], [])
    assert (none.met, none.as_stated) == (True, 4)
    assert none.absent == ("defect durability (lost) on main",)


def test_what_nothing_states_is_told_once_with_its_rounds() -> None:
    comparison = compared_rounds([ALWAYS], lost(1, 2, 3, 4) + lost(2, 4, ledger="other"))
    assert (comparison.unexpected, comparison.as_stated) == (True, 2)
    assert comparison.reasons == (
        "an anomaly that was not expected: durability (lost) on other in 2 of 4 rounds (2, 4)",
    )


def test_an_anomaly_without_a_ledger_speaks_of_every_round() -> None:
    comparison = compared_rounds([Holds()], [FoundAnomaly("servers", "no_events")])
    assert (comparison.met, comparison.as_stated) == (False, 0)


def test_an_anomaly_without_a_ledger_shows_a_defect_in_one_round_only() -> None:
    log = FoundAnomaly("log", "G0-realtime")
    entry = Breaks(property="log", kind="G0-realtime")
    once = compared_rounds([entry], [log])
    assert (once.met, once.as_stated, once.shown[0].shown) == (False, 0, 1)
    assert once.reasons == ("expected always, but not found: breaks log (G0-realtime), shown on 1 of 4",)
    assert compared_rounds([entry], [log] * 4).as_stated == 4
    assert compared_rounds([entry], [log] * 5).shown[0].shown == 4
    spans = [log._replace(ledger="ledger 12", first=first, last=first) for first in range(4)]
    assert compared_rounds([entry], spans).as_stated == 0, "one ledger is of one round"
    counted = entry.model_copy(update={"count": 1})
    assert not compared_rounds([counted], [log] * 4).met and compared([counted], [log]).met


def test_evidence_that_is_not_whole_leaves_no_round_as_stated() -> None:
    comparison = compared_rounds([ALWAYS], lost(1, 2, 3, 4), whole=False)
    assert (comparison.as_stated, comparison.shown) == (0, ())


def test_rounds_are_kept_with_the_run(load_steps: Callable[..., Plan], words: Any) -> None:
    plan = with_rounds(load_steps(STEPS), 20)
    kept = load_tree(plan_tree(resolve(plan, 1, "protected").plan), words)
    assert kept.rounds == 20


def test_all_rounds_together_stay_within_the_limits(load_text: Callable[..., Plan]) -> None:
    plan = load_text(f"limits: {{entries: 150}}\n{HEAD}{STEPS}")
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
    load_steps: Callable[..., Plan], complaint: Callable[[str], str], step: str, why: str
) -> None:
    steps = f"{STEPS}- together:\n    - - {step}\n"
    plan = load_steps(steps)
    assert with_rounds(plan, 1).rounds == 1
    with pytest.raises(PlanError, match=f"2 rounds: .*{why}"):
        with_rounds(plan, 2)
    assert "plan.yaml:1:9: a plan with 2 rounds cannot" in complaint(f"rounds: 2\n{HEAD}{steps}")
    assert "plan.yaml:1:18: a plan with 20 rounds cannot" in complaint(
        f"series: {{rounds: 20}}\n{HEAD}{steps}"
    )


def test_a_number_of_rounds_that_makes_no_sense_is_refused(load_steps: Callable[..., Plan]) -> None:
    for rounds in (0, 1001):
        with pytest.raises(PlanError, match=f"{rounds} rounds are outside 1..1000"):
            with_rounds(load_steps(STEPS), rounds)
