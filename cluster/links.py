"""The links between all sources and servers: one toxiproxy proxy each, ordered over its REST API.

Links to bookies understand messages (the toxic ``bookkeeper`` on both streams from their creation,
``docs/proxy.md``); links to ZooKeeper are plain. They work as follows,
according to the source of toxiproxy 2.12:

- *cut* disables the proxy: its connections are closed and new ones are refused. What a rule held is
  discarded with its connection.
- *hold* of a link to a bookie is a rule on all messages, after the rules of faults. Connections
  stay open, new ones are accepted (the proxy itself accepts them), and a close is passed on.
  Healing forwards the held messages in their order. Rules neither interrupt nor wait for traffic.
- *hold* of a link to ZooKeeper is a ``timeout`` toxic with timeout 0: what is sent that way is
  swallowed. Swallowed data is lost: removing the toxic closes the connections it held, in both
  directions.
- *slow* delays each way by the latency, so a round trip by twice as much.
- *heal* undoes these three. It removes slowness first and holds last: the other order could leave a
  toxic that waits forever to forward its data, and toxiproxy would then answer nothing more about
  that link.
- A request that adds or removes a toxic waits until the receiver has read the data in transit. A
  receiver that does not read (a paused server under load) makes toxiproxy wait forever, and then
  it answers nothing more about that link: ``LinkError``, for that request and all later ones.
  Cut or slow a link before its receiver is paused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cluster.messages import HOLDING, Rule, Rulebook, RuleState, Way
from cluster.toxiproxy import Rest
from evidence.shapes import Wire
from protocol.addresses import (
    ELECTION_PORT,
    FOLLOWER,
    OBSERVER,
    QUORUM_PORT,
    ZOOKEEPER,
    AddressPlan,
    is_bookie,
    link_name,
)
from protocol.errors import LinkError, UsageError


@dataclass(frozen=True, slots=True)
class LinkState:
    """The proxy's report on one link: cut, held ways, slowness in ms and bytes per second (0 none)."""

    cut: bool
    held: tuple[Way, ...]
    latency_ms: int
    rate_bytes_per_s: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """A link's connections that are open now, and the bytes that it received up to now, both ways."""

    connections: int
    size_bytes: int


Proxy = dict[str, Any]
"""One link as toxiproxy describes it: ``name``, ``listen``, ``upstream``, ``enabled``, and its ``toxics``."""
CLEAR = LinkState(cut=False, held=(), latency_ms=0, rate_bytes_per_s=0)
_TIMEOUT_S = 60.0
_BYTES_PER_KILOBYTE = 1000
_STREAMS = {Way.REQUESTS: "upstream", Way.ANSWERS: "downstream"}
_HOLD, _LATENCY, _BANDWIDTH = "timeout", "latency", "bandwidth"


class Links:
    """All links of the run, by (source, destination); each change is confirmed by a query.

    Made by :func:`open_links`.
    """

    def __init__(self, rest: Rest, pairs: Sequence[tuple[str, str]], *, logged: bool = False) -> None:
        self._rest = rest
        self._orders = {pair: threading.Lock() for pair in pairs}
        self._rulebook = Rulebook(rest, [link_name(*pair) for pair in pairs if is_bookie(pair[1])])
        self._logged = logged

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Every link, including the observer's."""
        return tuple(self._orders)

    def state(self, source: str, destination: str) -> LinkState:
        """What the proxy says of the link now; ``LinkError`` when it does not say."""
        proxy = self._rest.call("GET", self._path(source, destination))
        return _state(proxy, self._held_by_rule(source, destination))

    def cut(self, source: str, destination: str) -> None:
        """Close the link's connections and refuse new ones."""
        path = self._faultable(source, destination)
        with self._orders[source, destination]:
            self._rest.call("POST", path, {"enabled": False})
            self._expect(source, destination, self.state(source, destination).cut, "cut")

    def uncut(self, source: str, destination: str) -> None:
        """Undo a cut alone: a hold and its counters, and slowness, stay as they are."""
        path = self._faultable(source, destination)
        with self._orders[source, destination]:
            self._rest.call("POST", path, {"enabled": True})
            self._expect(source, destination, not self.state(source, destination).cut, "uncut")

    def hold(self, source: str, destination: str, way: Way) -> None:
        """Stop forwarding that way, connections stay open (a silent partition); a held way stays so.

        Returns at once where the link understands messages; elsewhere it waits until the receiver has read
        everything in transit.
        """
        path = self._faultable(source, destination)
        wanted = set(_STREAMS) if way is Way.BOTH else {way}
        with self._orders[source, destination]:
            for one in wanted - set(self.state(source, destination).held):
                if self.filters(source, destination):
                    self._rulebook.put(link_name(source, destination), HOLDING[one])
                else:
                    self._add(path, _HOLD, one, {"timeout": 0})
            held = set(self.state(source, destination).held)
            self._expect(source, destination, wanted <= held, f"held ({way})")

    def slow(self, source: str, destination: str, *, latency_ms: int = 0, rate_bytes_per_s: int = 0) -> None:
        """Delay each way by ``latency_ms`` and narrow it; replaces an earlier slowness.

        The rate is a multiple of 1000 bytes per second, for toxiproxy counts kilobytes;
        ``UsageError`` otherwise, and when nothing would be slow.
        """
        path = self._faultable(source, destination)
        _check_slowness(latency_ms, rate_bytes_per_s)
        with self._orders[source, destination]:
            self._remove(path, (_LATENCY, _BANDWIDTH))
            for way in _STREAMS:
                if latency_ms:
                    self._add(path, _LATENCY, way, {"latency": latency_ms, "jitter": 0})
                if rate_bytes_per_s:
                    self._add(path, _BANDWIDTH, way, {"rate": rate_bytes_per_s // _BYTES_PER_KILOBYTE})
            now = self.state(source, destination)
            self._expect(
                source,
                destination,
                (now.latency_ms, now.rate_bytes_per_s) == (latency_ms, rate_bytes_per_s),
                f"slow ({latency_ms} ms, {rate_bytes_per_s} bytes/s)",
            )

    def heal(self, source: str, destination: str) -> None:
        """Undo cut, hold and slow on one link; rules on messages stay.

        Held data is forwarded where the link understands messages; elsewhere its connections are reset.
        """
        path = self._faultable(source, destination)
        with self._orders[source, destination]:
            self._remove(path, (_LATENCY, _BANDWIDTH))
            self._remove(path, (_HOLD,))
            # Answers first, so that answers to requests that are let go now are not kept back.
            for way in reversed(self._held_by_rule(source, destination)):
                self._rulebook.remove(link_name(source, destination), HOLDING[way].id)
            self._rest.call("POST", path, {"enabled": True})
            self._expect(source, destination, self.state(source, destination) == CLEAR, "healed")

    def filters(self, source: str, destination: str) -> bool:
        """Whether this link understands messages, and so rules on them; those to bookies do."""
        return is_bookie(destination) and (source, destination) in self._orders

    def traffic(self, source: str, destination: str) -> Traffic | None:
        """What passed the link up to now; None where the link understands no messages, and counts nothing."""
        if not self.filters(source, destination):
            return None
        counters = self._counters(link_name(source, destination))
        return Traffic(counters["open_connections"], counters["bytes"])

    def put_rule(self, source: str, destination: str, rule: Rule) -> RuleState:
        """Put a rule on messages in force after the existing rules.

        ``UsageError`` when the link understands no messages or the rule is invalid.
        """
        return self._rulebook.put(self._filtering(source, destination), rule)

    def rule(self, source: str, destination: str, name: str) -> RuleState:
        """What a rule has done up to now; ``LinkError`` when it is not in force."""
        return self._rulebook.state(self._filtering(source, destination), name)

    def remove_rule(self, source: str, destination: str, name: str) -> RuleState:
        """Remove a rule and forward what it held, in order; returns its last counters."""
        return self._rulebook.remove(self._filtering(source, destination), name)

    def wire(self) -> Wire | None:
        """State of the wire log and counters of every link that it sees; None when none is kept.

        The log is asked first: what passes meanwhile is then counted by a link and not by the log, which
        holds more, never fewer, records than it said. Raises ``LinkError``.
        """
        if not self._logged:
            return None
        log = self._rest.call("GET", "/fencepost/log")
        names = [link_name(*pair) for pair in self._orders if self.filters(*pair)]
        return {"log": log, "links": {name: self._counters(name) for name in names}}

    def _counters(self, link: str) -> dict[str, int]:
        counters = self._rest.call("GET", f"/fencepost/links/{link}/counters")
        return {name: count for name, count in counters.items() if name != "rules"}

    def _path(self, source: str, destination: str) -> str:
        name = link_name(source, destination)
        if (source, destination) not in self._orders:
            near = get_close_matches(name, [link_name(*pair) for pair in self._orders], n=1, cutoff=0)
            raise UsageError(f"there is no link {name}", remedy=f"Did you mean {near[0]}?" if near else "")
        return f"/proxies/{name}"

    def _faultable(self, source: str, destination: str) -> str:
        if source == OBSERVER:
            raise UsageError(
                f"the link {link_name(source, destination)} is the observer's, and those are never faulted"
            )
        return self._path(source, destination)

    def _filtering(self, source: str, destination: str) -> str:
        self._faultable(source, destination)
        if not self.filters(source, destination):
            raise UsageError(
                f"the link {link_name(source, destination)} understands no messages",
                remedy="only links to bookies do",
            )
        return link_name(source, destination)

    def _held_by_rule(self, source: str, destination: str) -> tuple[Way, ...]:
        if not self.filters(source, destination):
            return ()
        ids = {state.id for state in self._rulebook.states(link_name(source, destination))}
        return tuple(way for way, rule in HOLDING.items() if rule.id in ids)

    def _add(self, path: str, kind: str, way: Way, attributes: Mapping[str, int]) -> None:
        toxic = {"name": f"{kind}-{way}", "type": kind, "stream": _STREAMS[way], "attributes": attributes}
        self._rest.call("POST", f"{path}/toxics", toxic)

    def _remove(self, path: str, kinds: Sequence[str]) -> None:
        for toxic in self._rest.call("GET", path)["toxics"]:
            if toxic["type"] in kinds:
                self._rest.call("DELETE", f"{path}/toxics/{toxic['name']}")

    def _expect(self, source: str, destination: str, reached: bool, what: str) -> None:
        if not reached:
            now = self.state(source, destination)
            raise LinkError(f"the link {link_name(source, destination)} was not {what}; the proxy says {now}")


def open_links(
    addresses: AddressPlan,
    sources: Mapping[str, int],
    bookies: Sequence[str],
    *,
    following: Sequence[str] = (),
    log: tuple[Path, int] | None = None,
) -> Links:
    """Create every link in one order, on the proxy process that listens at ``addresses.proxy``.

    ``sources`` maps each client, the observer and each bookie to its source number. Every source
    gets a link to ZooKeeper and to every bookie but itself; for the bookies in ``following`` it ends at
    ``zk2``, which has a link to ``zk1``. ``log`` is the folder of the wire log and the
    run's id, None where none is kept. Each answer of the proxy may take a minute. Raises ``LinkError``.
    """
    rest = Rest(addresses.proxy, _TIMEOUT_S)
    if log is not None:  # before the first link, or a frame that passed would be missing
        folder, run_id = log
        rest.call("POST", "/fencepost/log", {"path": str(folder.absolute()), "run_id": str(run_id)})
    pairs = [
        (source, destination)
        for source in sources
        for destination in (*bookies, ZOOKEEPER)
        if source != destination
    ]
    filtering: list[Proxy] = []
    plain: list[Proxy] = []
    for source, destination in pairs:
        server = FOLLOWER if destination == ZOOKEEPER and source in following else destination
        listen, upstream = addresses.link(sources[source], destination), addresses.direct(server)
        proxy = _proxy(link_name(source, destination), listen, upstream)
        (filtering if is_bookie(destination) else plain).append(proxy)
    if following:
        pairs.append((FOLLOWER, ZOOKEEPER))
        plain += _quorum(addresses)
    for path, some in (("/fencepost/links", filtering), ("/populate", plain)):
        _create(rest, path, some)
    return Links(rest, pairs, logged=log is not None)


def no_links(addresses: AddressPlan) -> Links:
    """The links of a cluster without a proxy: there are none."""
    return Links(Rest(addresses.proxy, _TIMEOUT_S), ())


def _create(rest: Rest, path: str, wanted: Sequence[Proxy]) -> None:
    made = {(link["name"], link["listen"]) for link in rest.call("POST", path, wanted)["proxies"]}
    missing = [link["name"] for link in wanted if (link["name"], link["listen"]) not in made]
    if missing:
        raise LinkError(f"the proxy did not create {len(missing)} of {len(wanted)} links: {missing[:5]}")


def _quorum(addresses: AddressPlan) -> Iterator[Proxy]:
    """How ``zk2`` reaches ``zk1``: the link on which it follows, and that of elections, without faults."""
    name, leader = link_name(FOLLOWER, ZOOKEEPER), addresses.direct(ZOOKEEPER)[0]
    for each, port in ((name, QUORUM_PORT), (f"{name}-election", ELECTION_PORT)):
        yield _proxy(each, (addresses.following, port), (leader, port))


def _proxy(name: str, listen: tuple[str, int], upstream: tuple[str, int]) -> Proxy:
    return {
        "name": name,
        "listen": f"{listen[0]}:{listen[1]}",
        "upstream": f"{upstream[0]}:{upstream[1]}",
        "enabled": True,
    }


def _state(proxy: Proxy, held_by_rule: Sequence[Way]) -> LinkState:
    toxics = proxy["toxics"]
    held = {_STREAMS[way] for way in held_by_rule}
    held |= {toxic["stream"] for toxic in toxics if toxic["type"] == _HOLD}
    latencies = [toxic["attributes"]["latency"] for toxic in toxics if toxic["type"] == _LATENCY]
    rates = [toxic["attributes"]["rate"] for toxic in toxics if toxic["type"] == _BANDWIDTH]
    return LinkState(
        cut=not proxy["enabled"],
        held=tuple(way for way, stream in _STREAMS.items() if stream in held),
        latency_ms=max(latencies, default=0),
        rate_bytes_per_s=max(rates, default=0) * _BYTES_PER_KILOBYTE,
    )


def _check_slowness(latency_ms: int, rate_bytes_per_s: int) -> None:
    if latency_ms < 0 or rate_bytes_per_s < 0 or not (latency_ms or rate_bytes_per_s):
        raise UsageError(
            f"slow needs a latency_ms or a rate_bytes_per_s above 0, not {latency_ms} and {rate_bytes_per_s}"
        )
    if rate_bytes_per_s % _BYTES_PER_KILOBYTE:
        raise UsageError(f"rate_bytes_per_s must be a multiple of 1000, not {rate_bytes_per_s}")
