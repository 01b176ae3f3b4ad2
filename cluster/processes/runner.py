"""What a backend supplies: who runs the processes of a cluster, and where their programs are.

The backends differ in this and in their addresses only. Knows boots, signals and descriptors, nothing of
BookKeeper.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

BOOKIE, ZOOKEEPER, CLIENT = "bookie", "zookeeper", "client"
"""Roles of Java programs; autorecovery and admin commands have a bookie's."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: exit code, or the signal that ended it, and when (monotonic ns)."""

    server: str
    boot: int
    code: int | None
    signal: int | None
    at_ns: int

    @property
    def how(self) -> str:
        """``exit code 2`` or ``signal 9``."""
        return f"signal {self.signal}" if self.signal is not None else f"exit code {self.code}"

    @property
    def unplanned(self) -> str:
        """The same as a phrase, where the harness did not cause it; no process sends SIGKILL to itself."""
        if self.signal == signal.SIGKILL:
            return "was killed by a SIGKILL that the harness did not send"
        return f"ended on its own with {self.how}"


@dataclass(frozen=True, slots=True)
class Launch:
    """How one boot is started.

    A process that ``converses`` reads commands from standard input and writes replies to standard output; all
    other output of any process is its log. ``home`` is where its program is (:class:`Java`).
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    converses: bool = False
    home: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """A running boot: its pid on this machine, and our descriptors if it has a command channel.

    ``ends`` are where its commands are written and where its replies are read; the receiver closes them.
    """

    pid: int
    ends: tuple[int, int] | None = None


class Runner(Protocol):
    """Starts and signals processes by name, and reports every end; all of them end with the run."""

    def on_exit(self, listener: Callable[[Exit], None]) -> None:
        """Call ``listener`` for each exit from now on; it must be quick and order nothing."""
        ...

    def start(self, name: str, boot: int, launch: Launch, *, folder: Path, log: Path) -> Started:
        """Start a boot in its folder, its output appended to ``log``. ``ServerError`` when it cannot be."""
        ...

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send a signal to a process; its pid, ``ServerError`` when none of that name runs."""
        ...


class PacketDirection(StrEnum):
    """Direction of packets as seen by a process: received or sent."""

    INCOMING = "incoming"
    OUTGOING = "outgoing"


@runtime_checkable
class Networks(Protocol):
    """The networks of servers and clients, where the backend gives each its own."""

    def disconnect(self, name: str) -> None:
        """Take a process off its network: nothing reaches it or leaves it, and no connection is closed."""
        ...

    def connect(self, name: str) -> None:
        """Connect it again with its former address; no effect when it is connected."""
        ...

    def connected(self, name: str) -> bool:
        """Whether it is on its network."""
        ...

    def lacks_for_dropping(self) -> str | None:
        """Why no packets can be dropped on this machine, None when they can."""
        ...

    def drop_packets(self, name: str, ways: Collection[PacketDirection]) -> None:
        """Drop in silence what goes these ways, and nothing else, from here on, whatever boots of it come.

        ``ServerError`` for a client that is down, which has no network, unless ``ways`` is empty.
        """
        ...

    def dropped_packets(self, name: str) -> Mapping[PacketDirection, int]:
        """Number of packets dropped up to now, for each closed direction."""
        ...


@dataclass(frozen=True, slots=True)
class Java:
    """A JVM with the jars of a release; ``options`` are those about its class-data archive.

    ``home`` is the name of the image that contains it, where a backend has more than one.
    """

    command: str
    class_path: str
    options: tuple[str, ...] = ()
    home: str = ""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one backend, by paths as the processes see them.

    ``machine`` is the host name that a process sees as its machine's. ``java`` gives what runs a
    program of a release (version, role), ``proxy`` the path of the proxy's program.
    """

    machine: str
    java: Callable[[str, str], Java]
    proxy: Callable[[], str]
