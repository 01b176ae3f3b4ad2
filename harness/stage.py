"""The stage of one run: what the acts of a plan work with while it goes on.

Holds the cluster, the ledgers by name, the faults in force and the running loads. Knows nothing
of judging: what happens here is recorded by the clients, the keeper and the fault log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from cluster.interface import Client, Cluster
from evidence.folder import RunFolder
from evidence.names import NAMED
from evidence.recorders import Recorder
from harness.narrator import Narrator
from nemesis.active import Active
from plans.resolve import ResolvedPlan
from protocol.errors import UsageError


class Ledgers:
    """Ledgers by their name in the plan, and each client's handle on them."""

    def __init__(self, record: Recorder) -> None:
        self._ids: dict[str, int] = {}
        self._handles: dict[tuple[str, str], str] = {}
        self._opened = 0
        self._record = record
        self._lock = threading.Lock()

    def name(self, name: str, ledger: int) -> None:
        """Give a ledger its name; recorded, because verdicts speak of names."""
        with self._lock:
            self._ids[name] = ledger
        self._record.write({"step": NAMED, "ledger": ledger, "name": name, "at_ns": time.monotonic_ns()})

    def id(self, name: str) -> int:
        """The id of a named ledger; ``UsageError`` when no step has created it yet."""
        with self._lock:
            if name not in self._ids:
                known = ", ".join(sorted(self._ids)) or "none"
                raise UsageError(
                    f"ledger {name!r} was not created yet (created: {known})",
                    remedy="put a create step for it before this one",
                )
            return self._ids[name]

    def known(self) -> Mapping[str, int]:
        """Every named ledger so far."""
        with self._lock:
            return dict(self._ids)

    def new_handle(self, client: str, name: str) -> str:
        """A fresh handle of ``client`` on ledger ``name``; it replaces the former one."""
        with self._lock:
            self._opened += 1
            handle = f"{name}.{self._opened}"
            self._handles[(client, name)] = handle
            return handle

    def handles(self, name: str) -> list[tuple[str, str]]:
        """Every client's present handle on a ledger, as (client, handle)."""
        with self._lock:
            return [(client, handle) for (client, ledger), handle in self._handles.items() if ledger == name]

    def handle(self, client: str, name: str) -> str:
        """The client's present handle; ``UsageError`` when it has neither created nor opened it."""
        with self._lock:
            handle = self._handles.get((client, name))
        if handle is None:
            raise UsageError(
                f"client {client!r} has no handle on ledger {name!r}",
                remedy="let it create, open or recover the ledger in an earlier step",
            )
        return handle


@dataclass
class Load:
    """One background load: its thread, and how it is ended."""

    name: str
    stop: threading.Event
    thread: threading.Thread
    totals: dict[str, int] = field(default_factory=dict)
    error: BaseException | None = None


@dataclass
class Stage:
    """Everything an act may use."""

    cluster: Cluster
    faults: Active
    ledgers: Ledgers
    narrator: Narrator
    plan: ResolvedPlan
    folder: RunFolder
    steps: Recorder
    loads: dict[str, Load] = field(default_factory=dict)
    censuses: int = 0

    def client(self, name: str) -> Client:
        """A client of the plan by name."""
        return self.cluster.clients[name]

    def random(self, stream: str) -> Random:
        """The named random stream of this run; the same seed and name give the same numbers."""
        return self.plan.stream(stream)

    def next_census(self) -> int:
        """The number of the next census pass, from 1."""
        self.censuses += 1
        return self.censuses

    def observe_metadata(self) -> None:
        """Let the observer follow every ledger's metadata from here on."""
        self.cluster.observer.call("watch", timeout_s=30)

    def call(self, client: str, do: str, *, timeout_s: float = 120, **parameters: Any) -> dict[str, Any]:
        """One command of a client, and its reply."""
        return self.client(client).call(do, timeout_s=timeout_s, **parameters)
