"""A process of a run: its boots one after another, how its readiness is seen, and what can be done to it.

This is the common part of bookies, ZooKeeper, clients and the proxy; each adds how it is launched
and its rungs of readiness. The :class:`~cluster.processes.runner.Runner` runs it.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from cluster.configuration import Layers, java_properties
from cluster.processes.boot_logs import last_line, log_text, telling_lines
from cluster.processes.runner import Exit, Launch, Started
from cluster.processes.site import Site
from cluster.waiting import await_threads
from protocol.errors import NotReadyError, ServerError, UnplannedDeathError

KILL_TIMEOUT_S = 60.0
POLL_S = 0.02
FIXED = Layers({}, {}, {}, {})
"""The settings of a process whose settings no plan can change."""
Rung = tuple[str, Callable[[], bool]]
"""One step towards readiness: its name, and whether it is reached, asked quickly and often."""

_REFUSAL_CHARACTERS = 160
_OF_THE_FILE_SYSTEM = "lost+found"


class ProcessState(StrEnum):
    """State of a process that the harness owns."""

    DOWN = "down"
    RUNNING = "running"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A boot that ended although the harness did not stop it, and the lines of its log that say why."""

    ended: Exit
    log_lines: tuple[str, ...]

    def __str__(self) -> str:
        why = self.log_lines[0][:_REFUSAL_CHARACTERS] if self.log_lines else "(its log says nothing)"
        return f"{self.ended.server} (boot {self.ended.boot}) refused with {self.ended.how}: {why}"


@dataclass(frozen=True, slots=True)
class _MayEnd:
    """The boots that a fault may drive to their end, and until when (monotonic ns)."""

    first: int
    last: float
    until_ns: float = math.inf

    def covers(self, ended: Exit) -> bool:
        return self.first <= ended.boot <= self.last and ended.at_ns <= self.until_ns


class Process(ABC):
    """One named process through all its boots; thread-safe.

    ``folder`` is its own; each boot logs to ``boot-<n>.log`` in it. Every method blocks until its effect is
    complete.
    """

    def __init__(self, name: str, site: Site, layers: Layers = FIXED) -> None:
        self.name = name
        self.folder = site.folder(name)
        self.version = site.spec.version_of(name)
        """The release of the present or next boot."""
        self._site = site
        self._layers = layers
        self._runner = site.runner
        self._events = site.events
        self._boot = 0
        self._paused = False
        self._started: Started | None = None
        self._exits: dict[int, Exit] = {}
        self._ordered: set[int] = set()
        self._may_refuse: dict[int, float] = {}  # boots that may end until they are ready, until when (ns)
        self._may_end: dict[int, _MayEnd] = {}  # by the number of the fault
        self._rungs_reached: set[tuple[int, str]] = set()
        self._order = threading.RLock()  # one power at a time
        self._changed = threading.Condition()  # guards _exits
        self.folder.mkdir(parents=True, exist_ok=True)
        self._runner.on_exit(self._on_exit)

    # what subclasses say --------------------------------------------------------------------

    @abstractmethod
    def _launch(self, boot: int) -> Launch:
        """Prepare the folder for a boot and say how it is started."""

    @abstractmethod
    def _rungs(self) -> Sequence[Rung]:
        """The rungs after ``started``, in order."""

    def _begun(self, started: Started) -> None:  # noqa: B027 - few converse
        """Called when a boot runs; the descriptors in ``started`` are ours from here on."""

    # what can be done to it -----------------------------------------------------------------

    @property
    def boot(self) -> int:
        """Number of the present or last boot, from 1; 0 before the first."""
        return self._boot

    @property
    def pid(self) -> int:
        """The process id of the present boot on this machine; ``ServerError`` when it is down."""
        with self._order:
            self._running("have a pid")
            assert self._started is not None  # noqa: S101 - a running process was started
            return self._started.pid

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
        """Begin the next boot, not waiting for readiness.

        ``conf`` and ``version`` replace settings from this boot on.
        """
        with self._order:
            if self.state is not ProcessState.DOWN:
                raise ServerError(f"{self.name} cannot start: boot {self._boot} is {self.state}")
            self._change(conf or {}, version)
            launch = self._launch(self._boot + 1)
            self._paused = False
            self._boot += 1  # before its exit can be reported
            try:
                self._started = self._runner.start(
                    self.name, self._boot, launch, folder=self.folder, log=self.log
                )
            except ServerError:
                self._boot -= 1
                raise
            self._begun(self._started)

    def wait_ready(self, timeout_s: float) -> None:
        """Climb the readiness ladder, rung by rung; each rung is recorded once per boot.

        Raises ``NotReadyError`` after ``timeout_s``, ``UnplannedDeathError`` when the process ends on its
        own; both name the last rung and quote its log. ``NotReadyError`` also when the harness ends it.
        """
        boot = self._running("become ready")
        deadline = time.monotonic() + timeout_s
        last = "started"
        for rung, reached in self._rungs():
            while not reached():
                ended = self.ended(boot, POLL_S)
                if ended is not None and boot in self._ordered:
                    raise NotReadyError(f"{self.name} (boot {boot}) was ended after rung {last!r}")
                if ended is not None:
                    raise UnplannedDeathError(self._death(ended, f" after rung {last!r}"))
                if time.monotonic() > deadline:
                    log = self._log_of(boot)
                    raise NotReadyError(
                        f"{self.name} (boot {boot}) did not reach {rung!r} in {timeout_s:g} s; "
                        f"last rung: {last!r}; last log line: {last_line(log)!r}; log: {log}"
                    )
            if (boot, rung) not in self._rungs_reached:
                self._rungs_reached.add((boot, rung))
                self._record(boot, rung)
            last = rung
        self._may_refuse.pop(boot, None)

    def allow_refusal(self, for_s: float = math.inf) -> None:
        """Let the next boot end on its own, until it is ready; that is then no unplanned death."""
        self._may_refuse[self._boot + 1] = time.monotonic_ns() + for_s * 1e9

    def allow_end(self, fault: int, *, later_boots: bool = False) -> None:
        """Let the present boot end on its own from now on, because fault number ``fault`` may cause that.

        With ``later_boots`` also those that begin before :meth:`limit_end`.
        """
        self._may_end[fault] = _MayEnd(self._boot, math.inf if later_boots else self._boot)

    def limit_end(self, fault: int, for_s: float) -> None:
        """That fault is healed: only boots up to the present one may still end because of it, for a while."""
        if met := self._may_end.get(fault):
            until_ns = time.monotonic_ns() + for_s * 1e9
            self._may_end[fault] = _MayEnd(met.first, min(met.last, self._boot), until_ns)

    def refusal(self) -> Refusal | None:
        """How the present or last boot ended on its own; None while it runs or after an ordered stop."""
        with self._changed:
            ended = None if self._boot in self._ordered else self._exits.get(self._boot)
        return None if ended is None else Refusal(ended, tuple(telling_lines(self.log)))

    def session_ended(self) -> bool:
        """Whether that boot shut itself down because its ZooKeeper session expired; no unplanned death."""
        return False

    def capture_disk(self) -> None:  # noqa: B027 - only a bookie's files are evidence
        """Copy a bookie's files now, while they are as its death left them; once for each unclean death.

        Called by the code that ends it, when the death is complete (a power loss: after the mount), and by
        the code that changes its files while it is down, before the change. No effect while it runs, nor on
        other processes.
        """

    def kill(self) -> Exit:
        """End it at once (SIGKILL) and return when it is reaped."""
        return self._end(signal.SIGKILL, KILL_TIMEOUT_S)

    def stop(self, timeout_s: float = 30) -> Exit:
        """Ask it to end (SIGTERM) and return when it is reaped; ``NotReadyError`` when it is not in time."""
        with self._order:
            if self.state is ProcessState.PAUSED:
                self.resume()
            return self._end(signal.SIGTERM, timeout_s)

    def pause(self) -> None:
        """Suspend it (SIGSTOP); returns when the kernel reports every thread stopped.

        Not by an engine's own pause: where cgroups are of version 1 it gives up on a busy machine.
        """
        with self._order:
            self._let("be paused", signal.SIGSTOP, stopped=True)
            self._paused = True

    def resume(self) -> None:
        """Continue it (SIGCONT); returns when no thread is stopped any more."""
        with self._order:
            self._let("be resumed", signal.SIGCONT, stopped=False)
            self._paused = False

    def unplanned(self) -> list[Exit]:
        """Deaths of this process that the harness did not cause."""
        with self._changed:
            exits = list(self._exits.values())
        return [ended for ended in exits if ended.boot not in self._ordered and not self.excused(ended)]

    def excused(self, ended: Exit) -> bool:
        """Whether that boot was allowed to end on its own when it did; no process sends SIGKILL to itself."""
        refused = ended.at_ns <= self._may_refuse.get(ended.boot, -1)
        by_fault = any(one.covers(ended) for one in list(self._may_end.values()))
        return (refused or by_fault) and ended.signal != signal.SIGKILL

    def ended(self, boot: int, wait_s: float) -> Exit | None:
        """The exit of a boot, waiting for it at most ``wait_s``."""
        with self._changed:
            self._changed.wait_for(lambda: boot in self._exits, wait_s)
            return self._exits.get(boot)

    # inside ---------------------------------------------------------------------------------

    def _change(self, conf: Mapping[str, str], version: str | None) -> None:
        if not (conf or version):
            return
        if self._layers is FIXED:
            raise ServerError(f"{self.name} has no settings or version that could change")
        self._layers = replace(self._layers, plan={**self._layers.plan, **conf})
        self.version = version or self.version

    def _was_killed(self) -> bool:
        last = self._exits.get(self._boot)
        return last is not None and last.signal == signal.SIGKILL

    def _write_conf(self, boot: int, properties: Mapping[str, str]) -> str:
        """Write the settings of a boot; the file's path."""
        conf = self.folder / f"boot-{boot}.conf"
        conf.write_text(java_properties(properties))
        return str(conf)

    def _record(self, boot: int, event: str, **details: object) -> None:
        self._events.write(
            {"server": self.name, "boot": boot, "event": event, **details, "at_ns": time.monotonic_ns()}
        )

    def _log_of(self, boot: int) -> Path:
        return self.folder / f"boot-{max(boot, 1)}.log"

    def _death(self, ended: Exit, when: str = "") -> str:
        """One sentence about an unplanned death, followed by the related lines of its log."""
        return f"{self.name} (boot {ended.boot}) {ended.unplanned}{when}{log_text(self._log_of(ended.boot))}"

    def _running(self, verb: str) -> int:
        if self.state is ProcessState.DOWN:
            unplanned = self.unplanned()
            if unplanned and unplanned[-1].boot == self._boot:
                raise UnplannedDeathError(self._death(unplanned[-1]))
            raise ServerError(f"{self.name} is down and cannot {verb}")
        return self._boot

    def _end(self, number: signal.Signals, timeout_s: float) -> Exit:
        with self._order:
            boot = self._running("be ended")
            self._ordered.add(boot)
            try:
                self._runner.signal(self.name, number)
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
                f"{self.name} (boot {boot}) did not end within {timeout_s:g} s of {order}; log: {self.log}"
            )
        return ended

    def _let(self, verb: str, number: signal.Signals, *, stopped: bool) -> None:
        boot = self._running(verb)
        try:
            await_threads(self.name, self._runner.signal(self.name, number), stopped=stopped)
        except ServerError:
            self.ended(boot, 1)
            self._running(verb)  # it died meanwhile: says how
            raise

    def _on_exit(self, ended: Exit) -> None:
        if ended.server != self.name:
            return
        with self._changed:
            self._exits[ended.boot] = ended
            self._changed.notify_all()


class Store(Process):
    """A server that keeps its state in files: a bookie, or ZooKeeper."""

    @abstractmethod
    def places(self) -> Mapping[str, Path]:
        """The folders by what they hold, as this process sees them."""

    def snapshot(self, name: str) -> Path:
        """Copy its files as they are now; the copy's folder has one folder for each of its places.

        While it runs, a copy is what a backup without a stop would get: files that went meanwhile are left
        out, and nothing says that those which stayed fit together. ``ServerError`` if there is such a copy.
        """
        return copy_places(self.places(), self._snapshots / name)

    def snapshots(self) -> Mapping[str, Path]:
        """The copies by their names."""
        return {path.name: path for path in sorted(self._snapshots.glob("*"))}

    @property
    def _snapshots(self) -> Path:
        return self.folder / "snapshots"


def copy_places(places: Mapping[str, Path], copy: Path) -> Path:
    """Copy the places' files, each into a folder of its name below the new folder ``copy``."""
    if copy.exists():
        raise ServerError(f"there is a snapshot {copy.name!r} already, at {copy}")
    for place, folder in places.items():
        (copy / place).mkdir(parents=True)
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            target = copy / place / inside
            if _OF_THE_FILE_SYSTEM in inside.parts:
                continue
            if path.is_dir():
                target.mkdir(exist_ok=True)
                continue
            with contextlib.suppress(FileNotFoundError):  # a running server removed it after the listing
                shutil.copy2(path, target)
    return copy
