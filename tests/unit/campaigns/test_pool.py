"""What becomes of a run in the processes that record and judge it, and of a control by a defect."""

from __future__ import annotations

import queue
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from evidence.folder import RunFolder, every_run
from harness.cleaning import leftovers
from harness.experiments.experiment import Experiment, Status, outcome_of
from harness.experiments.workers import DiedError, HungError, Recording, WorkerPool, of_control, of_error
from protocol.errors import FencepostError, IncapableError, UnplannedDeathError

UNIT = Experiment("fencing/figure", "protected", "4.18.0", (), 1, 1, "d1")


class Scripted:
    """A stand-in for a worker: returns or raises the given replies one after the other.

    Before it replies to an order to record, a run was ``begun``.
    """

    warm = True

    def __init__(self, *answers: object, begun: bool = False) -> None:
        self._answers = iter(answers)
        self._begun = begun
        self.orders: list[Any] = []

    def ask(self, order: Any, _timeout_s: float) -> object:
        self.orders.append(order)
        if self._begun:
            RunFolder.create(order.run, "protected").write_run({})
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


RECORDED, JUDGED = Recording(), outcome_of(UNIT, Status.AS_EXPECTED)
LOST_CLIENT = UnplannedDeathError("writer ended on its own: killed by signal 9")


def pool_of(recorder: Scripted, judge: Scripted, results: Path) -> WorkerPool:
    pool: Any = WorkerPool(results, results, run_s=1)
    pool._judge = judge
    pool._idle = queue.SimpleQueue()
    pool._idle.put(recorder)
    return cast("WorkerPool", pool)


@pytest.mark.parametrize(
    ("recorder", "judge", "status"),
    [
        (RECORDED, [JUDGED], Status.AS_EXPECTED),
        (RECORDED, [DiedError("code -9"), JUDGED], Status.AS_EXPECTED),
        (RECORDED, [DiedError("code -9"), DiedError("code -9")], Status.ERROR),
        (RECORDED, [HungError("no end")], Status.HUNG),
        (DiedError("code -9"), [of_error(UNIT, DiedError("code -9"))], Status.ERROR),
        (HungError("no end"), [outcome_of(UNIT, Status.ANOMALY)], Status.ANOMALY),
        (HungError("no end"), [HungError("nor the judge")], Status.HUNG),
        (Recording(LOST_CLIENT), [outcome_of(UNIT, Status.ANOMALY)], Status.ANOMALY),
        (Recording(LOST_CLIENT), [DiedError("code -9"), DiedError("code -9")], Status.ERROR),
    ],
)
def test_what_becomes_of_a_worker_is_an_outcome_with_the_folder_of_the_run(
    recorder: object, judge: list[Any], status: Status, tmp_path: Path
) -> None:
    outcome = pool_of(Scripted(recorder, begun=True), Scripted(*judge), tmp_path).execute(UNIT)
    (run,) = every_run(tmp_path)
    assert (outcome.status, outcome.folder) == (status, str(run.relative_to(tmp_path)))
    assert (f"what was recorded: {run}" in outcome.why) == (status in (Status.ERROR, Status.HUNG))


def test_a_recorded_run_that_waits_for_the_judge_is_not_cleaned(tmp_path: Path) -> None:
    def left() -> list[Path]:
        return [path for path, _ in leftovers(tmp_path, tables=False, runs=True)]

    class Judge(Scripted):
        def ask(self, order: Any, timeout_s: float) -> object:
            assert every_run(tmp_path) and left() == []
            return super().ask(order, timeout_s)

    pool_of(Scripted(RECORDED, begun=True), Judge(JUDGED), tmp_path).execute(UNIT)
    assert left() == every_run(tmp_path)


@pytest.mark.parametrize(
    ("error", "status"), [(IncapableError("no root"), Status.IMPOSSIBLE), (HungError("no end"), Status.HUNG)]
)
def test_a_run_that_did_not_begin_leaves_no_folder(
    error: FencepostError, status: Status, tmp_path: Path
) -> None:
    judge = Scripted(of_error(UNIT, error))
    outcome = pool_of(Scripted(Recording(error)), judge, tmp_path).execute(UNIT)
    assert (outcome.status, outcome.why, outcome.folder) == (status, str(error), "")
    assert [order.error for order in judge.orders] == [error]
    assert not list((tmp_path / UNIT.scenario).iterdir())


@pytest.mark.parametrize(
    ("status", "broken", "acted", "judged", "why"),
    [
        (Status.ANOMALY, ["durability", "order"], 3, Status.AS_EXPECTED, ""),
        (Status.AS_EXPECTED, ["order"], 3, Status.AS_EXPECTED, ""),
        (Status.ANOMALY, ["durability"], 3, Status.UNKNOWN, "acted, and order has no anomaly"),
        (Status.ANOMALY, ["order"], 0, Status.UNKNOWN, "never acted"),
        (Status.AS_EXPECTED, [], 0, Status.UNKNOWN, "never acted"),
        (Status.ERROR, ["order"], 3, Status.ERROR, "so it is"),
    ],
)
def test_a_control_by_a_defect_is_as_expected_when_it_acts_and_breaks_its_property(
    status: Status, broken: list[str], acted: int, judged: Status, why: str
) -> None:
    control = replace(UNIT, defects=("callbacks-out-of-order",), breaks=("order",))
    outcome = outcome_of(control, status, why="so it is", acted=acted)
    found = of_control(control, outcome, broken)
    assert (found.status, why in found.why, bool(why) == bool(found.why)) == (judged, True, True)
    both = replace(control, breaks=("order", "lac"))
    assert of_control(both, outcome, broken).status is not Status.AS_EXPECTED, "it does not break lac"
    torn = of_control(control, outcome, broken, whole=False)
    assert torn.status is not Status.AS_EXPECTED, "evidence that is not whole meets nothing"
    acted_in_vain = bool(acted) and judged is Status.UNKNOWN
    assert (found.missed, torn.missed) == (acted_in_vain, False), "no more of these runs until one is right"
    unknown = of_control(control, replace(outcome, status=Status.UNKNOWN), broken)
    assert not unknown.missed
    assert of_control(UNIT, outcome, broken) == outcome, "any other run says what it says"
