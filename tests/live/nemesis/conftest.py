"""A real proxy process and peers that stand where bookies would listen."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import harness.vocabulary  # noqa: F401  # registers every fault
from cluster.interface import ProcessState
from cluster.links import Links, open_links
from cluster.servers.answers import listening
from cluster.waiting import wait_until
from nemesis.nemesis import Nemesis
from protocol.addresses import FIRST_OCTET, LAST_OCTET, AddressPlan, client_numbers
from tests.live.nemesis.reader import PATIENCE_S, hang_up
from tests.nemesis_contract.fault_stories import Lines

PROXY = Path(__file__).parents[3] / "proxy" / "bin" / "fencepost-proxy"
SOURCES = {"b1": 1, "b2": 2, "b3": 3, **client_numbers(["writer", "recoverer"])}
BOOKIES = ["b1", "b2", "b3"]


class Peer:
    """What listens at a server's direct address: keeps what it receives, can answer."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._listener = socket.create_server(address)
        self._received = bytearray()
        self._read_to = 0
        self._newest: socket.socket | None = None
        self._changed = threading.Condition()
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, name="peer", daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with self._changed:
                    self._connections.append(connection)
                    self._changed.notify_all()
                reader = threading.Thread(target=self._read, args=(connection,), name="peer", daemon=True)
                self._threads.append(reader)
                reader.start()

    def _read(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                with self._changed:
                    self._received += data
                    self._newest = connection
                    self._changed.notify_all()

    def received(self, data: bytes, *, within_s: float = PATIENCE_S) -> bool:
        """Whether ``data`` comes in after all that was asked for before."""
        with self._changed:
            found = self._changed.wait_for(lambda: data in self._received[self._read_to :], within_s)
            if found:
                self._read_to = len(self._received)
            return found

    @property
    def everything(self) -> bytes:
        with self._changed:
            return bytes(self._received)

    def answer(self, data: bytes) -> None:
        """Send on the connection that asked last, or on the newest one."""
        with self._changed:
            assert self._changed.wait_for(lambda: bool(self._connections), PATIENCE_S)
            connection = self._newest or self._connections[-1]
        connection.sendall(data)

    def close(self) -> None:
        hang_up(self._listener, self._connections, self._threads)


class Proxy:
    """One proxy process on a separate address plan."""

    def __init__(self, addresses: AddressPlan, lease: socket.socket) -> None:
        if not PROXY.exists():
            raise FileNotFoundError(f"{PROXY} is not built; run scripts/setup")
        self.addresses = addresses
        self._lease = lease
        host, port = addresses.proxy
        self.process = subprocess.Popen(
            [PROXY, "-host", host, "-port", str(port), "-exit-on-eof"],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: (listening(addresses.proxy), "no answer"), PATIENCE_S, "the proxy")

    def links(self) -> Links:
        return open_links(self.addresses, SOURCES, BOOKIES)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self._lease.close()


def lease() -> tuple[AddressPlan, socket.socket]:
    for octet in range(LAST_OCTET, FIRST_OCTET - 1, -1):
        addresses = AddressPlan(octet)
        with contextlib.suppress(OSError):
            return addresses, socket.create_server(addresses.lease)
    raise AssertionError("every octet is leased")


@pytest.fixture
def new_proxy() -> Iterator[Callable[[], Proxy]]:
    with contextlib.ExitStack() as stack:

        def make() -> Proxy:
            proxy = Proxy(*lease())
            stack.callback(proxy.close)
            return proxy

        yield make


@pytest.fixture
def proxy(new_proxy: Callable[[], Proxy]) -> Proxy:
    return new_proxy()


@pytest.fixture
def addresses(proxy: Proxy) -> AddressPlan:
    return proxy.addresses


@pytest.fixture
def links(proxy: Proxy) -> Links:
    return proxy.links()


@pytest.fixture
def b1(addresses: AddressPlan) -> Iterator[Peer]:
    peer = Peer(addresses.direct("b1"))
    yield peer
    peer.close()


@pytest.fixture
def zk1(addresses: AddressPlan) -> Iterator[Peer]:
    peer = Peer(addresses.direct("zk1"))
    yield peer
    peer.close()


@pytest.fixture
def connect(addresses: AddressPlan) -> Iterator[Callable[..., socket.socket]]:
    """Connect to a server through the link of a source."""
    with contextlib.ExitStack() as stack:

        def make(source: str = "writer", destination: str = "b1") -> socket.socket:
            link = addresses.link(SOURCES[source], destination)
            connection = stack.enter_context(socket.create_connection(link, timeout=PATIENCE_S))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection

        yield make


@pytest.fixture
def cluster(links: Links) -> Any:
    """A cluster of which only the links are there; all processes run."""
    running = SimpleNamespace(state=ProcessState.RUNNING)
    return SimpleNamespace(links=links, process=lambda _name: running)


@pytest.fixture
def lines() -> Lines:
    return []


@pytest.fixture
def nemesis(cluster: Any, lines: Lines) -> Nemesis:
    return Nemesis(cluster, lambda line: lines.append(dict(line)))


@pytest.fixture(scope="module")
def number() -> Callable[[], int]:
    """Counts what a module makes on its cluster, so that names differ."""
    return count(1).__next__
