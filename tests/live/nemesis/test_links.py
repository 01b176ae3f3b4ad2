"""What the links do to bytes, seen from both ends of a real proxy; and the stories of any cluster's links."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cluster.interface import LinkState, Way
from cluster.links import CLEAR, Links
from cluster.messages import HOLDING
from cluster.toxiproxy import Rest
from protocol.addresses import QUORUM_PORT, AddressPlan
from protocol.errors import LinkError, UsageError
from tests.live.nemesis.conftest import BOOKIES, SOURCES, Proxy, open_links
from tests.nemesis_contract.fault_stories import LinkStories

Connect = Callable[..., socket.socket]
PATIENCE_S = 20.0
QUIET_S = 1.0
AN_HOUR_MS = 3_600_000
"""A delay that does not end during the test."""


def silent(connection: socket.socket) -> bool:
    """Whether nothing arrives, not even an end, for a while."""
    connection.settimeout(QUIET_S)
    try:
        connection.recv(1)
    except TimeoutError:
        return True
    finally:
        connection.settimeout(PATIENCE_S)
    return False


def ended(connection: socket.socket) -> bool:
    """Whether the other end closes without a byte."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def round_trip_s(connection: socket.socket, peer: Any) -> float:
    began = time.monotonic()
    connection.sendall(b"question")
    assert peer.received(b"question")
    peer.answer(b"answer")
    assert connection.recv(16) == b"answer"
    return time.monotonic() - began


class TestLinks(LinkStories):
    pass


def test_every_source_has_a_link_to_every_server_but_itself(links: Links) -> None:
    pairs = links.pairs()
    assert len(pairs) == 3 * 3 + 3 * 4
    assert {("writer", "b1"), ("b1", "zk1"), ("observer", "b3")} <= set(pairs)
    assert ("b1", "b1") not in pairs
    assert {links.state(*pair) for pair in pairs} == {CLEAR}


def test_zookeeper_of_a_bookie_that_uses_the_follower_is_zk2(proxy: Proxy, addresses: AddressPlan) -> None:
    links = open_links(addresses, SOURCES, BOOKIES, following=["b1"])
    rest = Rest(addresses.proxy, PATIENCE_S)
    ends = {
        name: rest.call("GET", f"/proxies/{name}")["upstream"] for name in ("b1-zk1", "b2-zk1", "zk2-zk1")
    }
    leader, follower = addresses.direct("zk1")[0], addresses.direct("zk2")[0]
    assert ends == {
        "b1-zk1": f"{follower}:2181",
        "b2-zk1": f"{leader}:2181",
        "zk2-zk1": f"{leader}:{QUORUM_PORT}",
    }
    assert ("zk2", "zk1") in links.pairs()


def test_a_new_link_passes_both_ways(links: Links, b1: Any, connect: Connect) -> None:
    round_trip_s(connect(), b1)


def test_a_cut_ends_connections_and_refuses_new_ones(links: Links, b1: Any, connect: Connect) -> None:
    before = connect()
    round_trip_s(before, b1)
    links.cut("writer", "b1")
    assert links.state("writer", "b1") == LinkState(True, (), 0, 0)
    assert ended(before)
    with pytest.raises(ConnectionRefusedError):
        connect()
    round_trip_s(connect("recoverer"), b1)  # only this link is cut


def test_healing_a_cut_lets_new_connections_through(links: Links, b1: Any, connect: Connect) -> None:
    links.cut("writer", "b1")
    links.heal("writer", "b1")
    assert links.state("writer", "b1") == CLEAR
    round_trip_s(connect(), b1)


def test_held_requests_do_not_arrive_while_answers_do(links: Links, zk1: Any, connect: Connect) -> None:
    writer = connect("writer", "zk1")
    round_trip_s(writer, zk1)
    links.hold("writer", "zk1", Way.REQUESTS)
    assert links.state("writer", "zk1").held == (Way.REQUESTS,)
    writer.sendall(b"held")
    assert not zk1.received(b"held", within_s=QUIET_S)
    zk1.answer(b"passes")
    assert writer.recv(16) == b"passes"


def test_held_answers_do_not_arrive_while_requests_do(links: Links, zk1: Any, connect: Connect) -> None:
    writer = connect("writer", "zk1")
    round_trip_s(writer, zk1)
    links.hold("writer", "zk1", Way.ANSWERS)
    assert links.state("writer", "zk1").held == (Way.ANSWERS,)
    writer.sendall(b"passes")
    assert zk1.received(b"passes")
    zk1.answer(b"held")
    assert silent(writer)


def test_a_link_held_both_ways_accepts_connections_and_is_silent(
    links: Links, zk1: Any, connect: Connect
) -> None:
    links.hold("writer", "zk1", Way.BOTH)
    links.hold("writer", "zk1", Way.REQUESTS)  # held already
    assert links.state("writer", "zk1").held == (Way.REQUESTS, Way.ANSWERS)
    writer = connect("writer", "zk1")
    writer.sendall(b"held")
    assert not zk1.received(b"held", within_s=QUIET_S)
    zk1.answer(b"held too")
    assert silent(writer)


@pytest.mark.parametrize("way", list(Way))
def test_healing_a_hold_of_a_link_to_zookeeper_closes_what_was_held_and_delivers_nothing_of_it(
    links: Links, zk1: Any, connect: Connect, way: Way
) -> None:
    writer = connect("writer", "zk1")
    round_trip_s(writer, zk1)
    links.hold("writer", "zk1", way)
    if way is Way.ANSWERS:
        zk1.answer(b"swallowed")
    else:
        writer.sendall(b"swallowed")
    assert silent(writer)
    links.heal("writer", "zk1")
    assert ended(writer)
    round_trip_s(connect("writer", "zk1"), zk1)
    assert b"swallowed" not in zk1.everything


def test_a_slow_link_delays_each_way_and_its_healing_keeps_the_connection(
    links: Links, b1: Any, connect: Connect
) -> None:
    writer = connect()
    links.slow("writer", "b1", latency_ms=AN_HOUR_MS)
    links.slow("writer", "b1", latency_ms=120)  # the newer slowness counts
    assert links.state("writer", "b1") == LinkState(False, (), 120, 0)
    assert round_trip_s(writer, b1) >= 0.24
    links.slow("writer", "b1", latency_ms=AN_HOUR_MS)
    assert links.state("writer", "b1").latency_ms == AN_HOUR_MS
    links.heal("writer", "b1")
    assert links.state("writer", "b1") == CLEAR
    round_trip_s(writer, b1)


def test_a_narrow_link_takes_its_time(links: Links, b1: Any, connect: Connect) -> None:
    links.slow("writer", "b1", rate_bytes_per_s=20_000)
    assert links.state("writer", "b1") == LinkState(False, (), 0, 20_000)
    began = time.monotonic()
    connect().sendall(b"x" * 10_000 + b"end")
    assert b1.received(b"end")
    assert time.monotonic() - began >= 0.4


def test_one_healing_undoes_everything(links: Links, b1: Any, connect: Connect) -> None:
    before = connect()
    round_trip_s(before, b1)
    links.hold("writer", "b1", Way.BOTH)
    links.slow("writer", "b1", latency_ms=AN_HOUR_MS, rate_bytes_per_s=1_000)
    before.sendall(b"swallowed" * 100)
    links.cut("writer", "b1")
    assert links.state("writer", "b1") == LinkState(True, (Way.REQUESTS, Way.ANSWERS), AN_HOUR_MS, 1_000)
    links.heal("writer", "b1")
    assert links.state("writer", "b1") == CLEAR
    round_trip_s(connect(), b1)


def test_undoing_a_cut_leaves_everything_else(links: Links, b1: Any, connect: Connect) -> None:
    before = connect()
    round_trip_s(before, b1)
    links.hold("writer", "b1", Way.REQUESTS)
    links.hold("writer", "zk1", Way.ANSWERS)
    links.slow("writer", "b1", latency_ms=5, rate_bytes_per_s=20_000)
    states = {to: links.state("writer", to) for to in ("b1", "zk1")}
    rule = links.rule("writer", "b1", HOLDING[Way.REQUESTS].id)
    for to, state in states.items():
        links.cut("writer", to)
        links.uncut("writer", to)
        assert links.state("writer", to) == state
    assert links.rule("writer", "b1", HOLDING[Way.REQUESTS].id).number == rule.number
    links.heal("writer", "b1")
    round_trip_s(connect(), b1)


def test_healing_a_sound_link_changes_nothing(links: Links, b1: Any, connect: Connect) -> None:
    writer = connect()
    links.heal("writer", "b1")
    round_trip_s(writer, b1)


@pytest.mark.parametrize("order", ["cut", "heal"])
def test_links_of_the_observer_are_never_touched(links: Links, order: str) -> None:
    with pytest.raises(UsageError, match="observer-b1"):
        getattr(links, order)("observer", "b1")


def test_an_unknown_link_is_answered_with_the_nearest(links: Links) -> None:
    with pytest.raises(UsageError, match="no link writr-b1") as caught:
        links.cut("writr", "b1")
    assert "writer-b1" in caught.value.remedy


@pytest.mark.parametrize("slowness", [{}, {"latency_ms": -1}, {"rate_bytes_per_s": 1_500}])
def test_slowness_that_cannot_be_is_refused(links: Links, slowness: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        links.slow("writer", "b1", **slowness)
    assert links.state("writer", "b1") == CLEAR


def test_a_dead_proxy_is_a_link_error(proxy: Any, links: Links) -> None:
    proxy.kill()
    with pytest.raises(LinkError, match="did not answer"):
        links.cut("writer", "b1")


def test_a_silent_proxy_is_a_link_error_in_time(addresses: AddressPlan, proxy: Any, links: Links) -> None:
    proxy.kill()
    impatient = Links(Rest(addresses.proxy, timeout_s=0.3), links.pairs())
    with socket.create_server(addresses.proxy), pytest.raises(LinkError, match=r"did not answer .*timed out"):
        impatient.state("writer", "b1")


def test_a_taken_address_is_a_link_error_that_names_it(addresses: AddressPlan, proxy: Any) -> None:
    taken = addresses.link(101, "b2")
    with socket.create_server(taken), pytest.raises(LinkError, match=f"{taken[0]}.*in use"):
        proxy.links()


def test_a_proxy_of_the_environment_is_not_asked(links: Links, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.255.255.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert links.state("writer", "b1") == CLEAR


def test_two_runs_in_one_process_do_not_mix(new_proxy: Callable[[], Any]) -> None:
    one, other = new_proxy().links(), new_proxy().links()
    one.cut("writer", "b1")
    assert one.state("writer", "b1").cut
    assert not other.state("writer", "b1").cut


def test_orders_may_come_from_many_threads(links: Links) -> None:
    pairs = [pair for pair in links.pairs() if pair[0] != "observer"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pair: links.hold(*pair, Way.BOTH), pairs * 2))
        assert {links.state(*pair).held for pair in pairs} == {(Way.REQUESTS, Way.ANSWERS)}
        list(pool.map(lambda pair: links.heal(*pair), pairs * 2))
    assert {links.state(*pair) for pair in pairs} == {CLEAR}
