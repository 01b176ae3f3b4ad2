"""What a cluster is to those who use it: servers, clients, links, and their optional powers.

A backend implements these protocols; a fault asks with ``isinstance`` whether a server has the
power it needs. Everything here is blocking, thread-safe, and raises the errors of
:mod:`protocol.errors`. Nothing here says how a server is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cluster.messages import Rule, RuleState
from cluster.messages import Way as Way  # a word of this interface
from protocol.metadata import LedgerMetadata


class ProcessState(StrEnum):
    """What the harness knows of a process it owns."""

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


class Process(Protocol):
    """Anything that has lives: a bookie, ZooKeeper, a client."""

    @property
    def name(self) -> str:
        """Its name in the plan."""
        ...

    @property
    def boot(self) -> int:
        """Number of the present or last life, from 1; 0 before the first."""
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


@runtime_checkable
class CanKill(Protocol):
    """Can be ended with SIGKILL."""

    def kill(self) -> Exit:
        """End it at once and return when it is reaped."""
        ...


@runtime_checkable
class CanStop(Protocol):
    """Can be asked to end in order (SIGTERM)."""

    def stop(self, timeout_s: float = 30) -> Exit:
        """Ask it to end and return when it is reaped; ``ServerError`` when it does not."""
        ...


@runtime_checkable
class CanPause(Protocol):
    """Can be stopped and continued where it stands (SIGSTOP, SIGCONT)."""

    def pause(self) -> None:
        """Stop it; returns when the kernel reports every thread stopped."""
        ...

    def resume(self) -> None:
        """Continue it."""
        ...


@runtime_checkable
class CanTellCheckpoints(Protocol):
    """Can tell when it last wrote its journal's mark, which is how a bookie ends a checkpoint."""

    def marked_ns(self) -> int:
        """When that was, by the clock of its file system; 0 before the first."""
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
    """What the proxy says of one link: cut, held ways, slowness in ms and bytes per second (0 none)."""

    cut: bool
    held: tuple[Way, ...]
    latency_ms: int
    rate_bytes_per_s: int


class Links(Protocol):
    """All links of the run, by (source, destination); each order is confirmed by asking back."""

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Every link there is, observer's included."""
        ...

    def state(self, source: str, destination: str) -> LinkState:
        """Ask the proxy for one link's state."""
        ...

    def cut(self, source: str, destination: str) -> None:
        """Close its connections and refuse new ones."""
        ...

    def hold(self, source: str, destination: str, way: Way) -> None:
        """Stop forwarding that way, connections stay open (a silent partition).

        Where the link understands messages this waits for nobody; elsewhere until the receiver has
        read what is under way.
        """
        ...

    def slow(self, source: str, destination: str, *, latency_ms: int = 0, rate_bytes_per_s: int = 0) -> None:
        """Delay and narrow both ways."""
        ...

    def heal(self, source: str, destination: str) -> None:
        """Undo cut, hold and slow on one link; rules on messages stay.

        What was held goes on where the link understands messages; elsewhere its connections are reset.
        """
        ...


@runtime_checkable
class CanFilter(Protocol):
    """Links of which some understand messages and obey rules on them (an optional power of ``Links``)."""

    def filters(self, source: str, destination: str) -> bool:
        """Whether this link does."""
        ...

    def put_rule(self, source: str, destination: str, rule: Rule) -> RuleState:
        """Put a rule in force behind those that are; returns when the proxy lists it."""
        ...

    def rule(self, source: str, destination: str, name: str) -> RuleState:
        """The counters of a rule in force; ``LinkError`` when there is none of that id."""
        ...

    def remove_rule(self, source: str, destination: str, name: str) -> RuleState:
        """Take a rule out of force; what it held goes on. Its last counters."""
        ...


class Metadata(Protocol):
    """The metadata store as the harness sees it, past every link."""

    def registered(self) -> frozenset[str]:
        """Names of the bookies that are registered (writable or read-only)."""
        ...

    def ledger(self, ledger: int) -> tuple[LedgerMetadata, int] | None:
        """A ledger's metadata and its version, or None when there is none."""
        ...

    def touch(self, ledger: int) -> int:
        """Write a ledger's metadata anew, unchanged; its new version. ``ServerError`` when it cannot be."""
        ...

    def ledgers(self) -> list[int]:
        """The ids of all ledgers, ascending."""
        ...


class Cluster(Protocol):
    """Everything that was started for one run."""

    @property
    def zookeeper(self) -> Process:
        """The metadata store's server."""
        ...

    @property
    def bookies(self) -> Mapping[str, Process]:
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

    def answer(self, bookie: str, ledger: int, entry: int, *, timeout_s: float = 2) -> int | None:
        """The status of a plain V3 read sent straight to the bookie: 0, 402, 403, 507, ...

        None when no answer came in time.
        """
        ...

    def wire(self) -> Mapping[str, Any] | None:
        """The wire log's state and every link's counters, now; None when no log is kept."""
        ...

    def unplanned(self) -> list[Exit]:
        """Deaths that nobody ordered, in order of time."""
        ...

    def log(self, name: str) -> Path:
        """The log file of a server's present or last boot."""
        ...
