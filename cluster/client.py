"""The conversation with one client process: commands as JSON lines in, replies out.

Every command gets a number and a future; one reader thread gives each reply to its future. When
the process ends, all waiting futures get a ``ClientError`` that says how it ended. Handles pipes and
lines, not processes: the owner of the process passes a function that explains its end.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from protocol.errors import ClientError

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
    the reader thread after the output ended and may wait for the exit. Every line that is not a reply
    (``ready``, ``progress``) is passed to ``heard``, on the reader thread.
    """

    def __init__(
        self,
        name: str,
        commands: int,
        replies: int,
        *,
        explain: Callable[[], str],
        heard: Callable[[Reply], None] = lambda _event: None,
    ) -> None:
        self._name = name
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._replies = os.fdopen(replies, "rb")
        self._explain = explain
        self._heard = heard
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Reply]] = {}
        self._count = 0
        self._over: str | None = None
        self._ready: Reply | None = None
        # A paused client reads nothing: what is sent meanwhile must fit into the pipe.
        fcntl.fcntl(self._commands, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._reader = threading.Thread(target=self._read, name=f"replies-{name}", daemon=True)
        self._reader.start()

    @property
    def ready(self) -> Reply | None:
        """The client's message when it was connected, None before."""
        return self._ready

    def submit(self, do: str, parameters: dict[str, Any]) -> Future[Reply]:
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
            if message["event"] == "ready":
                self._ready = message
            self._heard(message)
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
