"""The links between all sources and servers: one toxiproxy proxy each, ordered over its REST API.

This is the only module that knows toxiproxy. What it does to the words of
:class:`cluster.interface.Links`, read in toxiproxy 2.12:

- *cut* disables the proxy: its connections are closed and new ones are refused.
- *hold* is a ``timeout`` toxic with timeout 0: what is sent that way is swallowed, the
  connections stay open, and new ones are accepted (the proxy itself accepts them). A close is
  still passed on. What was swallowed is gone: removing the toxic closes the connections it
  held, and it does so in both directions.
- *slow* delays each way by the latency, so a round trip by twice as much.
- *heal* removes slowness first and holds last. The other order could leave a toxic that waits
  for ever to hand on its data, and toxiproxy would then answer nothing more about that link.
- An order that adds or removes a toxic waits until the receiver has read what is under way. A
  receiver that does not read (a paused server under load) makes toxiproxy wait for ever, and then
  it answers nothing more about that link: ``LinkError``, for that order and all later ones.
  A link that is to be cut or held should be so before its receiver is paused.

``toxiproxy-python`` keeps the server's address in one class for the whole process and asks
without a time-out. Each :class:`_Rest` therefore has its own subclass of that class, which makes
its calls independent of other runs and safe in threads, and passes a time-out each time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import requests
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists
from toxiproxy.toxic import Toxic

from cluster.interface import LinkState, Way
from protocol.addresses import OBSERVER, ZOOKEEPER, AddressPlan, link_name
from protocol.errors import LinkError, UsageError

CLEAR = LinkState(cut=False, held=(), latency_ms=0, rate_bytes_per_s=0)
_TIMEOUT_S = 10.0
_START_TIMEOUT_S = 10.0
_BYTES_PER_KILOBYTE = 1000
_STREAMS = {Way.REQUESTS: "upstream", Way.ANSWERS: "downstream"}
_HOLD, _LATENCY, _BANDWIDTH = "timeout", "latency", "bandwidth"


class _Rest:
    """Calls to one toxiproxy server; each error of theirs becomes a ``LinkError``."""

    def __init__(self, address: tuple[str, int], timeout_s: float) -> None:
        host, port = address
        self._consumer: Any = type("Consumer", (APIConsumer,), {"host": host, "port": port})
        self._where = f"{host}:{port}"
        self._timeout_s = timeout_s

    def get(self, path: str) -> Any:
        return self._call("get", path)

    def post(self, path: str, body: Any) -> Any:
        return self._call("post", path, json=body)

    def delete(self, path: str) -> None:
        self._call("delete", path)

    def wait(self, timeout_s: float) -> None:
        """Return when the server answers; ``LinkError`` after ``timeout_s``."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self.get("/version")
                return
            except LinkError as error:
                if time.monotonic() > deadline:
                    raise LinkError(
                        f"the proxy at {self._where} did not answer within {timeout_s:g} s; last: {error}"
                    ) from error
                time.sleep(0.02)

    def _call(self, verb: str, path: str, **body: Any) -> Any:
        order = f"{verb.upper()} {path} at {self._where}"
        # An empty proxy keeps requests from sending loopback traffic to one named in the environment.
        options = {"timeout": self._timeout_s, "proxies": {"http": ""}, **body}
        try:
            response: requests.Response = getattr(self._consumer, verb)(path, **options)
            if response.ok:
                return response.json() if response.content else None
        except (NotFound, ProxyExists, InvalidToxic) as error:
            raise LinkError(f"the proxy refused {order}: {error}") from error
        except requests.RequestException as error:
            raise LinkError(f"the proxy did not answer {order}: {error}") from error
        raise LinkError(f"the proxy failed at {order}: {response.status_code} {response.text.strip()}")


class ToxiproxyLinks:
    """All links of one run, as :class:`cluster.interface.Links`; made by :func:`open_links`."""

    def __init__(self, rest: _Rest, pairs: Sequence[tuple[str, str]]) -> None:
        self._rest = rest
        self._orders = {pair: threading.Lock() for pair in pairs}

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Every (source, destination), observer's included."""
        return tuple(self._orders)

    def state(self, source: str, destination: str) -> LinkState:
        """What the proxy says of the link now; ``LinkError`` when it does not say."""
        return _state(self._rest.get(self._path(source, destination)))

    def cut(self, source: str, destination: str) -> None:
        """Close the link's connections and refuse new ones."""
        path = self._faultable(source, destination)
        with self._orders[source, destination]:
            self._rest.post(path, {"enabled": False})
            self._expect(source, destination, self.state(source, destination).cut, "cut")

    def hold(self, source: str, destination: str, way: Way) -> None:
        """Swallow what is sent that way from here on; a way that is held already stays so."""
        path = self._faultable(source, destination)
        wanted = set(_STREAMS) if way is Way.BOTH else {way}
        with self._orders[source, destination]:
            for one in wanted - set(self.state(source, destination).held):
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
        """Undo everything done to the link; connections that were held are closed by this."""
        path = self._faultable(source, destination)
        with self._orders[source, destination]:
            self._remove(path, (_LATENCY, _BANDWIDTH))
            self._remove(path, (_HOLD,))
            self._rest.post(path, {"enabled": True})
            self._expect(source, destination, self.state(source, destination) == CLEAR, "healed")

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

    def _add(self, path: str, kind: str, way: Way, attributes: Mapping[str, int]) -> None:
        toxic = {"name": f"{kind}-{way}", "type": kind, "stream": _STREAMS[way], "attributes": attributes}
        self._rest.post(f"{path}/toxics", toxic)

    def _remove(self, path: str, kinds: Sequence[str]) -> None:
        for toxic in _toxics(self._rest.get(path)):
            if toxic.type in kinds:
                self._rest.delete(f"{path}/toxics/{toxic.name}")

    def _expect(self, source: str, destination: str, reached: bool, what: str) -> None:
        if not reached:
            now = self.state(source, destination)
            raise LinkError(f"the link {link_name(source, destination)} was not {what}; the proxy says {now}")


def open_links(
    addresses: AddressPlan,
    sources: Mapping[str, int],
    bookies: Sequence[str],
    *,
    start_timeout_s: float = _START_TIMEOUT_S,
    timeout_s: float = _TIMEOUT_S,
) -> ToxiproxyLinks:
    """Create every link in one order, on the proxy process that listens at ``addresses.proxy``.

    ``sources`` maps each client, the observer and each bookie to its source number. Every source
    gets a link to ZooKeeper and to every bookie but itself. Waits ``start_timeout_s`` for the
    proxy's first answer; ``timeout_s`` bounds each later request. Raises ``LinkError``.
    """
    rest = _Rest(addresses.proxy, timeout_s)
    rest.wait(start_timeout_s)
    pairs = [
        (source, destination)
        for source in sources
        for destination in (*bookies, ZOOKEEPER)
        if source != destination
    ]
    wanted = [_proxy(addresses, sources[source], source, destination) for source, destination in pairs]
    made = {(link["name"], link["listen"]) for link in rest.post("/populate", wanted)["proxies"]}
    missing = [link["name"] for link in wanted if (link["name"], link["listen"]) not in made]
    if missing:
        raise LinkError(f"the proxy did not create {len(missing)} of {len(wanted)} links: {missing[:5]}")
    return ToxiproxyLinks(rest, pairs)


def _proxy(addresses: AddressPlan, number: int, source: str, destination: str) -> dict[str, Any]:
    listen, upstream = addresses.link(number, destination), addresses.direct(destination)
    return {
        "name": link_name(source, destination),
        "listen": f"{listen[0]}:{listen[1]}",
        "upstream": f"{upstream[0]}:{upstream[1]}",
        "enabled": True,
    }


def _toxics(proxy: Mapping[str, Any]) -> list[Toxic]:
    return [Toxic(**toxic) for toxic in proxy["toxics"]]


def _state(proxy: Mapping[str, Any]) -> LinkState:
    toxics = _toxics(proxy)
    held = {toxic.stream for toxic in toxics if toxic.type == _HOLD}
    latencies = [toxic.attributes["latency"] for toxic in toxics if toxic.type == _LATENCY]
    rates = [toxic.attributes["rate"] for toxic in toxics if toxic.type == _BANDWIDTH]
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
