"""Figures of judgements, held against the bounds that a plan states."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from plans.comparison import Comparison, compare
from plans.expectations import Measures, describe

TOOK = "full_replication_ms of replicas is"


def measures(**bounds: int) -> Measures:
    return Measures.model_validate(
        {"property": "replicas", "figure": "full_replication_ms", "document": "in time", **bounds}
    )


def compared(entry: Measures, value: int | None, *, whole: bool = True) -> Comparison:
    figures = {"replicas": {} if value is None else {"full_replication_ms": value}}
    return compare(
        {"journal": [entry]}, [], "valid", mode="journal", version="4.18.0", whole=whole, figures=figures
    )


@pytest.mark.parametrize(
    ("bounds", "value", "met", "contradicted", "said"),
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
        ({"at_least": 1}, 0, False, True, f"{TOOK} 0, the plan expects at least 1 (in time)"),
        ({"at_least": 1, "at_most": 3}, 2, True, False, "at least 1 and at most 3"),
    ],
)
def test_a_figure_lies_within_its_bounds(
    bounds: dict[str, int], value: int | None, met: bool, contradicted: bool, said: str
) -> None:
    comparison = compared(measures(**bounds), value)
    assert (comparison.met, comparison.contradicted) == (met, contradicted)
    assert comparison.as_stated == int(met)
    assert said in comparison.reasons[0 if not met else -1]


def test_in_evidence_that_is_not_whole_a_figure_contradicts_nothing() -> None:
    comparison = compared(measures(at_most=1), 2, whole=False)
    assert (comparison.met, comparison.contradicted) == (False, False)


def test_a_figure_without_a_bound_is_refused() -> None:
    with pytest.raises(ValidationError, match="needs a bound, `at_least` or `at_most`"):
        measures()
    assert describe(measures(at_most=1)) == "measures full_replication_ms of replicas"
