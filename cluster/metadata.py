"""The metadata store as the harness sees it: straight to ZooKeeper, past every link.

One kazoo client per run; its threads end with ``close``. kazoo's errors are translated here. Requests are
sent from a separate thread: kazoo's bare ``except:`` would swallow a Ctrl-C in the calling thread.
Uses BookKeeper's paths, not its servers' processes.
"""

from __future__ import annotations

import contextlib
import logging
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError

from cluster.waiting import wait_until
from protocol.addresses import bookie_id, name_of_id
from protocol.errors import NotReadyError, ServerError
from protocol.metadata import LedgerMetadata
from protocol.wire import decode_metadata, ledger_of_path, ledger_path

ROOT = "/ledgers"
AVAILABLE = f"{ROOT}/available"
READONLY = f"{AVAILABLE}/readonly"
COOKIES = f"{ROOT}/cookies"
_LONG_IDS = f"{ROOT}/idgen-long"
_NO_LEDGERS = frozenset(
    {"available", "cookies", "idgen", "underreplication", "idgen-long", "LAYOUT", "INSTANCEID"}
)
_INSTANCE = f"{ROOT}/INSTANCEID"
NEW_CLUSTER = {
    ROOT: "",
    AVAILABLE: "",
    READONLY: "",
    _INSTANCE: "00000000-0000-4000-8000-000000000000",
    f"{ROOT}/LAYOUT": "2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1",
}
"""What a new cluster has in its metadata store, paths with their text; the instance's id is a fixed one."""
_REPAIR = f"{ROOT}/underreplication"
_ELECTION = f"{_REPAIR}/auditorelection"
_FIRST_CHECK = "checkallledgersctime"
_SWITCHED_OFF = "disable"
_NAMED = re.compile(r'\bbookieId: "([^"]+)"')
_LEDGER = re.compile(r"urL(\d+)")
_RETRY = {"max_tries": -1, "delay": 0.1, "backoff": 2, "max_delay": 0.5}
"""However long ZooKeeper was down, its return is seen within half a second."""
_LOG = logging.getLogger("fencepost.kazoo")
_LOG.setLevel(logging.ERROR)


class Metadata:
    """A connection to the run's ZooKeeper; thread-safe; a context manager that closes it."""

    def __init__(self, address: tuple[str, int], *, timeout_s: float = 20) -> None:
        host, port = address
        self._hosts = f"{host}:{port}"
        self._timeout_s = timeout_s
        self._client = KazooClient(
            hosts=self._hosts, timeout=timeout_s, logger=_LOG, connection_retry=dict(_RETRY)
        )
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="zookeeper")
        try:
            self._client.start(timeout=timeout_s)
        except KazooTimeoutError as error:
            self.close()
            raise NotReadyError(f"ZooKeeper at {self._hosts} gave no session in {timeout_s} s") from error

    def __enter__(self) -> Metadata:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session and kazoo's threads."""
        self._sender.shutdown()
        self._client.stop()
        self._client.close()

    def initialise(self) -> str:
        """Make what a new cluster needs below ``/ledgers``; returns the instance id.

        With the layout there, servers and clients that start at once do not race to make it.
        """
        with self._translated("initialise the metadata store"):
            for path, text in {**NEW_CLUSTER, _INSTANCE: str(uuid.uuid4())}.items():
                with contextlib.suppress(NodeExistsError):
                    self._ask("create", path, text.encode())
            return str(self._ask("get", _INSTANCE)[0].decode())

    def registered(self) -> frozenset[str]:
        """Names of the bookies that are registered (writable or read-only)."""
        return self.writable() | self.read_only()

    def writable(self) -> frozenset[str]:
        """Names of the bookies that are registered as taking adds."""
        return self._registered(AVAILABLE, "list the writable bookies")

    def read_only(self) -> frozenset[str]:
        """Names of the bookies that are registered as taking no adds."""
        return self._registered(READONLY, "list the read-only bookies")

    def _registered(self, folder: str, what: str) -> frozenset[str]:
        with self._translated(what):
            return frozenset(map(name_of_id, {*self._ask("get_children", folder)} - {"readonly"}))

    def registration(self, bookie: str) -> int | None:
        """The zxid of a bookie's registration, None when it is not registered; each boot has a new one."""
        with self._translated(f"look up the registration of {bookie}"):
            for folder in (AVAILABLE, READONLY):
                stat = self._ask("exists", f"{folder}/{bookie_id(bookie)}")
                if stat is not None:
                    return int(stat.czxid)
        return None

    def forget_registration(self, bookie: str) -> None:
        """Delete what a killed bookie left registered; its next boot would wait for it to expire."""
        for folder in (AVAILABLE, READONLY):
            self.remove(f"{folder}/{bookie_id(bookie)}", f"delete the registration of {bookie}")

    def cookie(self, bookie: str) -> bytes | None:
        """The cookie of a bookie (``ZKRegistrationManager#readCookie``), None without a cookie."""
        found = self._get(f"read the cookie of {bookie}", f"{COOKIES}/{bookie_id(bookie)}")
        return None if found is None else found[0]

    def forget_cookie(self, bookie: str) -> None:
        """Delete the cookie of a bookie, if there is one."""
        self.remove(f"{COOKIES}/{bookie_id(bookie)}", f"delete the cookie of {bookie}")

    def ledger(self, ledger: int) -> tuple[LedgerMetadata, int] | None:
        """A ledger's metadata and its version, or None when the ledger does not exist."""
        found = self._get(f"read the metadata of ledger {ledger}", ROOT + ledger_path(ledger))
        return None if found is None else (decode_metadata(found[0]), found[1])

    def touch(self, ledger: int) -> int:
        """Rewrite a ledger's metadata unchanged; returns its new version.

        Raises ``ServerError`` when there is no metadata, or when another client writes it at the same time.
        """
        with self._translated(f"rewrite the metadata of ledger {ledger}"):
            path = ROOT + ledger_path(ledger)
            data, stat = self._ask("get", path)
            return int(self._ask("set", path, data, stat.version).version)

    def long_ids(self) -> None:
        """Let clients that have not created a ledger yet get ids beyond 31 bits.

        They look for this path before their first ledger; BookKeeper creates it once the short ids are used
        up (``LongZkLedgerIdGenerator``).
        """
        with self._translated("let the ids of ledgers be long"):
            self._ask("ensure_path", _LONG_IDS)

    def ledgers(self) -> list[int]:
        """The ids of all ledgers, ascending."""
        return sorted(self._below(ROOT))

    def children(self, path: str, what: str = "") -> tuple[str, ...]:
        """The names below a path, none where there is no such path; ``what`` this is for, in an error."""
        with self._translated(what or f"list {path}"):
            try:
                return tuple(self._ask("get_children", path))
            except NoNodeError:
                return ()

    def remove(self, path: str, what: str = "") -> None:
        """Remove a path, if there is one."""
        with self._translated(what or f"remove {path}"), contextlib.suppress(NoNodeError):
            self._ask("delete", path)

    def text(self, path: str) -> str | None:
        """The text at a path, None where there is no such path."""
        found = self._get(f"read {path}", path)
        return None if found is None else found[0].decode(errors="replace")

    def _get(self, what: str, path: str) -> tuple[bytes, int] | None:
        """What is at a path, and its version; None where there is no such path."""
        with self._translated(what):
            try:
                data, stat = self._ask("get", path)
            except NoNodeError:
                return None
        return bytes(data), int(stat.version)

    def _below(self, path: str) -> Iterator[int]:
        for child in self.children(path, "list the ledgers"):  # none where it was deleted meanwhile
            below = f"{path}/{child}"
            ledger = ledger_of_path(below)
            if ledger is not None:
                yield ledger
            elif child not in _NO_LEDGERS:
                yield from self._below(below)

    def _ask(self, verb: str, *arguments: object) -> Any:
        """One request with a time limit; kazoo's blocking calls would wait forever while ZooKeeper is away.

        A session that is over fails what waits in it, which the store then never saw; kazoo begins the next.
        """
        send = getattr(self._client, f"{verb}_async")
        try:
            return self._sender.submit(send, *arguments).result().get(timeout=self._timeout_s)
        except SessionExpiredError:
            wait_until(self._connected, self._timeout_s, f"a new session with {self._hosts}")
        return self._sender.submit(send, *arguments).result().get(timeout=self._timeout_s)

    def _connected(self) -> tuple[bool, str]:
        return bool(self._client.connected), f"the client is {self._client.client_state}"

    @contextlib.contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except (KazooException, KazooTimeoutError) as error:
            name = type(error).__name__
            raise ServerError(f"ZooKeeper at {self._hosts} could not {what}: {name} {error}") from error


class RepairRecords:
    """The store's records about repair: votes for the auditor, under-replicated ledgers, locks.

    Paths of ``ZkLedgerAuditorManager`` and ``ZkLedgerUnderreplicationManager``.
    """

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata

    def votes(self) -> dict[str, str]:
        """Every candidate's vote and who cast it, the oldest first: the first of them is the auditor."""
        found = sorted(name for name in self._metadata.children(_ELECTION) if name.startswith("V_"))
        votes = {vote: _candidate(self._metadata.text(f"{_ELECTION}/{vote}")) for vote in found}
        return {vote: name for vote, name in votes.items() if name is not None}

    def forget(self, vote: str) -> None:
        """Remove a vote that a killed process left; it would count until its session expires."""
        self._metadata.remove(f"{_ELECTION}/{vote}")

    def auditor(self) -> str | None:
        """Who was elected, None as long as the first candidate has not said that it is."""
        votes = self.votes()
        elected = _candidate(self._metadata.text(_ELECTION))
        return elected if votes and next(iter(votes.values())) == elected else None

    def checked(self) -> bool:
        """Whether an auditor has checked all ledgers once, or will not because repair is switched off.

        An auditor that finds no recorded time of such a check starts one
        (``Auditor#scheduleCheckAllLedgersTask``).
        """
        return not {_FIRST_CHECK, _SWITCHED_OFF}.isdisjoint(self._metadata.children(_REPAIR))

    def under_replicated(self) -> list[int]:
        """Ledgers that are marked as lacking copies, ascending."""
        return sorted(self._below(f"{_REPAIR}/ledgers"))

    def under_repair(self) -> list[int]:
        """Ledgers that a worker has locked, ascending."""
        return sorted(self._below(f"{_REPAIR}/locks"))

    def _below(self, path: str) -> Iterator[int]:
        for child in self._metadata.children(path):
            ledger = _LEDGER.fullmatch(child)
            if ledger:
                yield int(ledger[1])
            else:
                yield from self._below(f"{path}/{child}")


def _candidate(text: str | None) -> str | None:
    found = _NAMED.search(text or "")
    return name_of_id(found[1]) if found else None
