"""Faults of messages on the fake cluster, and parameters that mean nothing."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from nemesis.messages import KINDS, STATUSES
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from plans.grammar.names import Names
from protocol.errors import FaultError, LinkError, UsageError
from tests.nemesis_contract.fault_stories import Lines, inject, phases, proof
from tests.nemesis_contract.message_stories import LATE, TO_B1, MessageStories


class TestMessages(MessageStories):
    pass


def test_kinds_and_statuses_are_those_of_the_wire() -> None:
    assert (
        *("other", "add", "recovery_add", "fencing_lac_read", "recovery_read"),
        *("read", "lac_read", "write_lac", "force"),
    ) == KINDS
    assert len(STATUSES) == 11
    assert "NONE" not in STATUSES


def test_the_rule_says_what_the_plan_says(cluster: Any, lines: Lines) -> None:
    streams: list[str] = []

    def random(stream: str) -> Random:
        streams.append(stream)
        return Random(stream)

    nemesis = Nemesis(cluster, lines.append, ledger={"main": 7}.__getitem__, random=random)
    inject(
        nemesis,
        "forge",
        **LATE,
        kinds=("add", "read"),
        ledger="main",
        entries=(3, 9),
        statuses=("EOK",),
        occurrences=(2, 4),
        probability=0.25,
        status="EFENCED",
    )
    (one,) = cluster.links.rules["writer", "b1"].rules
    tree = one.rule.as_json()
    assert tree.pop("seed") == Random("fault/1/answers").getrandbits(63)
    assert tree == {
        "id": "late",
        "way": "answers",
        "action": "forge",
        "kinds": ["add", "read"],
        "ledger": 7,
        "entries": [3, 9],
        "statuses": ["EOK"],
        "from": 2,
        "to": 4,
        "probability": 0.25,
        "status": "EFENCED",
    }
    assert streams == ["fault/1/answers"]


@pytest.mark.parametrize(
    ("fault", "params", "rule"),
    [
        ("delay", {"delay_ms": 20}, {"delay_ms": 20}),  # without criteria it matches all
        ("garble", {}, {"kinds": ["add"]}),
    ],
)
def test_what_a_plan_does_not_say_is_as_usual(
    cluster: Any, nemesis: Nemesis, fault: str, params: dict[str, int], rule: dict[str, Any]
) -> None:
    inject(nemesis, fault, **TO_B1, **params)
    (one,) = cluster.links.rules["writer", "b1"].rules
    assert one.rule.as_json() == {"id": f"{fault}-1", "way": "requests", "action": fault, "from": 1, **rule}


def test_a_ledger_that_is_not_there_yet_is_told(cluster: Any, lines: Lines) -> None:
    def ledger(name: str) -> int:
        raise UsageError(f"ledger {name!r} was not created yet", remedy="put a create step before")

    nemesis = Nemesis(cluster, lambda line: lines.append(dict(line)), ledger=ledger)
    with pytest.raises(FaultError, match="drop writer-b1 did not take effect: ledger 'main'") as caught:
        inject(nemesis, "drop", **TO_B1, ledger="main")
    assert caught.value.remedy == "put a create step before"
    assert phases(lines) == ["planned", "failed", "healed"]
    assert cluster.links.rules["writer", "b1"].rules == []


def test_half_a_hold_is_undone(cluster: Any, nemesis: Nemesis) -> None:
    cluster.orders.fail["put late.answers writer-b1"] = LinkError("no answer")
    with pytest.raises(FaultError, match="no answer"):
        inject(nemesis, "hold", **{**LATE, "way": "both"}, kinds=("add",))
    assert cluster.links.rules["writer", "b1"].rules == []
    assert nemesis.in_force() == []


def test_a_healing_that_failed_can_be_repeated_and_keeps_the_counts(
    cluster: Any, nemesis: Nemesis, wire: Any, lines: Lines
) -> None:
    inject(nemesis, "hold", **{**LATE, "way": "both"}, kinds=("read",))
    cluster.links.rules["writer", "b1"].rules[1].acted = 3
    assert wire.unanswered(1)
    cluster.orders.fail["remove late.requests writer-b1"] = LinkError("no answer")
    with pytest.raises(FaultError, match="no answer"):
        nemesis.heal()
    cluster.orders.fail.clear()
    assert nemesis.heal() == ["hold writer-b1 (acted 4 times)"]
    assert proof(lines, "healed")["released"] == 1


def test_a_fault_that_counts_nothing_cannot_be_asked(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "hold", **{"from": "writer", "to": "zk1", "as": "metadata"})
    cluster.links.filters = lambda source, destination: False
    with pytest.raises(UsageError, match="writer-zk1 counts no messages"):
        nemesis.acted("metadata")


def test_a_link_that_understands_no_messages_is_refused(cluster: Any, nemesis: Nemesis) -> None:
    cluster.links.filters = lambda source, destination: False
    with pytest.raises(UsageError, match="writer-b1 understands no messages on this backend"):
        inject(nemesis, "drop", **TO_B1)


def test_nothing_is_asked_of_what_is_not_in_force(nemesis: Nemesis) -> None:
    assert nemesis.acted("late") is None


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("drop", {"to": "zk1"}, "unknown bookie"),
        ("drop", {"kinds": ["ad"]}, "did you mean `add`"),
        ("drop", {"way": "both"}, "requests"),
        ("drop", {"statuses": ["EOK"]}, "say `way: answers`"),
        ("drop", {"way": "answers", "statuses": ["FENCED"]}, "did you mean `EFENCED`"),
        ("drop", {"entries": [5, 4]}, "0 <= first <= last"),
        ("drop", {"occurrences": [0, 4]}, "1 <= first <= last"),
        ("drop", {"kinds": ["lac_read"], "entries": [0, 4]}, "`lac_read` name no entry"),
        ("drop", {"kinds": ["read", "fencing_lac_read"], "entries": [0, 4]}, "name no entry"),
        ("drop", {"probability": 0}, "greater than 0"),
        ("drop", {"as": "Late!"}, "is no fault's name"),
        ("drop", {"status": "EIO"}, "status"),
        ("delay", {}, "delay_ms"),
        ("delay", {"delay_ms": 0}, "greater than or equal to 1"),
        ("forge", {"kinds": ["add"]}, "status"),
        ("forge", {"kinds": ["add"], "status": "EOK"}, "`EOK` cannot be forged"),
        ("forge", {"status": "EIO"}, "kinds"),
        ("forge", {"status": "EIO", "kinds": ["other"]}, "`other` cannot be forged"),
        ("garble", {"way": "answers"}, "requests"),
        ("garble", {"kinds": ["add", "read"]}, "only messages of kind `add` and `recovery_add`"),
        ("garble", {"kinds": []}, "only messages of kind `add` and `recovery_add`"),
        ("hold", {"kinds": ["add"], "way": "both", "statuses": ["EOK"]}, "say `way: answers`"),
        ("hold", {"to": "zk1", "kinds": ["add"]}, "messages to zk1 are indistinguishable"),
        ("hold", {"from": "b1"}, "`b1` has no link to itself"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        FAULTS[name].model_validate_json(json.dumps({**TO_B1, **params}), strict=True)


@pytest.mark.parametrize(
    ("params", "way"),
    [({}, "both"), ({"kinds": ["add"]}, "requests"), ({"way": "answers"}, "answers"), ({"as": "x"}, "both")],
)
def test_a_hold_without_criteria_is_of_both_ways(params: dict[str, Any], way: str) -> None:
    read = FAULTS["hold"].model_validate_json(json.dumps({**TO_B1, **params}), strict=True)
    assert read.model_dump(mode="json")["way"] == way


def test_in_chaos_a_fault_may_idle_and_has_no_name() -> None:
    chaos = Names().within_chaos().context()
    drop: Any = FAULTS["drop"]
    assert drop.model_validate({"from": "any-client", "to": "any-bookie"}, context=chaos).may_idle is True
    assert drop.model_validate({**TO_B1, "may_idle": False}, context=chaos).may_idle is False
    assert drop.model_validate(TO_B1).may_idle is False
    with pytest.raises(ValidationError, match="inside chaos cannot have a name"):
        drop.model_validate({**TO_B1, "as": "late"}, context=chaos)
