"""A process of a run: its lives one after another, and what can be done to it.

This is the common part of bookies, ZooKeeper, clients and the proxy; each adds how it is launched
and how its readiness is seen. Who runs it is the :class:`~cluster.servers.runner.Runner`'s matter.
Knows signals and exits, nothing of BookKeeper.
"""

from __future__ import annotations

import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.interface import Exit, ProcessState, Refusal
from cluster.logs import telling_lines
from cluster.servers.ladder import Climber, Rung, climb, death
from cluster.servers.runner import Launch, Runner, Started
from evidence.recorders import Recorder
from protocol.errors import NotReadyError, ServerError, UnplannedDeathError

KILL_TIMEOUT_S = 60.0


class OwnedProcess(ABC):
    """One named process through all its boots; thread-safe.

    ``folder`` is its own; each boot logs to ``boot-<n>.log`` in it.
    """

    def __init__(self, name: str, folder: Path, runner: Runner, events: Recorder) -> None:
        self._name = name
        self._folder = folder
        self._runner = runner
        self._events = events
        self._boot = 0
        self._paused = False
        self._started: Started | None = None
        self._exits: dict[int, Exit] = {}
        self._ordered: set[int] = set()
        self._may_refuse: set[int] = set()  # boots that may end by themselves as long as they are not ready
        self._may_end: set[int] = set()  # boots that a fault may drive to their end
        self._told: set[tuple[int, str]] = set()
        self._order = threading.RLock()  # one power at a time
        self._changed = threading.Condition()  # guards _exits
        folder.mkdir(parents=True, exist_ok=True)
        runner.on_exit(self._on_exit)

    # what subclasses say --------------------------------------------------------------------

    @abstractmethod
    def _launch(self, boot: int) -> Launch:
        """Prepare the folder for a boot and say how it is started."""

    @abstractmethod
    def _rungs(self) -> Sequence[Rung]:
        """The rungs after ``started``, in order."""

    def _begun(self, started: Started) -> None:  # noqa: B027 - few converse
        """Called when a boot runs; the descriptors in ``started`` are ours from here on."""

    # the interface --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name in the plan."""
        return self._name

    @property
    def boot(self) -> int:
        """Number of the present or last life, from 1; 0 before the first."""
        return self._boot

    @property
    def pid(self) -> int:
        """The process id of the present life on this machine; ``ServerError`` when it is down."""
        with self._order:
            self._running("have a pid")
            assert self._started is not None  # noqa: S101 - a running process was started
            return self._started.pid

    @property
    def folder(self) -> Path:
        """Its own folder: logs, settings, data."""
        return self._folder

    @property
    def log(self) -> Path:
        """The log of the present or last boot."""
        return self._log_of(self._boot)

    @property
    def state(self) -> ProcessState:
        """Down, running or paused, as last observed."""
        if self._boot == 0 or self._boot in self._exits:
            return ProcessState.DOWN
        return ProcessState.PAUSED if self._paused else ProcessState.RUNNING

    def start(self, *, conf: Mapping[str, str] | None = None, version: str | None = None) -> None:
        """Begin the next boot; ``conf`` and ``version`` replace settings from here on."""
        with self._order:
            if self.state is not ProcessState.DOWN:
                raise ServerError(f"{self._name} cannot start: boot {self._boot} is {self.state}")
            self._change(conf or {}, version)
            launch = self._launch(self._boot + 1)
            self._paused = False
            self._boot += 1  # before its exit can be reported
            try:
                self._started = self._runner.start(
                    self._name, self._boot, launch, folder=self._folder, log=self.log
                )
            except ServerError:
                self._boot -= 1
                raise
            self._begun(self._started)

    def wait_ready(self, timeout_s: float) -> None:
        """Climb to the last rung; each rung is recorded once per boot."""
        boot = self._running("become ready")
        climb(self._climber(boot), self._rungs(), timeout_s=timeout_s, tell=self._teller(boot))
        self._may_refuse.discard(boot)

    def allow_refusal(self) -> None:
        """Let the next boot end on its own, until it is ready."""
        self._may_refuse.add(self._boot + 1)

    def allow_end(self) -> None:
        """Let the present boot end on its own from now on."""
        self._may_end.add(self._boot)

    def refusal(self) -> Refusal | None:
        """How the present or last boot ended on its own, None when it did not."""
        with self._changed:
            ended = None if self._boot in self._ordered else self._exits.get(self._boot)
        return None if ended is None else Refusal(ended, tuple(telling_lines(self.log)))

    def session_ended(self) -> bool:
        """False: few processes end with their ZooKeeper session."""
        return False

    def capture_disk(self) -> None:  # noqa: B027 - only a bookie's files are evidence
        """No effect: its files are no evidence of a death."""

    def kill(self) -> Exit:
        """SIGKILL; returns when it is reaped."""
        return self._end(signal.SIGKILL, KILL_TIMEOUT_S)

    def stop(self, timeout_s: float = 30) -> Exit:
        """SIGTERM; returns when it is reaped, ``NotReadyError`` when it is not in time."""
        with self._order:
            if self.state is ProcessState.PAUSED:
                self.resume()
            return self._end(signal.SIGTERM, timeout_s)

    def pause(self) -> None:
        """Stop it where it stands; returns when every thread has stopped."""
        with self._order:
            self._let("be paused", self._runner.pause)
            self._paused = True

    def resume(self) -> None:
        """Continue it; returns when no thread is stopped any more."""
        with self._order:
            self._let("be resumed", self._runner.resume)
            self._paused = False

    def unplanned(self) -> list[Exit]:
        """Deaths of this process that the harness did not cause."""
        with self._changed:
            planned = self._ordered | self._may_refuse | self._may_end
            return [ended for boot, ended in self._exits.items() if boot not in planned]

    def ended(self, boot: int, wait_s: float) -> Exit | None:
        """The exit of a boot, waiting for it at most ``wait_s``."""
        with self._changed:
            self._changed.wait_for(lambda: boot in self._exits, wait_s)
            return self._exits.get(boot)

    # inside ---------------------------------------------------------------------------------

    def _change(self, conf: Mapping[str, str], version: str | None) -> None:
        if conf or version:
            raise ServerError(f"{self._name} has no settings or version that could change")

    def _log_of(self, boot: int) -> Path:
        return self._folder / f"boot-{max(boot, 1)}.log"

    def _climber(self, boot: int) -> Climber:
        return Climber(self._name, boot, self._log_of(boot), lambda wait_s: self.ended(boot, wait_s))

    def _teller(self, boot: int) -> _Teller:
        return _Teller(self._name, boot, self._told, self._events)

    def _running(self, verb: str) -> int:
        if self.state is ProcessState.DOWN:
            unplanned = self.unplanned()
            if unplanned and unplanned[-1].boot == self._boot:
                raise UnplannedDeathError(death(self._climber(self._boot), unplanned[-1]))
            raise ServerError(f"{self._name} is down and cannot {verb}")
        return self._boot

    def _end(self, number: signal.Signals, timeout_s: float) -> Exit:
        with self._order:
            boot = self._running("be ended")
            self._ordered.add(boot)
            try:
                self._runner.signal(self._name, number)
            except ServerError:
                self._ordered.discard(boot)  # it had already ended on its own
                self.ended(boot, 1)
                self._running("be ended")
                raise
            return self._await_exit(boot, timeout_s, number.name)

    def _await_exit(self, boot: int, timeout_s: float, order: str) -> Exit:
        ended = self.ended(boot, timeout_s)
        if ended is None:
            raise NotReadyError(
                f"{self._name} (boot {boot}) did not end within {timeout_s:g} s of {order}; log: {self.log}"
            )
        return ended

    def _let(self, verb: str, order: Callable[[str], None]) -> None:
        boot = self._running(verb)
        try:
            order(self._name)
        except ServerError:
            self.ended(boot, 1)
            self._running(verb)  # it died meanwhile: says how
            raise

    def _on_exit(self, ended: Exit) -> None:
        if ended.server != self._name:
            return
        with self._changed:
            self._exits[ended.boot] = ended
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class _Teller:
    """Records the rungs of one boot, each once."""

    name: str
    boot: int
    told: set[tuple[int, str]]
    events: Recorder

    def __call__(self, rung: str, at_ns: int) -> None:
        if (self.boot, rung) not in self.told:
            self.told.add((self.boot, rung))
            self.events.write({"server": self.name, "boot": self.boot, "event": rung, "at_ns": at_ns})
