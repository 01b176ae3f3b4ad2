"""What faults of messages must do on any link to a bookie, a fake one and a real one.

A test class that derives from these provides the fixtures of ``fault_stories`` and ``wire``: a client
``writer`` that reads entries of ledger 7 (the plan's ``main``) from ``b1``. It waits long for an answer
that has to come and briefly for an answer that must not: a slow answer is not a lost answer.
"""

from __future__ import annotations

from typing import Any

import pytest

from cluster.waiting import wait_until
from nemesis.nemesis import Nemesis
from protocol.errors import UsageError
from tests.nemesis_contract.fault_stories import WHOLE, Lines, inject, phases, proof

TO_B1 = {"from": "writer", "to": "b1"}
LATE = {**TO_B1, "way": "answers", "as": "late"}


def wait_until_acted(cluster: Any, rule: str, times: int) -> None:
    """Wait until the rule on the link has acted ``times`` times; querying its fault would confirm it."""

    def acted() -> tuple[bool, str]:
        count = cluster.links.rule("writer", "b1", rule).acted
        return count >= times, f"it acted {count} times"

    wait_until(acted, 60, f"{rule} to act {times} times")


class MessageStories:
    def test_a_fault_is_confirmed_by_its_counter(
        self, cluster: Any, wire: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        inject(nemesis, "drop", **TO_B1, kinds=("read",), ledger="main", entries=(5, 6))
        assert wire.read(4)
        assert wire.unanswered(5)
        wait_until_acted(cluster, "drop-1", 1)
        assert wire.arrived == [4]
        assert phases(lines) == ["planned", "injected"]
        assert nemesis.heal() == ["drop writer-b1 (acted once)"]
        assert phases(lines) == WHOLE
        result = proof(lines, "healed")
        assert {key: result[key] for key in ("rule", "link", "matched", "acted", "released")} == {
            "rule": "drop-1",
            "link": "writer-b1",
            "matched": 1,
            "acted": 1,
            "released": 0,
        }
        assert result["number"] == proof(lines, "injected")["number"] >= 1
        assert wire.read(5)

    def test_a_fault_that_never_acted_stays_unconfirmed(
        self, wire: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        inject(nemesis, "drop", **TO_B1, kinds=("recovery_read",))
        inject(nemesis, "forge", **TO_B1, kinds=("add",), status="EIO", may_idle=True)
        assert wire.read(1)
        assert nemesis.heal() == ["forge writer-b1 (never acted)", "drop writer-b1 (never acted)"]
        assert phases(lines, 1) == ["planned", "injected", "healed"]
        assert phases(lines, 2) == WHOLE  # It may idle, so that its order is enough.

    def test_what_is_held_arrives_when_the_fault_is_released(
        self, cluster: Any, wire: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        inject(nemesis, "hold", **LATE, kinds=("read",), statuses=("EOK",))
        assert nemesis.acted("late") == 0
        assert wire.unanswered(1)
        assert wire.unanswered(2)
        wait_until_acted(cluster, "late", 2)
        assert nemesis.acted("late") == 2
        assert phases(lines) == WHOLE[:3]
        assert nemesis.heal(name="late") == ["hold writer-b1 (acted 2 times)"]
        assert wire.has_answer(1)
        assert wire.has_answer(2)
        assert (proof(lines, "healed")["rule"], proof(lines, "healed")["released"]) == ("late", 2)
        assert phases(lines) == WHOLE
        assert nemesis.acted("late") is None

    def test_a_hold_of_both_ways_is_two_rules(self, wire: Any, nemesis: Nemesis, lines: Lines) -> None:
        inject(nemesis, "hold", **TO_B1, way="both", entries=(1, 1), **{"as": "both"})
        assert wire.unanswered(1)
        assert wire.read(2)
        assert wire.arrived == [2]
        nemesis.heal()
        assert wire.has_answer(1)
        assert len(proof(lines, "healed")["number"]) == 2
        assert proof(lines, "healed")["acted"] == 1

    def test_occurrences_are_counted_from_one(self, wire: Any, nemesis: Nemesis) -> None:
        inject(nemesis, "drop", **TO_B1, kinds=("read",), occurrences=(2, 3))
        assert wire.read(1)
        assert wire.unanswered(2)
        assert wire.unanswered(3)
        assert wire.read(4)

    def test_a_duplicate_arrives_twice(self, wire: Any, nemesis: Nemesis) -> None:
        inject(nemesis, "duplicate", **TO_B1, kinds=("read",), occurrences=(1, 1))
        assert wire.read(1)
        assert wire.has_answer(1)
        assert wire.arrived == [1, 1]

    def test_the_first_of_several_that_acts_wins(
        self, cluster: Any, wire: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        inject(nemesis, "drop", **TO_B1, entries=(1, 1))
        inject(nemesis, "hold", **TO_B1, kinds=("read",))
        assert wire.unanswered(1)
        assert wire.unanswered(2)
        wait_until_acted(cluster, "drop-1", 1)
        wait_until_acted(cluster, "hold-2", 1)
        nemesis.heal()
        assert wire.has_answer(2)
        assert wire.no_answer(1)
        assert [proof(lines, "healed", fault)["acted"] for fault in (1, 2)] == [1, 1]

    def test_a_whole_link_is_silent_until_it_is_healed(
        self, wire: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        inject(nemesis, "hold", **TO_B1, **{"as": "still"})
        assert phases(lines) == WHOLE[:3]
        assert wire.unanswered(1)
        wait_until(lambda: (nemesis.acted("still") == 1, "it did not act"), 60, "the request to be held")
        assert wire.arrived == []
        assert nemesis.heal(name="still") == ["hold writer-b1 (acted once)"]
        assert wire.has_answer(1)
        assert wire.arrived == [1]

    def test_faults_of_a_link_and_of_its_messages_do_not_clash(
        self, cluster: Any, nemesis: Nemesis, lines: Lines
    ) -> None:
        inject(nemesis, "drop", **TO_B1, kinds=("add",), may_idle=True)
        inject(nemesis, "hold", **TO_B1)
        inject(nemesis, "delay", **TO_B1, delay_ms=5, may_idle=True)
        inject(nemesis, "isolate", target="b2")
        nemesis.heal(kind="hold")
        inject(nemesis, "cut", **TO_B1)
        nemesis.heal(kind="cut")
        assert cluster.links.rule("writer", "b1", "drop-1").acted == 0
        assert cluster.links.rule("writer", "b1", "delay-3").acted == 0
        nemesis.heal()
        assert phases(lines, 1) == WHOLE

    def test_a_name_is_in_force_once(self, nemesis: Nemesis) -> None:
        inject(nemesis, "hold", **LATE, kinds=("read",), may_idle=True)
        with pytest.raises(UsageError, match="hold writer-b1 has the name 'late' already"):
            inject(nemesis, "drop", **TO_B1, **{"as": "late"})
        inject(nemesis, "drop", **TO_B1, **{"as": "other"}, may_idle=True)
        assert nemesis.heal(name="late") == ["hold writer-b1 (never acted)"]
        assert [entry.name for entry in nemesis.in_force()] == ["other"]
        inject(nemesis, "drop", **TO_B1, **{"as": "late"}, may_idle=True)
        nemesis.heal()

    def test_links_that_understand_no_messages_and_those_of_the_observer_are_refused(
        self, nemesis: Nemesis, lines: Lines
    ) -> None:
        with pytest.raises(UsageError, match="links of the observer are never faulted"):
            inject(nemesis, "drop", **{"from": "observer", "to": "b1"})
        with pytest.raises(UsageError, match="there is no link writer-b9"):
            inject(nemesis, "drop", **{"from": "writer", "to": "b9"})
        assert lines == []
