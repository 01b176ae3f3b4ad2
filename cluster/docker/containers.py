"""Containers of one run as a :class:`cluster.processes.runner.Runner`.

A client gets commands and replies over two named pipes in its own folder, not over the engine: the engine
would carry every command and reply, and end the conversation when it is restarted. All other output is
written to the log by the container itself. The engine's stream of events reports an end; its time is when
the event arrived, which is later than the end.
"""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.docker import packets
from cluster.docker.composing import LAUNCH
from cluster.docker.engine import Deaths, Engine
from cluster.docker.project import Project
from cluster.processes.keeper_client import append_line
from cluster.processes.runner import Exit, Launch, Networks, PacketDirection, Runner, Started
from protocol.errors import ServerError

_COMMANDS, _REPLIES = "commands", "replies"
_ENDS = (signal.SIGKILL, signal.SIGTERM)
_CODE_OF_SIGNAL = 128
_DEADLY = frozenset({signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL})


@dataclass(frozen=True, slots=True)
class Prelude:
    """What a container's script does first (lines of shell), and what its program is started through."""

    lines: Sequence[str] = ()
    through: Sequence[str] = ()


@dataclass
class _Process:
    """A boot that was begun; ``held`` is a writing end of its replies, so that they do not end early."""

    name: str
    boot: int
    container: str
    held: int = -1
    pid: int = 0
    began_ns: int = 0  # before it was started
    signalled_ns: int = 0


class Containers(Runner, Networks):
    """The containers of a project by name; ``events`` is the run's record of starts and ends."""

    def __init__(
        self, engine: Engine, project: Project, events: Path, *, preludes: Mapping[str, Prelude]
    ) -> None:
        self._engine = engine
        self._project = project
        self._events = events
        self._preludes = preludes
        self._lock = threading.Lock()
        self._processes: dict[str, _Process] = {}  # by container, until its end is reported
        self._listeners: list[Callable[[Exit], None]] = []
        self._closed = False
        self._watch: tuple[Deaths, threading.Thread] | None = None

    def watch(self, label: str) -> None:
        """Start a thread that receives every container's end from now on."""
        deaths = self._engine.deaths(label)
        thread = threading.Thread(target=self._hear, args=(deaths,), name="container-watch", daemon=True)
        self._watch = deaths, thread
        thread.start()

    def close(self) -> None:
        """Stop watching; containers that still run are reported as ended."""
        self._closed = True
        if self._watch is not None:
            deaths, thread = self._watch
            deaths.close()
            thread.join()

    def on_exit(self, listener: Callable[[Exit], None]) -> None:
        """Call ``listener`` for each exit from now on, on the watching thread."""
        self._listeners.append(listener)

    def start(self, name: str, boot: int, launch: Launch, *, folder: Path, log: Path) -> Started:
        """Start a boot: its script is written, and its container started, with another image if need be."""
        container = self._project.container(name, launch.home)
        ends, held = _pipes(folder) if launch.converses else (None, -1)
        process = _Process(name, boot, container, held)
        with self._lock:
            self._processes[container] = process  # before its end can be reported
        script = launch_script(launch, log, self._preludes.get(name, Prelude()))
        (folder / LAUNCH).write_text(script, encoding="utf-8")
        process.began_ns = earliest_ns = time.monotonic_ns()
        try:
            pid = process.pid = self._engine.start(container)
        except BaseException:
            with self._lock:
                self._processes.pop(container, None)
            for fd in (*(ends or ()), held):
                if fd >= 0:
                    os.close(fd)
            raise
        at_ns = time.monotonic_ns()
        self._record(process, "started", at_ns=at_ns, earliest_ns=earliest_ns, pid=pid)
        return Started(pid, ends)

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send a signal to the program of a running container; ``ServerError`` when none runs."""
        process = self._running(name)
        if number in _ENDS and not process.signalled_ns:
            process.signalled_ns = time.monotonic_ns()
        self._engine.kill(process.container, int(number))
        return process.pid

    def disconnect(self, name: str) -> None:
        self._engine.disconnect(*self._project.place(name))

    def connect(self, name: str) -> None:
        if not self.connected(name):
            self._engine.connect(*self._project.place(name), self._project.address(name))

    def connected(self, name: str) -> bool:
        container, network = self._project.place(name)
        return network in self._engine.networks_of(container)

    def lacks_for_dropping(self) -> str | None:
        return packets.unavailable_reason()

    def drop_packets(self, name: str, ways: Collection[PacketDirection]) -> None:
        if stack := self._network_stack(name):
            packets.drop(stack, ways)
        elif ways:
            raise ServerError(f"{name} is down and has no network")

    def dropped_packets(self, name: str) -> Mapping[PacketDirection, int]:
        stack = self._network_stack(name)
        return packets.dropped(stack) if stack else {}

    # inside ---------------------------------------------------------------------------------

    def _network_stack(self, name: str) -> str:
        """The file by which the machine knows its network stack; empty for a client that is down."""
        return self._engine.network_stack(self._project.place(name)[0])

    def _running(self, name: str) -> _Process:
        with self._lock:
            for process in self._processes.values():
                if process.name == name:
                    return process
        raise ServerError(f"no container of {name} is running")

    def _hear(self, deaths: Deaths) -> None:
        for container, code in deaths:
            self._tell(container, code)
        for container in list(self._processes):  # the run is over, or the engine is gone
            self._tell(container, self._code_now(container))

    def _code_now(self, container: str) -> int | None:
        try:
            return self._engine.exit_code(container)
        except ServerError:
            return None

    def _tell(self, container: str, status: int | None) -> None:
        at_ns = time.monotonic_ns()
        with self._lock:
            process = self._processes.pop(container, None)
        if process is None:
            return
        code, number = how_it_ended(status)
        # If the harness sent no signal, only its start is known to be before: the engine may report late.
        earliest_ns = process.signalled_ns or process.began_ns
        details = {"code": code, "signal": number, "at_ns": at_ns, "earliest_ns": earliest_ns}
        details["signalled"] = bool(process.signalled_ns)
        self._record(process, "exit", **details)
        for listener in list(self._listeners):
            listener(Exit(process.name, process.boot, code, number, at_ns))
        if process.held >= 0:
            os.close(process.held)

    def _record(self, process: _Process, event: str, **details: int | None) -> None:
        append_line(self._events, {"server": process.name, "boot": process.boot, "event": event, **details})


def launch_script(launch: Launch, log: Path, prelude: Prelude) -> str:
    """The script that a container runs for one boot; its environment is the image's own.

    The named pipes are deleted as soon as both sides have opened them, so no later process blocks on them.
    """
    talk = [f"exec <{_COMMANDS} >{_REPLIES}", f"rm -f {_COMMANDS} {_REPLIES}"] if launch.converses else []
    to_log = f"exec 2>>{shlex.quote(str(log))}" + ("" if launch.converses else " >&2")
    program = f"exec {shlex.join([*prelude.through, *launch.argv])}"
    return "\n".join(["#!/bin/sh", "set -e", to_log, *talk, *prelude.lines, program, ""])


def how_it_ended(status: int | None) -> tuple[int | None, int | None]:
    """Exit code or signal of a program whose end the engine reports as one number.

    A shell reports a signal as 128 plus its number. A JVM that shuts down gracefully after SIGTERM also exits
    with 143, so only signals that a program cannot handle are read that way.
    """
    if status is not None and status - _CODE_OF_SIGNAL in _DEADLY:
        return None, status - _CODE_OF_SIGNAL
    return status, None


def _pipes(folder: Path) -> tuple[tuple[int, int], int]:
    """Fresh named pipes: our ends of commands and replies, and a writing end of the replies to be held."""
    for name in (_COMMANDS, _REPLIES):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name, 0o600)
    # For reading as well: opening a pipe only for writing fails while it has no reader.
    commands = os.open(folder / _COMMANDS, os.O_RDWR | os.O_CLOEXEC)
    replies = os.open(folder / _REPLIES, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    held = os.open(folder / _REPLIES, os.O_WRONLY | os.O_CLOEXEC)
    os.set_blocking(replies, True)
    return (commands, replies), held
