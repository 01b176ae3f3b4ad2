"""Stored runs of several kinds, judged by local Spark and by the naive twins: the same findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.findings import Verdict
from pipeline.collect import collect
from pipeline.judge import judge
from pipeline.session import Session
from tests.histories.agreement import disagreements
from tests.histories.cluster import Bugs
from tests.histories.simulator import simulated
from tests.spark.rawfolder import Story, make
from tests.spark.storedruns import rows_of, stored

LOSING = {"losses": True, "flushes": False, "crashes": 12, "steps": 250, "bookies": 4}
HASTY = {"dated": 1.0, "contest": 0.8, "steps": 200, "fences_dropped": 0.2}
KINDS = {
    "nothing lost": {"contest": 1.0, "crashes": 4},
    "crashes lose entries": LOSING,
    "striped, and lossy": {**LOSING, "shape": (5, 3, 2), "bookies": 6},
    "an ack quorum of one": {**LOSING, "shape": (4, 2, 1), "bookies": 5},
    "bookies in limbo": {**LOSING, "limbo": True, "crashes": 3},
    "bookies that ignore fences": {"contest": 1.0, "bugs": Bugs(ignores_fences=0.5)},
    "bookies that deny": {**LOSING, "flushes": True, "bugs": Bugs(denies=0.3)},
    "a recoverer that trusts one denial": {**HASTY, "bugs": Bugs(one_negative_closes=True)},
    "versions unseen": {**LOSING, "coalesced": True},
}
LAWFUL = ("nothing lost", "bookies in limbo")
SEEDS = (2013, 2018, 2019)


@pytest.mark.parametrize("kind", KINDS)
def test_a_simulated_run_that_was_stored_is_judged_alike(session: Session, tmp_path: Path, kind: str) -> None:
    anomalies = acknowledged = 0
    for seed in SEEDS:
        folder = stored(tmp_path / str(seed), simulated(seed, **KINDS[kind]))
        verdict = judge(session, folder)
        history, run = rows_of(folder)
        assert not disagreements(verdict, history, run), seed
        acknowledged += verdict.judgements["durability"].seen["acknowledged"]
        anomalies += verdict.verdict is Verdict.ANOMALY
    assert acknowledged > 0
    assert bool(anomalies) == (kind not in LAWFUL)


@pytest.mark.parametrize(
    "story",
    [
        Story({7: 20, 8: 30}),
        Story({7: 20, 8: 30}, lost={7: (3, 5)}, closed_below={8: 22}),
    ],
)
def test_a_run_collected_from_raw_evidence_is_judged_alike(
    session: Session, tmp_path: Path, story: Story
) -> None:
    folder = make(tmp_path, story)
    collect(session, folder)
    verdict = judge(session, folder)
    history, run = rows_of(folder)
    assert not disagreements(verdict, history, run)
    assert (verdict.verdict is Verdict.ANOMALY) == bool(story.lost)
