"""Where every server and link of a run listens, as pure arithmetic over 127/8 or, with bridges, 10/8.

A run leases one octet L; all of its addresses lie in 127.L.0.0/16, so runs on one machine
never meet. Source number s and destination number d give the link 127.L.s.d; s = 0 is the
destination itself, past every link. In containers source s has a separate network 10.L.s.0/24
with the same links 10.L.s.d, and itself is 10.L.s.s. Only computes numbers: binds and resolves nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BOOKIE_PORT = 3181
ZOOKEEPER_PORT = 2181
PROXY_PORT = 8474
QUORUM_PORT, ELECTION_PORT = 2888, 3888
LEASE_PORT = 8470
MAX_BOOKIES = 99
MAX_CLIENTS = 99
ZOOKEEPER = "zk1"
FOLLOWER = "zk2"
"""A second server of ZooKeeper that does not vote: it applies what ``zk1`` sends it."""
OBSERVER = "observer"
PROXY = "proxy"
ADMIN = "admin"
"""The source of admin commands: it has separate links, like an operator's machine."""
ADMIN_NUMBER = 240
MAX_AUTORECOVERY = 9
FIRST_OCTET, LAST_OCTET = 1, 239
_ZOOKEEPER_NUMBER = 201
_FOLLOWER_NUMBER = 202
_OBSERVER_NUMBER = 250
_AUTORECOVERY_NUMBER = 220
_PROXY_NUMBER = 250
_LEASE_NUMBER = 254
_ZOOKEEPERS = {ZOOKEEPER: _ZOOKEEPER_NUMBER, FOLLOWER: _FOLLOWER_NUMBER}
_BRIDGED_PROXY_NUMBER, _GATEWAY_NUMBER = 252, 254
NAME = re.compile(r"[a-z][a-z0-9]{0,15}")


def bookie_name(number: int) -> str:
    """``b1`` for 1, and so on; ``ValueError`` outside 1..99."""
    if not 1 <= number <= MAX_BOOKIES:
        raise ValueError(f"bookie number {number} is outside 1..{MAX_BOOKIES}")
    return f"b{number}"


def bookie_number(name: str) -> int:
    """1 for ``b1``; ``ValueError`` for a name that is no bookie's."""
    if not is_bookie(name):
        raise ValueError(f"{name!r} is no bookie's name (b1..b{MAX_BOOKIES})")
    return int(name[1:])


def server_number(name: str) -> int:
    """The destination number of a ZooKeeper server or of a bookie; ``ValueError`` for other names."""
    return _ZOOKEEPERS[name] if name in _ZOOKEEPERS else bookie_number(name)


def is_bookie(name: str) -> bool:
    """Whether ``name`` has the form of a bookie's name."""
    return re.fullmatch(r"b[1-9][0-9]?", name) is not None


def autorecovery_names(processes: int) -> list[str]:
    """``ar1`` .. ``arN``: processes with an auditor and a replication worker."""
    if not 0 <= processes <= MAX_AUTORECOVERY:
        raise ValueError(f"{processes} autorecovery processes are outside 0..{MAX_AUTORECOVERY}")
    return [f"ar{number}" for number in range(1, processes + 1)]


def is_autorecovery(name: str) -> bool:
    """Whether ``name`` has the form of an autorecovery process's name."""
    return re.fullmatch(r"ar[1-9]", name) is not None


def is_under_test(name: str) -> bool:
    """Whether it is the name of a server under test: what it does on its own is a result of the run."""
    return is_bookie(name) or is_autorecovery(name)


def autorecovery_number(name: str) -> int:
    """The source number of ``ar1`` and so on; ``ValueError`` for other names."""
    if not is_autorecovery(name):
        raise ValueError(f"{name!r} is no autorecovery process's name (ar1..ar{MAX_AUTORECOVERY})")
    return _AUTORECOVERY_NUMBER + int(name[2:])


def client_numbers(names: list[str]) -> dict[str, int]:
    """The source number of each client, in the order of the plan; the observer has its own."""
    if len(names) > MAX_CLIENTS:
        raise ValueError(f"{len(names)} clients are more than {MAX_CLIENTS}")
    numbers = {name: 100 + index for index, name in enumerate(names, start=1)}
    numbers[OBSERVER] = _OBSERVER_NUMBER
    return numbers


def bookie_id(name: str) -> str:
    """The id under which BookKeeper's metadata knows the bookie, ``b1:3181``."""
    return f"{name}:{BOOKIE_PORT}"


def name_of_id(identity: str) -> str:
    """The inverse of :func:`bookie_id`; an id of another form comes back whole."""
    host, _, port = identity.rpartition(":")
    return host if port == str(BOOKIE_PORT) else identity


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """All addresses of one run, from its leased octet (1..239)."""

    octet: int

    def __post_init__(self) -> None:
        if not FIRST_OCTET <= self.octet <= LAST_OCTET:
            raise ValueError(f"octet {self.octet} is outside {FIRST_OCTET}..{LAST_OCTET}")

    def direct(self, server: str) -> tuple[str, int]:
        """The address a bookie or ZooKeeper itself listens on."""
        return self.link(0, server)

    def link(self, source: int, destination: str) -> tuple[str, int]:
        """The address on which ``destination`` is reached by source number ``source``."""
        number = server_number(destination)
        return f"127.{self.octet}.{source}.{number}", _port(destination)

    @property
    def following(self) -> str:
        """The host on which ``zk2`` reaches ``zk1``, on the ports of the quorum and of its elections."""
        return self.link(_FOLLOWER_NUMBER, ZOOKEEPER)[0]

    @property
    def proxy(self) -> tuple[str, int]:
        """The proxy's REST API."""
        return f"127.{self.octet}.0.{_PROXY_NUMBER}", PROXY_PORT

    @property
    def lease(self) -> tuple[str, int]:
        """The socket whose bind is the lease."""
        return f"127.{self.octet}.0.{_LEASE_NUMBER}", LEASE_PORT


@dataclass(frozen=True, slots=True)
class BridgedPlan(AddressPlan):
    """The addresses of a run whose servers and clients have one network each; the proxy is in all of them.

    A number's network contains only itself, the proxy with the links that begin there, and the
    machine; so a process in it reaches others only through its own links.
    """

    def direct(self, server: str) -> tuple[str, int]:
        """A server's address in its own network."""
        return self.own(server_number(server)), _port(server)

    def link(self, source: int, destination: str) -> tuple[str, int]:
        """The proxy's address in the source's network for a destination; the server itself for source 0."""
        if source == 0:
            return self.direct(destination)
        return self._in(source, server_number(destination)), _port(destination)

    @property
    def proxy(self) -> tuple[str, int]:
        """The proxy's REST API, in ZooKeeper's network."""
        return self.proxy_in(_ZOOKEEPER_NUMBER), PROXY_PORT

    def network(self, number: int) -> str:
        """The network of a source or server."""
        return f"{self._in(number, 0)}/24"

    def gateway(self, number: int) -> str:
        """The machine's address in that network."""
        return self._in(number, _GATEWAY_NUMBER)

    def own(self, number: int) -> str:
        """The address of the process in that network."""
        return self._in(number, number)

    def proxy_in(self, number: int) -> str:
        """The proxy's own address in that network."""
        return self._in(number, _BRIDGED_PROXY_NUMBER)

    def _in(self, network: int, number: int) -> str:
        return f"10.{self.octet}.{network}.{number}"


def _port(server: str) -> int:
    return ZOOKEEPER_PORT if server in _ZOOKEEPERS else BOOKIE_PORT


def link_name(source: str, destination: str) -> str:
    """The name of the link from ``source`` to ``destination``, ``writer-b2``."""
    return f"{source}-{destination}"
