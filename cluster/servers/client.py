"""A client or the observer: one process, and one conversation per boot.

Commands and replies are JSON lines. Every command gets a number and a future; one reader thread gives each
reply to its future. When the process ends, all waiting futures get a ``ClientError`` that says how it ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from typing import Any

from cluster.configuration import client_properties
from cluster.processes.boot_logs import log_text
from cluster.processes.process import Process, ProcessState, Rung
from cluster.processes.runner import CLIENT as ROLE
from cluster.processes.runner import Exit, Launch, Started
from cluster.processes.site import JavaProgram, Site
from evidence.codes import ANSWERING, RECORDED
from protocol.errors import ClientError, NotReadyError

MAIN = "fencepost.client.Main"
DIRECT_MEMORY_MB = 256  # many large entries in flight
_EXIT_WAIT_S = 60.0
Reply = dict[str, Any]
_PIPE_BYTES = 1 << 20
_LOOK_S = 0.1


def await_reply(future: Future[Reply], look: Callable[[], None]) -> Reply:
    """Wait for a reply; ``look`` is called again and again meanwhile, and ends the wait by raising."""
    while True:
        try:
            return future.result(_LOOK_S)
        except TimeoutError:
            look()


class Conversation:
    """One boot of a client: from the first line to the end of its output.

    ``commands`` and ``replies`` are descriptors that this object closes. ``explain`` is called on
    the reader thread after the output ended and may wait for the exit.
    """

    def __init__(self, name: str, commands: int, replies: int, *, explain: Callable[[], str]) -> None:
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._replies = os.fdopen(replies, "rb")
        self._explain = explain
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Reply]] = {}
        self._count = 0
        self._over: str | None = None
        self.ready = False
        """Whether the client has said that it is connected."""
        # A paused client reads nothing: what is sent meanwhile must fit into the pipe.
        fcntl.fcntl(self._commands, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._reader = threading.Thread(target=self._read, name=f"replies-{name}", daemon=True)
        self._reader.start()

    def submit(self, do: str, parameters: Mapping[str, object]) -> Future[Reply]:
        """Send one command; the future has the reply or raises ``ClientError``."""
        future: Future[Reply] = Future()
        future.set_running_or_notify_cancel()  # a command that was sent cannot be taken back
        with self._lock:
            if self._over is not None:
                future.set_exception(ClientError(self._over))
                return future
            self._count += 1
            number = self._count
            self._waiting[number] = future
            line = json.dumps({"id": number, "do": do, **parameters}) + "\n"
            with contextlib.suppress(OSError):  # it has just ended: the reader explains to all who wait
                self._send(line.encode())
        return future

    def close(self) -> None:
        """End the client's input (it exits at once) and wait for the end of its output."""
        with self._lock:
            self._commands.close()
        self._reader.join()

    def _send(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[self._commands.write(view) :]

    def _read(self) -> None:
        with self._replies:
            for line in self._replies:
                message = _parsed(line)
                if message is not None:
                    self._take(message)
        why = self._explain()
        with self._lock:
            self._over = why
            waiting = list(self._waiting.values())
            self._waiting.clear()
            self._commands.close()
        for future in waiting:
            future.set_exception(ClientError(why))

    def _take(self, message: Reply) -> None:
        if "event" in message:
            self.ready |= message["event"] == "ready"
            return
        with self._lock:
            future = self._waiting.pop(message["id"], None)
        if future is not None:
            future.set_result(message)


def _parsed(line: bytes) -> Reply | None:
    """The reply in a line; None when the line is cut off or did not come from our client."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) and ("id" in message or "event" in message) else None


class Client(Process):
    """One client program by name; ``number`` is its source number. Its operations go to its own history."""

    def __init__(self, name: str, number: int, site: Site) -> None:
        super().__init__(name, site, site.spec.client_layers(name))
        self.number = number
        self._conversation: Conversation | None = None

    def submit(self, do: str, **parameters: object) -> Future[Reply]:
        """Send one command; the future gives the reply, also a reply that says ``ok: false``.

        It raises ``ClientError`` when the process ends before the reply.
        """
        conversation = self._conversation
        if conversation is None:
            future: Future[Reply] = Future()
            future.set_exception(ClientError(f"{self.name} was never started"))
            return future
        return conversation.submit(do, parameters)

    def call(self, do: str, *, timeout_s: float, **parameters: object) -> Reply:
        """``submit`` and wait; ``NotReadyError`` when no reply came in time."""
        try:
            return self.submit(do, **parameters).result(timeout_s)
        except FutureTimeoutError as error:
            raise NotReadyError(
                f"{self.name} ({self.state}) did not reply to {do!r} in {timeout_s:g} s; log: {self.log}"
            ) from error

    def stop(self, timeout_s: float = 30) -> Exit:
        """Ask it to quit and return when it is reaped; ``ServerError`` when it is not reaped in time."""
        with self._order:
            if self.state is ProcessState.PAUSED:
                self.resume()
            boot = self._running("be stopped")
            self._ordered.add(boot)
            quit_reply = self.submit("quit")
            ended = self._await_exit(boot, timeout_s, "the quit command")
            self.close()
            reply = {} if quit_reply.exception() else quit_reply.result()
            if counts := {name: reply[name] for name in ("slots", "ended", "repeated") if name in reply}:
                self._record(boot, RECORDED, **counts)  # how much of its history this boot used
            return ended

    def close(self) -> None:
        """End the conversation, if there is one, and its thread."""
        if self._conversation is not None:
            self._conversation.close()

    def _launch(self, boot: int) -> Launch:
        self.close()
        program = JavaProgram(
            MAIN,
            self.version,
            self.folder,
            boot,
            ROLE,
            direct_memory_mb=DIRECT_MEMORY_MB,
            log_to="SYSTEM_ERR",
            heap_mb=self._site.spec.client_heap_mb,
        )
        spec = self._site.spec
        host, port = self._site.zookeeper(self.number)
        arguments = {
            "--name": self.name,
            "--number": str(self.number),
            "--boot": str(boot),
            "--run-id": str(spec.run_id),
            "--history": str(spec.folder.operations.absolute()),
            "--zk": f"{host}:{port}",
            "--conf": self._write_conf(boot, client_properties(self._layers).properties),
            "--record": "off" if self.name in spec.unrecorded else "on",
        }
        flat = [word for pair in arguments.items() for word in pair]
        return replace(self._site.launch(program, flat, source=self.number), converses=True)

    def _begun(self, started: Started) -> None:
        assert started.ends is not None  # noqa: S101 - it was launched with a command channel
        boot = self.boot
        self._conversation = Conversation(self.name, *started.ends, explain=lambda: self._explain(boot))

    def _explain(self, boot: int) -> str:
        ended = self.ended(boot, _EXIT_WAIT_S)
        if ended is None:
            log = self._log_of(boot)
            return f"{self.name} (boot {boot}) closed its output but has not ended; log: {log}"
        return f"{self.name} (boot {boot}) ended with {ended.how}{log_text(self._log_of(boot))}"

    def _rungs(self) -> Sequence[Rung]:
        return ((ANSWERING, lambda: self._conversation is not None and self._conversation.ready),)
