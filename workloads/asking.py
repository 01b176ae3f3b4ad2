"""Sends commands to a client that may be paused, killed and restarted, until the load ends.

The reply of a paused client is awaited; the death of its process is reported to the caller, which then
waits for its next boot.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

from cluster.client import Reply, await_reply
from cluster.commands import Commands
from cluster.interface import Client, ProcessState
from protocol.errors import ClientError, NotReadyError

_LOOK_S = 0.1
_PATIENCE_S = 30.0


class LoadEndedError(NotReadyError):
    """The load was ended and the client did not reply within its remaining time."""


class Asker(Commands):
    """One user of one client; each thread has its own.

    After ``stop`` is set a reply is still waited for, but no longer than ``patience_s``. A command raises
    ``ClientError`` when the process ended before it replied, :class:`LoadEndedError` when the load ended and
    no reply came.
    """

    def __init__(self, client: Client, stop: threading.Event, *, patience_s: float = _PATIENCE_S) -> None:
        super().__init__(client, self._await)
        self._stop = stop
        self._patience_s = patience_s

    def wait_for_next_life(self) -> bool:
        """Wait until the client was started again and answers; False when the load ends first."""
        while not self._stop.wait(_LOOK_S):
            if self._client.state is not ProcessState.DOWN:
                with suppress(ClientError, LoadEndedError):
                    self.hello()
                    return True
        return False

    def _await(self, future: Future[Reply], do: str) -> Reply:
        deadline: float | None = None

        def look() -> None:
            nonlocal deadline
            if deadline is None and self._stop.is_set():
                deadline = time.monotonic() + self._patience_s
            if deadline is not None and time.monotonic() > deadline:
                raise LoadEndedError(f"{self.name} did not reply to {do!r} within {self._patience_s:g} s")

        return await_reply(future, look)


class Sayings:
    """Reports an error of one client once, and again only after another error."""

    def __init__(self, who: str, say: Callable[[str], None]) -> None:
        self._who = who
        self._say = say
        self._last = ""
        self._since_s = 0.0

    def say(self, what: str) -> None:
        """Report a sentence, unless it was the last one reported within ten seconds."""
        now = time.monotonic()
        if what != self._last or now - self._since_s > 10:
            self._last, self._since_s = what, now
            self._say(f"{self._who}: {what}")


def next_life(asker: Asker, sayings: Sayings) -> None:
    """Report that the client is gone, and wait until it is back or the load ends."""
    sayings.say("its process ended; waiting for its next start")
    asker.wait_for_next_life()
