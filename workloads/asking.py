"""Sends commands to a client that may be paused, killed and restarted, until the load ends.

The reply of a paused client is awaited; the death of its process is reported to the caller, which then
waits for its next boot. Depends on the client's interface, not on single commands.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from typing import Any

from cluster.interface import Client, ProcessState
from protocol.errors import ClientError, NotReadyError

Reply = dict[str, Any]
_LOOK_S = 0.1
_PATIENCE_S = 30.0


class LoadEndedError(NotReadyError):
    """The load was ended and the client did not reply within its remaining time."""


class Asker:
    """One user of one client; each thread has its own.

    After ``stop`` is set a reply is still waited for, but no longer than ``patience_s``.
    """

    def __init__(self, client: Client, stop: threading.Event, *, patience_s: float = _PATIENCE_S) -> None:
        self.name = client.name
        self._client = client
        self._stop = stop
        self._patience_s = patience_s

    def ask(self, do: str, **parameters: Any) -> Reply:
        """Send one command and wait for its reply, which may be ``ok: false``.

        ``ClientError`` when the process ended before it replied, :class:`LoadEndedError` when the
        load ended and no reply came.
        """
        reply = self._client.submit(do, **parameters)
        while not _replied(reply, _LOOK_S):
            if self._stop.is_set():
                return self._last_chance(reply, do)
        return reply.result()

    def wait_for_next_life(self) -> bool:
        """Wait until the client was started again and answers; False when the load ends first."""
        while not self._stop.wait(_LOOK_S):
            if self._client.state is not ProcessState.DOWN:
                with suppress(ClientError, LoadEndedError):
                    self.ask("hello")
                    return True
        return False

    def _last_chance(self, reply: Future[Reply], do: str) -> Reply:
        if not _replied(reply, self._patience_s):
            raise LoadEndedError(f"{self.name} did not reply to {do!r} within {self._patience_s:g} s")
        return reply.result()


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


def refused(reply: Reply) -> str:
    """``LedgerFenced (-101)`` of a reply that is not ok."""
    code = reply.get("code")
    return f"{reply.get('error', 'no reason given')}" + (f" ({code})" if code is not None else "")


def _replied(reply: Future[Reply], timeout_s: float) -> bool:
    return bool(wait_for([reply], timeout_s).done)
