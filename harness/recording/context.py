"""The state of one run in progress, which the actions of a plan use; and what went otherwise than planned.

Holds the cluster, the ledgers by name, the faults in force and the running loads. Independent of
judging: the clients, the keeper and the fault log record what happens here.

Deviations from the plan are kept apart from errors of the harness and the machine, and noted. A server under
test that dies, refuses or does not become ready, a condition that never holds and a step with another outcome
are results. The run skips its other steps, is observed as far as possible, and judged.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from cluster.commands import Commands, within
from cluster.interface import Client, Cluster, Exit
from evidence.collect.logs import GrowingLog, LogEvent
from evidence.folder import RunFolder
from evidence.recorders import NAMED, Recorder
from harness.cleaning import full_disk
from harness.narrator import Narrator
from nemesis.nemesis import Nemesis
from plans.grammar.rounds import ledger_in_round
from plans.resolve import ResolvedPlan
from protocol.addresses import is_under_test
from protocol.errors import (
    FencepostError,
    LinkError,
    NotReadyError,
    StepError,
    UnplannedDeathError,
    UsageError,
)

T = TypeVar("T")


def format_death(death: Exit) -> str:
    """A death that the harness did not cause, as a phrase."""
    return f"{death.server} (boot {death.boot}) {death.unplanned}"


class Ledgers:
    """Ledgers by their name in the plan, and each client's handle on them; those of the present round.

    In a plan with rounds, ledger ``main`` of round 3 is recorded as ``main.3``.
    """

    def __init__(self, record: Recorder, *, rounds: int = 1) -> None:
        self._ids: dict[str, int] = {}
        self._handles: dict[tuple[str, str], str] = {}
        self._writers: dict[str, tuple[str, str]] = {}
        self._opened = 0
        self._round, self._rounds = 1, rounds
        self._record = record
        self._lock = threading.Lock()

    def begin_round(self, number: int) -> None:
        """From here on names stand for the ledgers of round ``number``, which are still to be made."""
        with self._lock:
            self._round = number
            self._ids.clear()
            self._handles.clear()
            self._writers.clear()

    def name(self, name: str, ledger: int, writer: tuple[str, str] | None = None) -> None:
        """Give a ledger its name; recorded, because verdicts use names.

        ``writer`` is the client that created it for the plan's steps, and its handle then.
        """
        with self._lock:
            self._ids[name] = ledger
            if writer is not None:
                self._writers[name] = writer
            recorded = ledger_in_round(name, self._round, self._rounds)
        self._record.write({"step": NAMED, "ledger": ledger, "name": recorded, "at_ns": time.monotonic_ns()})

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
        """Every ledger named up to now."""
        with self._lock:
            return dict(self._ids)

    def new_handle(self, client: str, name: str) -> str:
        """A fresh handle of ``client`` on ledger ``name``; it replaces the former one."""
        with self._lock:
            self._opened += 1
            handle = f"{name}.{self._opened}"
            self._handles[(client, name)] = handle
            return handle

    def writer(self, name: str) -> tuple[str, str] | None:
        """The client that created a ledger and the handle with which it adds; None before that."""
        with self._lock:
            return self._writers.get(name)

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


class BootLogs:
    """The events in the logs of boots while the run goes on; each line is read once, from any thread.

    The events equal those in the evidence.
    """

    def __init__(self) -> None:
        self._logs: dict[Path, tuple[GrowingLog, list[LogEvent]]] = {}
        self._lock = threading.Lock()

    def of(self, server: str, boot: int, log: Path) -> Sequence[LogEvent]:
        """The events of one boot up to now, in its order; none of a boot that has no log yet."""
        with self._lock:
            growing, events = self._logs.setdefault(log, (GrowingLog(server, boot, log), []))
            events.extend(growing.more())
            return tuple(events)


@dataclass(frozen=True)
class RunningLoad:
    """One background load: what ends it, and its totals or its error at the end."""

    stop: threading.Event
    totals: Future[dict[str, int]]


def in_background(work: Callable[[], T], name: str) -> Future[T]:
    """What ``work`` returns or raises, in a daemon thread: an interrupted process does not wait for it."""
    future: Future[T] = Future()

    def worked() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001  # raised again where the result is asked for
            future.set_exception(error)

    threading.Thread(target=worked, name=name, daemon=True).start()
    return future


@dataclass
class RunContext:
    """Everything that a step may use; ``round`` counts from 1, ``left_out`` says why steps were left out.

    ``ended_by`` is the first error of the steps while they end; ``deviations`` has what went otherwise than
    planned (:func:`noted`), a sentence each in order of time; ``not_asked`` is the number of questions
    that the censuses did not ask bookies which no longer answered. ``attempts`` are the highest entries by
    ledger of the clients' files that are full, for the next census.
    """

    cluster: Cluster
    nemesis: Nemesis
    ledgers: Ledgers
    narrator: Narrator
    plan: ResolvedPlan
    folder: RunFolder
    steps: Recorder
    loads: dict[str, RunningLoad] = field(default_factory=dict)
    censuses: int = 0
    attempts: dict[Path, dict[int, int]] = field(default_factory=dict)
    not_asked: int = 0
    round: int = 1
    left_out: str = ""
    ended_by: FencepostError | None = None
    steps_until: float | None = None
    """The time, of the monotonic clock, at which the steps end, whatever they wait for."""
    deviations: list[str] = field(default_factory=list)
    _noted: set[Exit] = field(default_factory=set)
    _logs: BootLogs = field(default_factory=BootLogs)

    def client(self, name: str, *, timeout_s: float = 120) -> Commands:
        """The commands of a client of the plan."""
        return self.commands(self.cluster.clients[name], timeout_s)

    def commands(self, client: Client, timeout_s: float) -> Commands:
        """A client's commands; an unplanned end of the run ends the wait for a reply.

        Raises as :meth:`assert_alive` does, or ``NotReadyError`` when no reply came in time.
        """
        return within(client, timeout_s, self.assert_alive)

    def boot_log(self, name: str) -> Sequence[LogEvent]:
        """The events in the log of a process's present or last boot up to now."""
        process = self.cluster.process(name)
        return self._logs.of(name, process.boot, process.log)

    def note(self, what: str) -> None:
        """Note what went otherwise than planned; deaths up to now end no wait any more."""
        self.deviations.append(what)
        self._noted.update(self.cluster.unplanned())
        self.narrator.event(f"otherwise than planned: {what}", style="yellow")

    def unnoted(self) -> list[Exit]:
        """Unplanned deaths up to now, in order of time, but for those noted."""
        return [death for death in self.cluster.unplanned() if death not in self._noted]

    def assert_alive(self) -> None:
        """Raise ``UnplannedDeathError`` after an unplanned death, ``StepError`` once steps end.

        ``NotReadyError`` when their time is over.
        """
        if deaths := self.unnoted():
            raise UnplannedDeathError(
                "; ".join(map(format_death, deaths)), remedy=f"the logs are in {self.folder.servers}"
            )
        if self.ended_by is not None:
            raise StepError(f"the steps ended meanwhile: {self.ended_by}")
        if self.steps_until is not None and time.monotonic() > self.steps_until:
            raise NotReadyError("the run's limit of time ended its steps")


def counts_as_result(death: Exit) -> bool:
    """Whether a death is a result of the run: that of a server under test which ended on its own.

    False for SIGKILL: the harness did not send it and no process sends it to itself, so the machine or a
    user did.
    """
    return is_under_test(death.server) and death.signal != signal.SIGKILL


def of_servers(error: BaseException, context: RunContext) -> bool:
    """Whether the servers under test did otherwise than planned; if not, harness or machine failed."""
    deaths = context.cluster.unplanned()
    if full_disk(context.folder.path) or not all(map(counts_as_result, deaths)):
        return False
    if deaths and not isinstance(error, LinkError):
        return True  # What is done to a server that has just died fails in many ways.
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, StepError | NotReadyError | UnplannedDeathError):
            return True
        cause = cause.__cause__
    return False


def sentence(error: BaseException) -> str:
    """The error in one line; those of servers quote their logs."""
    return " ".join(str(error).split())


@contextmanager
def noted(context: RunContext) -> Iterator[None]:
    """Continue after the block when the servers deviate from the plan in it, and note the deviation."""
    try:
        yield
    except FencepostError as error:
        if not of_servers(error, context):
            raise
        context.note(sentence(error))
