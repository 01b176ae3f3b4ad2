"""Where every server and link of a run listens, as pure arithmetic over 127/8.

A run leases one octet L; all of its addresses lie in 127.L.0.0/16, so runs on one machine
never meet. Source number s and destination number d give the link 127.L.s.d; s = 0 is the
destination itself, past every link. Only numbers live here: nothing is bound or resolved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BOOKIE_PORT = 3181
ZOOKEEPER_PORT = 2181
PROXY_PORT = 8474
LEASE_PORT = 8470
MAX_BOOKIES = 99
MAX_CLIENTS = 99
ZOOKEEPER = "zk1"
OBSERVER = "observer"
PROXY = "proxy"
FIRST_OCTET, LAST_OCTET = 1, 239
_ZOOKEEPER_NUMBER = 201
_OBSERVER_NUMBER = 250
_PROXY_NUMBER = 250
_LEASE_NUMBER = 254
NAME = re.compile(r"[a-z][a-z0-9]{0,15}")


def bookie_name(number: int) -> str:
    """``b1`` for 1, and so on; ``ValueError`` outside 1..99."""
    if not 1 <= number <= MAX_BOOKIES:
        raise ValueError(f"bookie number {number} is outside 1..{MAX_BOOKIES}")
    return f"b{number}"


def bookie_number(name: str) -> int:
    """1 for ``b1``; ``ValueError`` for a name that is no bookie's."""
    if not re.fullmatch(r"b[1-9][0-9]?", name):
        raise ValueError(f"{name!r} is no bookie's name (b1..b{MAX_BOOKIES})")
    return int(name[1:])


def is_bookie(name: str) -> bool:
    """Whether ``name`` has the form of a bookie's name."""
    return re.fullmatch(r"b[1-9][0-9]?", name) is not None


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
        if destination == ZOOKEEPER:
            return f"127.{self.octet}.{source}.{_ZOOKEEPER_NUMBER}", ZOOKEEPER_PORT
        return f"127.{self.octet}.{source}.{bookie_number(destination)}", BOOKIE_PORT

    @property
    def proxy(self) -> tuple[str, int]:
        """The proxy's REST API."""
        return f"127.{self.octet}.0.{_PROXY_NUMBER}", PROXY_PORT

    @property
    def lease(self) -> tuple[str, int]:
        """The socket whose bind is the lease."""
        return f"127.{self.octet}.0.{_LEASE_NUMBER}", LEASE_PORT


def link_name(source: str, destination: str) -> str:
    """The name of the link from ``source`` to ``destination``, ``writer-b2``."""
    return f"{source}-{destination}"
