"""Packets lost in a process's network: the power to drop them, beside those of :mod:`cluster.interface`.

The backend decides how.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Protocol, runtime_checkable


class Direction(StrEnum):
    """Direction of packets as seen by a process: received or sent."""

    INCOMING = "incoming"
    OUTGOING = "outgoing"


@runtime_checkable
class CanDropPackets(Protocol):
    """Can drop all packets of a server or client, one way or both, where each has a separate network."""

    def lacks_for_dropping(self) -> str | None:
        """Why it cannot on this machine, None when it can."""
        ...

    def drop_packets(self, name: str, ways: Collection[Direction]) -> None:
        """Drop in silence what goes these ways, and nothing else, from here on, whatever boots of it come.

        ``ServerError`` for a client that is down, which has no network, unless nothing is to be dropped.
        """
        ...

    def dropped_packets(self, name: str) -> Mapping[Direction, int]:
        """Number of packets dropped up to now, for each closed direction."""
        ...
