"""Which models a class of findings rules out; stronger models forbid all that weaker ones do."""

from __future__ import annotations

from itertools import pairwise

import pytest

from checkers.log.checker import judge_log
from checkers.log.models import MODELS, forbidden, included, ruled_out, weakest
from evidence.findings import Verdict
from protocol.errors import UsageError
from tests.histories.log_story import append, ok, read, story


@pytest.mark.parametrize(
    ("kind", "weakest_out"),
    [
        ("G0", ["read-uncommitted"]),
        ("duplicate-elements", ["read-uncommitted"]),
        ("garbage-read", ["read-uncommitted"]),
        ("G1a", ["read-committed"]),
        ("G1b", ["read-committed"]),
        ("dirty-update", ["read-committed"]),
        ("incompatible-order", ["read-committed"]),
        ("future-read", ["read-committed"]),
        ("G1c", ["read-committed"]),
        ("lost-update", ["cursor-stability"]),
        ("G-single", ["consistent-view", "repeatable-read"]),
        ("G-nonadjacent", ["repeatable-read", "snapshot-isolation"]),
        ("internal", ["repeatable-read", "snapshot-isolation"]),
        ("G2-item", ["repeatable-read"]),
        ("G0-process", ["strong-session-read-uncommitted"]),
        ("G1c-process", ["strong-session-read-committed"]),
        ("G-nonadjacent-process", ["strong-session-snapshot-isolation"]),
        ("G2-item-process", ["strong-session-serializable"]),
        ("G0-realtime", ["strong-read-uncommitted"]),
        ("G1c-realtime", ["strong-read-committed"]),
        ("G-single-realtime", ["strong-snapshot-isolation"]),
        ("G2-item-realtime", ["strict-serializable"]),
    ],
)
def test_a_class_rules_out_the_models_that_forbid_it(kind: str, weakest_out: list[str]) -> None:
    assert list(weakest(ruled_out([kind]))) == weakest_out


def test_every_finding_rules_out_the_strongest_model() -> None:
    everything = {kind for model in MODELS for kind in forbidden(model)}
    assert all("strict-serializable" in ruled_out([kind]) for kind in everything)
    assert included("strict-serializable") == set(MODELS)


@pytest.mark.parametrize(
    "models",
    [
        "read-uncommitted read-committed cursor-stability consistent-view snapshot-isolation serializable "
        "strong-session-serializable strict-serializable",
        "cursor-stability repeatable-read serializable",
        "read-uncommitted strong-session-read-uncommitted strong-read-uncommitted strong-read-committed "
        "strong-snapshot-isolation strict-serializable",
        "read-committed strong-session-read-committed strong-read-committed",
        "strong-session-read-uncommitted strong-session-read-committed strong-session-snapshot-isolation "
        "strong-session-serializable",
        "snapshot-isolation strong-session-snapshot-isolation strong-snapshot-isolation",
    ],
)
def test_each_model_implies_the_one_before_it(models: str) -> None:
    names = models.split()
    assert all(weaker in MODELS[stronger].includes for weaker, stronger in pairwise(names))


@pytest.mark.parametrize("model", MODELS)
def test_a_stronger_model_forbids_no_less(model: str) -> None:
    assert all(forbidden(weaker) <= forbidden(model) for weaker in included(model))


def test_what_a_model_allows_is_noted_and_is_no_anomaly() -> None:
    stale = story(ok(append("x", 1)).by(1).at(0, 1), ok(read("x")).by(2).at(2, 3), ok(read("x", 1)))
    judgement = judge_log(stale, model="serializable")
    assert judgement.verdict is Verdict.VALID
    assert judgement.counts == {"G-single-realtime": 1}
    assert "found, and allowed by serializable: G-single-realtime (1)" in judgement.notes


def test_a_model_that_there_is_not_is_told() -> None:
    with pytest.raises(UsageError, match="no consistency model 'strict'; there are read-uncommitted"):
        judge_log(story(), model="strict")
