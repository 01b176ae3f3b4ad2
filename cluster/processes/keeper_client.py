"""The harness's side of the keeper: requests, exit events, and what happens when the keeper is gone.

The keeper is the :class:`~cluster.processes.runner.Runner` of plain processes.

One reader thread receives replies and exits and calls the listeners in order of arrival. A listener
must be quick and must not send requests. Everything else is thread-safe. A process is known by its
name here, whatever its kind.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from cluster.processes.keeper import KILL_TIMEOUT_S, MESSAGE_BYTES, UNDO_TIMEOUT_S
from cluster.processes.runner import Exit, Launch, Started
from protocol.errors import IncapableError, PrerequisiteError, ServerError

REQUEST_TIMEOUT_S = 60
_END_TIMEOUT_S = 300
_KEEPER = Path(__file__).with_name("keeper.py")


_Reply = dict[str, Any]
"""What the keeper sends: a reply to a request, or (``event``) the exit of a process."""


class KeeperClient:
    """A running keeper; a context manager that ends it and everything it started."""

    def __init__(self, events: Path, *, log: Path) -> None:
        self._events = events
        self._lock = threading.Lock()
        self._replies: dict[int, Future[_Reply]] = {}
        self._listeners: list[Callable[[Exit], None]] = []
        self._known: dict[int, tuple[str, int, psutil.Process]] = {}  # by pid, until its exit is reported
        self._undos: dict[int, list[str]] = {}
        self._requests = 0
        self._ended = False
        self._own_mounts = False
        self.lost: str | None = None
        """Why the keeper ended without being asked, or None."""
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_BYTES)
        try:
            with log.open("ab") as errors:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_KEEPER), str(theirs.fileno()), str(events)],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,
                )
        finally:
            theirs.close()
        self._reader = threading.Thread(target=self._read, name="keeper-reader", daemon=True)
        self._reader.start()
        try:
            self._ask("hello")
        except ServerError:
            self._close()
            raise

    def __enter__(self) -> KeeperClient:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """The keeper's own process id."""
        return self._process.pid

    def on_exit(self, listener: Callable[[Exit], None]) -> None:
        """Call ``listener`` for each exit from now on, on the reader thread."""
        self._listeners.append(listener)

    def start(self, name: str, boot: int, launch: Launch, *, folder: Path, log: Path) -> Started:
        """Start a process; a conversing process has two pipes. ``ServerError`` when it cannot be executed."""
        spawn = partial(
            self._ask,
            "spawn",
            name=name,
            boot=boot,
            argv=list(launch.argv),
            env=dict(launch.env),
            cwd=str(folder),
            log=str(log),
        )
        if not launch.converses:
            return Started(int(spawn()["pid"]))
        theirs_in, commands = os.pipe2(os.O_CLOEXEC)
        replies, theirs_out = os.pipe2(os.O_CLOEXEC)
        try:
            reply = spawn(sent={"stdin": theirs_in, "stdout": theirs_out})
        except BaseException:
            os.close(commands)
            os.close(replies)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        return Started(int(reply["pid"]), (commands, replies))

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send a signal to a running process; returns its pid, ``ServerError`` when none runs."""
        return int(self._ask("signal", name=name, number=int(number))["pid"])

    def lease(self, ports: Sequence[int] = (), *, besides: Sequence[int] = ()) -> int:
        """Lease a free octet L, none of ``besides``; ``ports`` must be free on the addresses 127.L too."""
        try:
            return int(self._ask("lease", ports=list(ports), besides=list(besides))["octet"])
        except ServerError as error:
            raise PrerequisiteError(
                str(error),
                remedy="stop the process that listens on all addresses at that port, or wait for other runs",
            ) from error

    def undo(self, argv: Sequence[str]) -> int:
        """Register a command that is run at the end, newest first; returns its number."""
        number = int(self._ask("undo", argv=list(argv))["undo"])
        self._undos[number] = list(argv)
        return number

    def forget(self, undo: int) -> None:
        """Withdraw a registered command."""
        self._undos.pop(undo, None)
        self._ask("forget", undo=undo)

    def own_mounts(self) -> None:
        """Give the keeper, and every process that it starts later, a separate mount namespace.

        The kernel removes its mounts when the last of these processes is gone. ``IncapableError`` when
        this machine does not allow that.
        """
        try:
            self._ask("mounts")
            self._own_mounts = True
        except ServerError as error:
            raise IncapableError(
                f"no separate mounts: {error}", remedy="run as root, in a container with CAP_SYS_ADMIN"
            ) from error

    def run(self, argv: Sequence[str], *, timeout_s: float = 30) -> None:
        """Run a short command in the keeper's mounts; ``ServerError`` with its output when it fails."""
        reply = self._ask("run", argv=list(argv), timeout_s=timeout_s)
        if reply["code"] != 0:
            raise ServerError(f"`{' '.join(argv)}` failed with {reply['code']}: {reply['output'].strip()}")

    def seen(self, path: Path) -> Path:
        """The path at which this process reaches the absolute ``path`` of the keeper's mounts."""
        if not self._own_mounts:
            return path
        return Path(f"/proc/{self.pid}/root") / path.relative_to("/")

    def end(self) -> Sequence[str]:
        """Kill what is left, run the undos, end the keeper; names of what was killed, none at a second call.

        Raises ``ServerError`` when something could not be ended or undone, or when the record lacks events.
        """
        if self._ended:
            return ()
        self._ended = True
        try:
            reply = self._ask("end", within_s=_END_TIMEOUT_S)
        finally:
            self._close()
        failed, left = tuple(reply["failed_undos"]), tuple(reply["left"])
        if failed or left:
            raise ServerError(f"the keeper could not undo {failed} or end {left}")
        if reply["unrecorded"]:
            raise ServerError(
                f"the keeper could not record {reply['unrecorded']} starts and ends of processes",
                remedy=f"free space for {self._events} and run again",
            )
        return tuple(reply["killed"])

    # inside ---------------------------------------------------------------------------------

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._process.wait()
        self._reader.join()
        self._channel.close()

    def _ask(
        self,
        do: str,
        *,
        sent: Mapping[str, int] | None = None,
        within_s: float = REQUEST_TIMEOUT_S,
        **request: object,
    ) -> _Reply:
        """One request; ``sent`` are descriptors by the parameters that they are. Returns the reply."""
        future: Future[_Reply] = Future()
        with self._lock:
            if self.lost is not None:
                raise ServerError(self.lost)
            self._requests += 1
            number = self._requests
            self._replies[number] = future
        fds = dict(sent or {})
        message = json.dumps({"id": number, "do": do, "fds": list(fds), **request}).encode()
        try:
            socket.send_fds(self._channel, [message], list(fds.values()))
            reply = future.result(within_s)
        except (OSError, TimeoutError) as error:
            raise ServerError(self.lost or f"the keeper does not answer {do!r}: {error}") from error
        if not reply["ok"]:
            raise ServerError(f"the keeper refused {do} {request.get('name', '')}: {reply['error']}")
        return reply

    def _read(self) -> None:
        while True:
            try:
                data = self._channel.recv(MESSAGE_BYTES)
            except OSError:
                data = b""
            if not data:
                break
            message = json.loads(data)
            if "event" in message:
                self._tell(message)
            else:
                self._resolve(message)
        self._gone()

    def _resolve(self, message: _Reply) -> None:
        if "boot" in message:
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended already: its exit comes next
                pid = message["pid"]
                self._known[pid] = message["name"], message["boot"], psutil.Process(pid)
        with self._lock:
            future = self._replies.pop(message["id"])
        future.set_result(message)

    def _tell(self, message: _Reply) -> None:
        self._known.pop(message["pid"], None)
        ended = Exit(message["name"], message["boot"], message["code"], message["signal"], message["at_ns"])
        for listener in list(self._listeners):
            listener(ended)

    def _gone(self) -> None:
        """The channel is closed: fail waiting callers; unless that was requested, end what is left."""
        with self._lock:
            waiting = list(self._replies.values())
            self._replies.clear()
            if not self._ended:
                self.lost = "the keeper died; all servers of the run are ended"
        if self.lost is not None:
            self._take_over()
        for future in waiting:
            future.set_exception(ServerError(self.lost or "the keeper has ended"))

    def _take_over(self) -> None:
        for pid, (name, boot, process) in reversed(list(self._known.items())):
            with contextlib.suppress(psutil.Error):  # it is gone, or its pid is another's by now
                process.kill()
                process.wait(KILL_TIMEOUT_S)
            end: _Reply = {"boot": boot, "pid": pid, "code": None, "signal": 9, "at_ns": time.monotonic_ns()}
            append_line(self._events, {"server": name, "event": "exit", **end})
            self._tell({"name": name, **end})
        for number in sorted(self._undos, reverse=True):
            _run_quietly(self._undos[number])


def append_line(path: Path, line: Mapping[str, object]) -> None:
    """Append one JSON line in one write, so that lines of two processes never mix."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, (json.dumps(line) + "\n").encode())
    finally:
        os.close(fd)


def _run_quietly(argv: list[str]) -> None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            argv, timeout=UNDO_TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
