"""Which of the address blocks 10.L/16 this machine uses already, so that no run takes one of them."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

_ROUTES = Path("/proc/net/route")
_LEAST_PREFIX = 9
"""A route that covers more than half of 10/8 says nothing of any one block; more exact ones win over it."""


def taken_octets(routes: Path = _ROUTES) -> list[int]:
    """Every L for which some route of this machine leads into 10.L/16."""
    taken: set[int] = set()
    for network in _networks(routes.read_text().splitlines()[1:]):
        if network.prefixlen >= _LEAST_PREFIX and network.subnet_of(ipaddress.IPv4Network("10.0.0.0/8")):
            first, last = network.network_address.packed[1], network.broadcast_address.packed[1]
            taken.update(range(first, last + 1))
    return sorted(taken)


def _networks(lines: Iterable[str]) -> Iterator[ipaddress.IPv4Network]:
    for line in lines:
        words = line.split()
        destination, mask = (_address(words[column]) for column in (1, 7))
        yield ipaddress.IPv4Network(f"{destination}/{mask}")


def _address(word: str) -> ipaddress.IPv4Address:
    """An address as the kernel prints it: the bytes in memory read as a number of this machine."""
    return ipaddress.IPv4Address(struct.pack("=I", int(word, 16)))
