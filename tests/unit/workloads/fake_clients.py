"""Clients of objects: they know the commands of a client process and keep ledgers and logs in memory.

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
FENCED = {"ok": False, "error": "LedgerFenced", "code": -101}
NO_BOOKIES = {"ok": False, "error": "NotEnoughBookies", "code": -6}
NOT_YET = {"ok": False, "error": "Timeout", "code": None}
_A_MOMENT_S = 0.01


class FakeLedgers:
    """What all clients see: ledger id to its state, entries, and how often its ensemble changed."""

    def __init__(self) -> None:
        self._ids = count(1)
        self.lock = threading.RLock()
        self.state: dict[int, str] = {}
        self.entries: dict[int, int] = {}
        self.changes: dict[int, int] = {}
        self.chains: dict[str, list[int]] = {}

    def create(self) -> int:
        with self.lock:
            ledger = next(self._ids)
            self.state[ledger], self.entries[ledger] = "open", 0
            return ledger

    def ledger(self, ledger: int) -> tuple[Any, int]:
        """As the cluster's metadata gives it."""
        return SimpleNamespace(fragments=(None,) * (1 + self.changes.get(ledger, 0))), 0


class FakeClient:
    def __init__(self, name: str, ledgers: FakeLedgers) -> None:
        self.name = name
        self.boot = 1
        self.state = ProcessState.RUNNING
        self.script: dict[str, Any] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.handles: dict[str, int] = {}
        self.used: list[str] = []
        self.wrote: set[str] = set()
        self._ledgers = ledgers
        self._silent: list[tuple[Future[Reply], str, dict[str, Any]]] = []
        self._lock = threading.RLock()
        self._died = threading.Condition(self._lock)

    def submit(self, do: str, **parameters: Any) -> Future[Reply]:
        future: Future[Reply] = Future()
        with self._lock:
            self.asked.append((do, parameters))
            scripted = self._scripted(do)
            if scripted == BREAK:
                self.die()
            if self.state is ProcessState.DOWN:
                future.set_exception(ClientError(f"{self.name} is down"))
            elif scripted == SILENCE:
                self._silent.append((future, do, parameters))
            else:
                future.set_result(self._reply(do, parameters, scripted))
        return future

    def resume(self) -> None:
        """Replies at last to what it was silent about, and to whatever comes."""
        with self._lock:
            self.script = {do: scripted for do, scripted in self.script.items() if scripted != SILENCE}
            for future, do, parameters in self._silent:
                future.set_result(self._reply(do, parameters, None))
            self._silent.clear()

    def _reply(self, do: str, parameters: dict[str, Any], scripted: Any) -> Reply:
        return {"ok": True, **(scripted or getattr(self, f"_do_{do}")(**parameters))}

    def die(self) -> None:
        with self._lock:
            self.state = ProcessState.DOWN
            self.handles.clear()
            self._died.notify_all()

    def restart(self) -> None:
        """Begin the next boot, as soon as the present one has ended."""
        with self._died:
            assert self._died.wait_for(lambda: self.state is ProcessState.DOWN, 30), f"{self.name} lives"
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
        self.wrote.add(handle)
        return {"ledger": ledger}

    def _do_append(self, handle: str, entries: int = 10, background: bool = False, **_: Any) -> Reply:
        """In the background all is there at once; a ledger that was recovered takes nothing."""
        if self._fenced(handle):
            return {**FENCED, "acked": 0, "unknown": entries, "failed": 0, "outstanding": 0}
        self._ledgers.entries[self.handles[handle]] += entries
        if background:
            return {"started": True}
        return {"acked": entries, "unknown": 0, "failed": 0, "outstanding": 0}

    def _fenced(self, handle: str) -> bool:
        return handle in self.wrote and self._ledgers.state[self.handles[handle]] == "recovered"

    def _do_await_acked(self, handle: str, entries: int, **_: Any) -> Reply:
        acked = {"acked": self._ledgers.entries[self.handles[handle]]}
        if self._fenced(handle):
            return {**FENCED, **acked}
        if acked["acked"] < entries:
            threading.Event().wait(_A_MOMENT_S)
            return {**NOT_YET, **acked}
        return acked

    def _do_stop(self, handle: str, **_: Any) -> Reply:
        entries = self._ledgers.entries[self.handles[handle]]
        broke = FENCED if self._fenced(handle) else {}
        return {**broke, "acked": entries, "unknown": 0, "failed": 0, "outstanding": 0, "read": entries}

    def _do_status(self, handle: str) -> Reply:
        return self._do_stop(handle)

    def _do_force(self, handle: str) -> Reply:
        return {"lac": self._ledgers.entries[self.handles[handle]] - 1}

    def _do_close(self, handle: str) -> Reply:
        self._ledgers.state[self.handles.pop(handle)] = "closed"
        return {}

    def _do_open(self, handle: str, ledger: int, recovery: bool) -> Reply:
        self._take(handle, ledger)
        if recovery and self._ledgers.state[ledger] == "open":
            self._ledgers.state[ledger] = "recovered"
        return {"ledger": ledger, "last_entry": self._ledgers.entries[ledger] - 1}

    def _do_delete(self, ledger: int) -> Reply:
        self._ledgers.state[ledger] = "deleted"
        return {}

    def _do_chain_list(self, chain: str) -> Reply:
        ledgers = self._ledgers.chains.get(chain, [])
        return {"ledgers": list(ledgers), "version": len(ledgers) - 1}

    def _do_chain_extend(self, chain: str, ledgers: list[int], version: int) -> Reply:
        with self._ledgers.lock:
            if version != self._do_chain_list(chain)["version"]:
                return {"ok": False, "error": "MetadataVersion", "code": -17}
            self._ledgers.chains[chain] = ledgers
            return {"version": version + 1}

    def _do_chain_read(self, chain: str) -> Reply:
        return {"entries": sum(self._ledgers.entries[one] for one in self._ledgers.chains.get(chain, ()))}

    def _do_tail(self, **_: Any) -> Reply:
        return {"started": True}

    def _do_release(self, handle: str) -> Reply:
        del self.handles[handle]
        return {}


def hang(client: FakeClient) -> None:
    """Its adds go on without an acknowledgement."""
    client.script["await_acked"] = {**NOT_YET, "acked": 0}


def fake_cluster(*names: str) -> Any:
    ledgers = FakeLedgers()
    clients = {name: FakeClient(name, ledgers) for name in names}
    return SimpleNamespace(clients=clients, ledgers=ledgers, metadata=ledgers)
