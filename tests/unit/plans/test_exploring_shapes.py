"""The shapes of events that drawn plans have: each often enough, and none that a known defect answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given

from plans.exploring.generate import GenerateOptions, generate
from plans.exploring.seeds import Spread, stream
from plans.exploring.workload import WRITER
from plans.grammar.rounds import every
from plans.grammar.sequence import StepSpec
from plans.models import Plan
from tests.unit.plans.test_exploring import EVERY_FAULT, PROFILE, any_time, loaded, trees


def steps_of(plan: Plan, name: str) -> list[tuple[int, StepSpec]]:
    """The steps of a name, each with its number in the plan's order."""
    return [(number, step) for number, step in enumerate(every(plan.steps)) if step.name == name]


def written_after_a_recovery_and_restarts(plan: Plan) -> bool:
    """Whether a writer adds to a recovered ledger when AQ bookies were started since."""
    quorum = getattr(steps_of(plan, "create")[0][1].params, "ack_quorum", 0)
    starts = [(number, getattr(step.params, "target", "")) for number, step in steps_of(plan, "start")]
    return any(
        getattr(add.params, "ledger", "") == getattr(recovery.params, "ledger", "")
        and add.at_s is None
        and len({name for number, name in starts if began < number < added and name[0] == "b"}) >= quorum
        for began, recovery in steps_of(plan, "recover")
        for added, add in steps_of(plan, "append")
    )


def recovered_twice(plan: Plan) -> bool:
    by = {(getattr(step.params, "ledger", ""), client_of(step)) for _, step in steps_of(plan, "recover")}
    return len({ledger for ledger, _ in by}) < len(by)


def client_of(step: StepSpec) -> str:
    return str(getattr(step.params, "client", ""))


def hit_at_its_act(plan: Plan) -> bool:
    """Whether a link or process of a client has a fault that begins as the client recovers a ledger."""
    begun = [step for name in ("kill", "cut", "delay", "hold") for _, step in steps_of(plan, name)]
    return any(
        client_of(act) in (getattr(fault.params, "source", ""), getattr(fault.params, "target", ""))
        and abs((fault.at_s or 0) - (act.at_s or 0)) <= 0.2
        for _, act in steps_of(plan, "recover")
        for fault in begun
        if fault.at_s is not None and act.at_s is not None
    )


def crashes_while_it_boots(plan: Plan) -> bool:
    return any(not getattr(step.params, "wait", True) for _, step in steps_of(plan, "start"))


def is_gone_for_long(plan: Plan) -> bool:
    """Whether a bookie is stopped outside of the bursts, beside autorecovery."""
    stopped = [step for _, step in steps_of(plan, "stop") if step.at_s is None]
    return bool(stopped) and plan.cluster.autorecovery > 0


def links_differ(plan: Plan) -> bool:
    latencies: dict[str, set[int]] = {}
    for _, step in steps_of(plan, "slow"):
        latencies.setdefault(getattr(step.params, "source", ""), set()).add(
            getattr(step.params, "latency_ms", 0)
        )
    return any(len(each) > 1 for each in latencies.values())


def one_kind_is_late(plan: Plan) -> bool:
    return any(len(getattr(step.params, "kinds", ())) == 1 for _, step in steps_of(plan, "delay"))


def is_deleted_and_collected(plan: Plan) -> bool:
    return bool(steps_of(plan, "delete")) and int(plan.cluster.bookie_conf["gcWaitTime"]) <= 2000


def is_followed(plan: Plan) -> bool:
    return bool(steps_of(plan, "tail"))


def writes_while_a_bookie_is_lost(plan: Plan) -> bool:
    """Whether adds of a quiet ledger's writer are in the background of a burst with kills or cuts."""
    begun = [step for _, step in steps_of(plan, "append") if getattr(step.params, "background", False)]
    return bool(begun) and bool(steps_of(plan, "kill") or steps_of(plan, "cut"))


def loses_an_answer_of_zookeeper(plan: Plan) -> bool:
    """Whether a link to ZooKeeper is cut while it is slow."""
    slow = {getattr(step.params, "target_name", "") for _, step in steps_of(plan, "slow")}
    cut = {getattr(step.params, "target_name", "") for _, step in steps_of(plan, "cut")}
    return any(link.endswith("-zk1") for link in slow & cut)


def power_loss_may_take_much(plan: Plan) -> bool:
    """Whether ledgers are not written down by the journal's syncs, nor soon by the file system."""
    disks = plan.cluster.disks
    return (
        bool(steps_of(plan, "power_loss"))
        and disks is not None
        and (disks.journal, disks.commit_s) == ("own", 600)
    )


def autorecovery_is_killed(plan: Plan) -> bool:
    return any(getattr(step.params, "target", "").startswith("ar") for _, step in steps_of(plan, "kill"))


def silences(plan: Plan) -> Iterator[tuple[str, float]]:
    """The target of each fault during which others wait for an answer, and how long it lasts."""
    undone_by = {"pause": "resume", "hold": "heal", "isolate": "heal"}
    ends = [step for _, step in (*steps_of(plan, "resume"), *steps_of(plan, "heal"))]
    for kind, end in undone_by.items():
        for _, step in steps_of(plan, kind):
            target = getattr(step.params, "target_name", "") or getattr(step.params, "target", "")
            until = [
                one.at_s
                for one in ends
                if one.name == end and getattr(one.params, "target", "") == target and one.at_s is not None
            ]
            yield target, min(at_s for at_s in until if at_s >= (step.at_s or 0)) - (step.at_s or 0)


def outlasts_the_add_timeout(plan: Plan) -> bool:
    """Whether a bookie does not answer for longer than a client waits for an add (5 s)."""
    return any(re.search(r"\bb\d", target) and lasts_s > 5 for target, lasts_s in silences(plan))


def outlasts_a_session(plan: Plan) -> bool:
    """Whether a process is silent for longer than its session with ZooKeeper lasts (10 s)."""
    return any("-" not in target and lasts_s > 10 for target, lasts_s in silences(plan))


@pytest.mark.parametrize(
    ("shape", "at_least"),
    [
        (outlasts_the_add_timeout, 15),
        (outlasts_a_session, 15),
        (written_after_a_recovery_and_restarts, 10),
        (recovered_twice, 40),
        (hit_at_its_act, 15),
        (crashes_while_it_boots, 15),
        (is_gone_for_long, 20),
        (links_differ, 30),
        (one_kind_is_late, 25),
        (is_deleted_and_collected, 35),
        (is_followed, 30),
        (writes_while_a_bookie_is_lost, 50),
        (autorecovery_is_killed, 2),
        (loses_an_answer_of_zookeeper, 10),
        (power_loss_may_take_much, 3),
    ],
)
def test_shapes_that_defects_need_are_drawn_often(
    shape: Callable[[Plan], bool], at_least: int, hundred: list[Plan]
) -> None:
    assert sum(map(shape, hundred)) >= at_least


@pytest.fixture(scope="module")
def hundred() -> list[Plan]:
    """The plans of the first hundred seeds."""
    wish = GenerateOptions(EVERY_FAULT, "protected")
    return [loaded(generate(PROFILE, seed, wish)) for seed in range(100)]


@given(trees())
@any_time
def test_a_deleted_ledger_has_no_later_writer(drawn: tuple[GenerateOptions, dict[str, Any]]) -> None:
    """An add to it may be acknowledged (docs/findings/deleted-fence-forgotten.md)."""
    plan = loaded(drawn[1])
    deleted = {getattr(step.params, "ledger", "") for _, step in steps_of(plan, "delete")}
    late = [step for _, step in steps_of(plan, "append") if step.at_s is None and step.outcome == "any"]
    assert not deleted & {getattr(step.params, "ledger", "") for step in late}


@given(trees())
@any_time
def test_with_more_bookies_than_copies_one_add_is_in_flight(
    drawn: tuple[GenerateOptions, dict[str, Any]],
) -> None:
    """More meet docs/findings/ensemble-change-in-flight.md."""
    plan = loaded(drawn[1])
    created: Any = steps_of(plan, "create")[0][1].params
    for _, step in steps_of(plan, "append"):
        if getattr(step.params, "background", False) and created.ensemble > created.write_quorum:
            assert getattr(step.params, "outstanding", 0) == 1


@given(trees())
@any_time
def test_the_writer_of_quiet_ledgers_is_never_killed(drawn: tuple[GenerateOptions, dict[str, Any]]) -> None:
    plan = loaded(drawn[1])
    assert WRITER not in {getattr(step.params, "target", "") for _, step in steps_of(plan, "kill")}


@pytest.mark.parametrize("first", [1, 2**62 + 1])
def test_consecutive_seeds_have_other_clusters_and_loads(first: int) -> None:
    wish = GenerateOptions(EVERY_FAULT, "protected")
    plans = [generate(PROFILE, seed, wish) for seed in range(first, first + 7)]
    quorums = [steps_of(loaded(plan), "create")[0][1].params for plan in plans]
    assert len({(one.ensemble, one.write_quorum, one.ack_quorum) for one in cast("list[Any]", quorums)}) >= 4
    assert len({step["load"]["workload"] for plan in plans for step in plan["steps"] if "load" in step}) >= 3


def test_a_spread_stream_is_even_in_its_first_number_only() -> None:
    streams = [Spread(seed, "part", step=0.618034) for seed in range(10)]
    assert {int(one.random() * 5) for one in streams} == set(range(5))
    assert streams[3].random() == stream(3, "part").random()
