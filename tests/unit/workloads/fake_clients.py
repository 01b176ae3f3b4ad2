"""Clients of objects: they know the commands of a client process and keep ledgers in memory.

``client.script["await_acked"] = reply`` answers the next such command otherwise; a list is used up
one by one. ``BREAK`` instead of a reply ends the process at that command, ``SILENCE`` never replies.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from itertools import count
from types import SimpleNamespace
from typing import Any

from cluster.interface import ProcessState
from protocol.errors import ClientError

BREAK, SILENCE = "break", "silence"
Reply = dict[str, Any]


class FakeLedgers:
    """What all clients see: ledger id to its state and entries."""

    def __init__(self) -> None:
        self._ids = count(1)
        self.lock = threading.RLock()
        self.state: dict[int, str] = {}
        self.entries: dict[int, int] = {}

    def create(self) -> int:
        with self.lock:
            ledger = next(self._ids)
            self.state[ledger], self.entries[ledger] = "open", 0
            return ledger


class FakeClient:
    def __init__(self, name: str, ledgers: FakeLedgers) -> None:
        self.name = name
        self.boot = 1
        self.state = ProcessState.RUNNING
        self.script: dict[str, Any] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.handles: dict[str, int] = {}
        self.used: list[str] = []
        self._ledgers = ledgers
        self._lock = threading.RLock()

    def submit(self, do: str, **parameters: Any) -> Future[Reply]:
        future: Future[Reply] = Future()
        with self._lock:
            self.asked.append((do, parameters))
            scripted = self._scripted(do)
            if scripted == BREAK:
                self.die()
            if self.state is ProcessState.DOWN:
                future.set_exception(ClientError(f"{self.name} is down"))
            elif scripted != SILENCE:
                reply = scripted or getattr(self, f"_do_{do}")(**parameters)
                future.set_result({"ok": True, **reply})
        return future

    def die(self) -> None:
        with self._lock:
            self.state = ProcessState.DOWN
            self.handles.clear()

    def restart(self) -> None:
        with self._lock:
            self.boot += 1
            self.state = ProcessState.RUNNING

    def did(self, do: str) -> list[dict[str, Any]]:
        with self._lock:
            return [parameters for name, parameters in self.asked if name == do]

    def _scripted(self, do: str) -> Any:
        scripted = self.script.get(do)
        if isinstance(scripted, list):
            return scripted.pop(0) if scripted else None
        return scripted

    def _take(self, handle: str, ledger: int) -> None:
        assert handle not in self.used, "a handle's name was used twice"
        self.used.append(handle)
        self.handles[handle] = ledger

    def _do_hello(self) -> Reply:
        return {"pid": 1}

    def _do_create(self, handle: str, **_: Any) -> Reply:
        ledger = self._ledgers.create()
        self._take(handle, ledger)
        return {"ledger": ledger}

    def _do_append(self, handle: str, entries: int, **_: Any) -> Reply:
        self._ledgers.entries[self.handles[handle]] = entries
        return {"started": True}

    def _do_await_acked(self, **_: Any) -> Reply:
        return {}

    def _do_stop(self, handle: str, **_: Any) -> Reply:
        entries = self._ledgers.entries[self.handles[handle]]
        return {"acked": entries, "unknown": 0, "failed": 0, "outstanding": 0, "read": entries}

    def _do_close(self, handle: str) -> Reply:
        self._ledgers.state[self.handles.pop(handle)] = "closed"
        return {}

    def _do_open(self, handle: str, ledger: int, recovery: bool) -> Reply:
        self._take(handle, ledger)
        if recovery:
            assert self._ledgers.state[ledger] == "open"
            self._ledgers.state[ledger] = "recovered"
        return {"ledger": ledger}

    def _do_tail(self, **_: Any) -> Reply:
        return {"started": True}

    def _do_release(self, handle: str) -> Reply:
        del self.handles[handle]
        return {}


def fake_cluster(*names: str) -> Any:
    ledgers = FakeLedgers()
    return SimpleNamespace(clients={name: FakeClient(name, ledgers) for name in names}, ledgers=ledgers)
