"""Faults of messages through a real proxy: the stories of every cluster, and what frames show of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.interface import Way
from cluster.links import CLEAR, Links
from cluster.messages import Action, Rule
from cluster.waiting import wait_until
from evidence.codes import Status
from evidence.raw.wirelog import decode_segment
from nemesis.nemesis import Nemesis
from protocol.addresses import AddressPlan
from protocol.errors import LinkError, UsageError
from tests.live.nemesis.conftest import BOOKIES, SOURCES, Proxy, open_links
from tests.live.nemesis.reader import LEDGER, Bookie, Reader
from tests.nemesis_contract.fault_stories import Lines, inject
from tests.nemesis_contract.message_stories import TO_B1, MessageStories

PAIR = ("writer", "b1")


@pytest.fixture
def nemesis(cluster: Any, lines: Lines) -> Nemesis:
    return Nemesis(cluster, lambda line: lines.append(dict(line)), ledger={"main": LEDGER}.__getitem__)


@pytest.fixture
def wire(addresses: AddressPlan, links: Links, connect: Any) -> Iterator[Reader]:
    bookie = Bookie(addresses.direct("b1"))
    reader = Reader(connect(), bookie)
    yield reader
    reader.close()
    bookie.close()


class TestMessages(MessageStories):
    pass


def test_a_delayed_answer_comes_late_and_others_do_not_wait_for_it(wire: Reader, nemesis: Nemesis) -> None:
    inject(nemesis, "delay", **TO_B1, way="answers", kinds=("read",), entries=(1, 1), delay_ms=2000)
    assert wire.timed_s(1) >= 2
    inject(nemesis, "delay", **TO_B1, way="answers", kinds=("read",), entries=(2, 2), delay_ms=600_000)
    wire.send(2)
    assert wire.read(3)
    assert wire.no_answer(2)


def test_a_forged_answer_has_the_status_that_was_asked_for(wire: Reader, nemesis: Nemesis) -> None:
    forged = {"kinds": ("read",), "status": "ENOENTRY"}
    inject(nemesis, "forge", **TO_B1, way="answers", entries=(1, 1), **forged)
    inject(nemesis, "forge", **TO_B1, way="requests", entries=(2, 2), **forged)
    assert [wire.status(entry) for entry in (1, 2, 3)] == [Status.ENOENTRY, Status.ENOENTRY, Status.EOK]
    assert wire.arrived == [1, 3]


def test_the_same_seed_drops_the_same_messages(
    cluster: Any, wire: Reader, nemesis: Nemesis, lines: Lines
) -> None:
    def drawn(nemesis: Nemesis) -> list[int]:
        """Which of eight requests arrive; a later request without a rule shows that all were decided."""
        inject(nemesis, "drop", **TO_B1, kinds=("read",), entries=(0, 7), probability=0.5, may_idle=True)
        before = len(wire.arrived)
        for entry in range(8):
            wire.send(entry)
        assert wire.read(8)
        nemesis.heal()
        return wire.arrived[before:-1]

    once = drawn(nemesis)
    assert 0 < len(once) < 8
    assert drawn(Nemesis(cluster, lines.append)) == once


def test_a_rule_that_the_proxy_refuses_is_told_with_what_is_allowed(links: Links) -> None:
    with pytest.raises(UsageError, match="kinds") as caught:
        links.put_rule(*PAIR, Rule("odd", Way.REQUESTS, Action.DROP, kinds=("ad",)))
    assert "recovery_read" in caught.value.remedy
    links.put_rule(*PAIR, Rule("even", Way.REQUESTS, Action.DROP))  # the one refused is not put again


def test_a_rule_has_its_name_once_and_is_on_links_to_bookies_only(links: Links) -> None:
    rule = Rule("late", Way.REQUESTS, Action.HOLD)
    links.put_rule(*PAIR, rule)
    with pytest.raises(UsageError, match="has a rule 'late' already"):
        links.put_rule(*PAIR, rule)
    with pytest.raises(UsageError, match="writer-zk1 understands no messages"):
        links.put_rule("writer", "zk1", rule)
    with pytest.raises(UsageError, match="observer"):
        links.put_rule("observer", "b1", rule)
    with pytest.raises(LinkError, match="never had a rule 'early'"):
        links.remove_rule(*PAIR, "early")
    with pytest.raises(LinkError, match="no rule 'early'"):
        links.rule(*PAIR, "early")


@pytest.mark.parametrize("way", list(Way))
def test_a_held_link_says_so_and_lets_go_what_it_held(links: Links, wire: Reader, way: Way) -> None:
    assert wire.read(1)
    links.hold(*PAIR, way)
    assert links.state(*PAIR).held == ((Way.REQUESTS, Way.ANSWERS) if way is Way.BOTH else (way,))
    assert wire.unanswered(2)
    if way is Way.ANSWERS:
        wait_until(lambda: (len(wire.arrived) == 2, f"{wire.arrived} arrived"), 60, "the request to arrive")
    assert wire.arrived == ([1, 2] if way is Way.ANSWERS else [1])
    links.heal(*PAIR)
    assert links.state(*PAIR) == CLEAR
    assert wire.has_answer(2)
    assert wire.read(3)


def test_the_log_has_every_message_and_what_became_of_it(proxy: Proxy, connect: Any, tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    links = open_links(proxy.addresses, SOURCES, BOOKIES, log=(folder, 99))
    bookie = Bookie(proxy.addresses.direct("b1"))
    reader = Reader(connect(), bookie)
    number = links.put_rule(*PAIR, Rule("lost", Way.REQUESTS, Action.DROP, entries=(2, 2))).number
    assert reader.read(1)
    reader.send(2)
    assert reader.read(3)
    wire = links.wire()
    assert wire is not None
    assert (wire["log"]["records"], wire["log"]["run_id"], wire["log"]["lost"]) == (5, "99", 0)
    result = wire["links"]["writer-b1"]
    assert (result["requests"], result["answers"], "rules" in result) == (3, 2, False)
    assert len(wire["links"]) == sum(links.filters(*pair) for pair in links.pairs())
    reader.close()
    bookie.close()
    proxy.kill()  # a log loses nothing by this
    segment = decode_segment(folder / "frames-000001.wire", run_id=99)
    assert segment.damage == ()
    assert segment.records["entry"].tolist() == [1, 1, 2, 3, 3]
    assert segment.records["rule"].tolist() == [0, 0, number, 0, 0]


def test_links_without_a_log_tell_of_none(links: Links) -> None:
    assert links.wire() is None
