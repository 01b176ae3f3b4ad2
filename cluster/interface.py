"""The interface of a cluster: servers, clients, links, metadata, networks.

A backend implements these protocols; only networks of processes are not in every backend. All methods
are blocking and thread-safe, and raise the errors of :mod:`protocol.errors`. Independent of how a server
is made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cluster.disks import Disk
from cluster.messages import Rule, RuleState
from cluster.messages import Way as Way  # a word of this interface
from protocol.metadata import LedgerMetadata

_TOLD_CHARACTERS = 160


class ProcessState(StrEnum):
    """State of a process that the harness owns."""

    DOWN = "down"
    RUNNING = "running"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: exit code, or the signal that ended it, and when (monotonic ns)."""

    server: str
    boot: int
    code: int | None
    signal: int | None
    at_ns: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A boot that ended although the harness did not stop it, and the lines of its log that say why."""

    ended: Exit
    told: tuple[str, ...]

    def __str__(self) -> str:
        how = (
            f"signal {self.ended.signal}" if self.ended.signal is not None else f"exit code {self.ended.code}"
        )
        why = self.told[0][:_TOLD_CHARACTERS] if self.told else "(its log says nothing)"
        return f"{self.ended.server} (boot {self.ended.boot}) refused with {how}: {why}"


class Process(Protocol):
    """A process with boots: a bookie, ZooKeeper, a client."""

    @property
    def name(self) -> str:
        """Its name in the plan."""
        ...

    @property
    def boot(self) -> int:
        """Number of the present or last boot, from 1; 0 before the first."""
        ...

    @property
    def state(self) -> ProcessState:
        """Down, running or paused, as last observed."""
        ...

    def start(self, *, conf: Mapping[str, str] | None = None, version: str | None = None) -> None:
        """Begin the next boot, not waiting for readiness.

        ``conf`` and ``version`` replace settings from this boot on.
        """
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Climb the readiness ladder to its last rung; ``NotReadyError`` names the rung it stopped at."""
        ...

    def kill(self) -> Exit:
        """End it at once (SIGKILL) and return when it is reaped."""
        ...

    def stop(self, timeout_s: float = 30) -> Exit:
        """Ask it to end (SIGTERM) and return when it is reaped; ``ServerError`` when it does not."""
        ...

    def pause(self) -> None:
        """Suspend it (SIGSTOP); returns when the kernel reports every thread stopped."""
        ...

    def resume(self) -> None:
        """Continue the paused process (SIGCONT)."""
        ...

    def allow_refusal(self) -> None:
        """Let the next boot end on its own, until it is ready; that is then no unplanned death."""
        ...

    def allow_end(self) -> None:
        """Let the present boot end on its own from now on, because a fault may cause that."""
        ...

    def refusal(self) -> Refusal | None:
        """How the present or last boot ended on its own; None while it runs or after an ordered stop."""
        ...

    def session_ended(self) -> bool:
        """Whether that boot shut itself down because its ZooKeeper session expired; no unplanned death."""
        ...

    def capture_disk(self) -> None:
        """Copy a bookie's files now, while they are as its death left them; once for each unclean death.

        Called by the code that ends it, when the death is complete (a power loss: after the mount), and by
        the code that changes its files while it is down, before the change. No effect while it runs, nor on
        other processes.
        """
        ...


class Store(Process, Protocol):
    """A server that keeps its state in files: a bookie, or ZooKeeper."""

    def places(self) -> Mapping[str, Path]:
        """The folders by what they hold, as this process sees them: of a bookie ``journal``, ``ledgers``."""
        ...

    def snapshot(self, name: str) -> Path:
        """Copy its files as they are now; the copy's folder has one folder for each of its places."""
        ...

    def snapshots(self) -> Mapping[str, Path]:
        """The copies by their names."""
        ...


class Bookie(Store, Protocol):
    """A bookie, on dedicated disks if the plan asks for them."""

    def marked_ns(self) -> int:
        """When it last wrote its journal's mark, which ends a checkpoint; 0 before the first.

        By the clock of its file system.
        """
        ...

    def disks(self) -> Mapping[str, Disk]:
        """Its disks by name; empty when the plan gave it none."""
        ...


class ZooKeeper(Store, Protocol):
    """The metadata store's server, whose content can be replaced while it is down."""

    def put_back(self, to: str | None, *, new_cluster: bool = False) -> Mapping[str, Any]:
        """Start again with the content of the snapshot ``to``, or with no content; the old log is kept.

        ``new_cluster`` adds the content of a new cluster. The store continues its transaction numbers, so
        that its clients reconnect. Facts: ``life`` (from 2), ``zxid`` of the new content, ``from`` the last
        transaction in it, ``last`` the last transaction before the end, as hexadecimal numbers.
        """
        ...


class Direction(StrEnum):
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

    def drop_packets(self, name: str, ways: Collection[Direction]) -> None:
        """Drop in silence what goes these ways, and nothing else, from here on, whatever boots of it come.

        ``ServerError`` for a client that is down, which has no network, unless nothing is to be dropped.
        """
        ...

    def dropped_packets(self, name: str) -> Mapping[Direction, int]:
        """Number of packets dropped up to now, for each closed direction."""
        ...


class Client(Process, Protocol):
    """A client process: commands in, replies out; its operations go to its own history."""

    @property
    def number(self) -> int:
        """Its source number, as in ``run.json``."""
        ...

    def submit(self, do: str, **parameters: Any) -> Future[dict[str, Any]]:
        """Send one command; the future gives the reply, also a reply that says ``ok: false``.

        It raises ``ClientError`` when the process ends before the reply.
        """
        ...

    def call(self, do: str, *, timeout_s: float, **parameters: Any) -> dict[str, Any]:
        """``submit`` and wait; ``NotReadyError`` when no reply came in time."""
        ...


@dataclass(frozen=True, slots=True)
class LinkState:
    """The proxy's report on one link: cut, held ways, slowness in ms and bytes per second (0 none)."""

    cut: bool
    held: tuple[Way, ...]
    latency_ms: int
    rate_bytes_per_s: int


class Links(Protocol):
    """All links of the run, by (source, destination); each change is confirmed by a query."""

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Every link, including the observer's."""
        ...

    def state(self, source: str, destination: str) -> LinkState:
        """Ask the proxy for one link's state."""
        ...

    def cut(self, source: str, destination: str) -> None:
        """Close its connections and refuse new ones."""
        ...

    def hold(self, source: str, destination: str, way: Way) -> None:
        """Stop forwarding that way, connections stay open (a silent partition).

        Returns at once where the link understands messages; elsewhere it waits until the receiver has read
        everything in transit.
        """
        ...

    def slow(self, source: str, destination: str, *, latency_ms: int = 0, rate_bytes_per_s: int = 0) -> None:
        """Delay both ways and limit their rates."""
        ...

    def heal(self, source: str, destination: str) -> None:
        """Undo cut, hold and slow on one link; rules on messages stay.

        Held data is forwarded where the link understands messages; elsewhere its connections are reset.
        """
        ...

    def filters(self, source: str, destination: str) -> bool:
        """Whether this link understands messages, and so rules on them; those to bookies do."""
        ...

    def put_rule(self, source: str, destination: str, rule: Rule) -> RuleState:
        """Put a rule in force after the existing rules; returns when the proxy lists it."""
        ...

    def rule(self, source: str, destination: str, name: str) -> RuleState:
        """The counters of a rule in force; ``LinkError`` for an unknown id."""
        ...

    def remove_rule(self, source: str, destination: str, name: str) -> RuleState:
        """Remove a rule and forward what it held; returns its last counters."""
        ...


class Metadata(Protocol):
    """The metadata store as the harness sees it, past every link."""

    def registered(self) -> frozenset[str]:
        """Names of the bookies that are registered (writable or read-only)."""
        ...

    def writable(self) -> frozenset[str]:
        """Names of the bookies that accept adds."""
        ...

    def ledger(self, ledger: int) -> tuple[LedgerMetadata, int] | None:
        """A ledger's metadata and its version, or None when the ledger does not exist."""
        ...

    def touch(self, ledger: int) -> int:
        """Rewrite a ledger's metadata unchanged; its new version. ``ServerError`` when that fails."""
        ...

    def long_ids(self) -> None:
        """Let clients that have not created a ledger yet get ids beyond 31 bits."""
        ...

    def ledgers(self) -> list[int]:
        """The ids of all ledgers, ascending."""
        ...

    def cookie(self, bookie: str) -> bytes | None:
        """The stored cookie of a bookie; None when there is no cookie."""
        ...

    def forget_cookie(self, bookie: str) -> None:
        """Remove a bookie's cookie, if it exists."""
        ...


class Cluster(Protocol):
    """All processes and links of one run."""

    @property
    def zookeeper(self) -> ZooKeeper:
        """The metadata store's server."""
        ...

    @property
    def bookies(self) -> Mapping[str, Bookie]:
        """Bookies by name."""
        ...

    @property
    def clients(self) -> Mapping[str, Client]:
        """The plan's clients by name."""
        ...

    @property
    def observer(self) -> Client:
        """The client on links that no fault touches."""
        ...

    @property
    def links(self) -> Links:
        """Every link of the run."""
        ...

    @property
    def metadata(self) -> Metadata:
        """The metadata store as the harness reads it."""
        ...

    def process(self, name: str) -> Process:
        """Any process by name; ``UsageError`` names the nearest."""
        ...

    def bookie(self, name: str) -> Bookie:
        """A bookie by name; ``UsageError`` when there is none, or it is another kind of process."""
        ...

    def answer(self, bookie: str, ledger: int, entry: int, *, timeout_s: float = 20) -> int | None:
        """The status of a plain V3 read sent straight to the bookie: 0, 402, 403, 507, ...

        None when no answer came in time.
        """
        ...

    def wire(self) -> Mapping[str, Any] | None:
        """The wire log's state and every link's counters, now; None when no log is kept."""
        ...

    def unplanned(self) -> list[Exit]:
        """Deaths that the harness did not cause, in order of time."""
        ...

    @property
    def networks(self) -> Networks | None:
        """The networks of processes, None where they share the machine's."""
        ...

    def log(self, name: str) -> Path:
        """The log file of a server's present or last boot."""
        ...
