"""The metadata store as the harness sees it: straight to ZooKeeper, past every link.

One kazoo client per run; its threads end with ``close``. kazoo's errors end here, translated.
Knows BookKeeper's paths, not its servers' processes.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from protocol.addresses import bookie_id, name_of_id
from protocol.errors import NotReadyError, ServerError
from protocol.metadata import LedgerMetadata
from protocol.wire import decode_metadata, ledger_of_path, ledger_path

ROOT = "/ledgers"
AVAILABLE = f"{ROOT}/available"
READONLY = f"{AVAILABLE}/readonly"
_NO_LEDGERS = frozenset(
    {"available", "cookies", "idgen", "underreplication", "idgen-long", "LAYOUT", "INSTANCEID"}
)
_LAYOUT = b"2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1"
_LOG = logging.getLogger("fencepost.kazoo")
_LOG.setLevel(logging.ERROR)


class ZooKeeperMetadata:
    """A connection to the run's ZooKeeper; thread-safe; a context manager that closes it."""

    def __init__(self, address: tuple[str, int], *, timeout_s: float = 5) -> None:
        host, port = address
        self._hosts = f"{host}:{port}"
        self._timeout_s = timeout_s
        self._client = KazooClient(hosts=self._hosts, timeout=timeout_s, logger=_LOG)
        try:
            self._client.start(timeout=timeout_s)
        except KazooTimeoutError as error:
            self.close()
            raise NotReadyError(f"ZooKeeper at {self._hosts} gave no session in {timeout_s} s") from error

    def __enter__(self) -> ZooKeeperMetadata:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session and kazoo's threads."""
        self._client.stop()
        self._client.close()

    def initialise(self) -> str:
        """Make what a new cluster needs below ``/ledgers``; returns the instance id.

        With the layout there, servers and clients that start at once do not race to make it.
        """
        with self._translated("initialise the metadata store"):
            self._ask("ensure_path", READONLY)
            instance = str(uuid.uuid4())
            for name, data in (("INSTANCEID", instance.encode()), ("LAYOUT", _LAYOUT)):
                with contextlib.suppress(NodeExistsError):
                    self._ask("create", f"{ROOT}/{name}", data)
            return str(self._ask("get", f"{ROOT}/INSTANCEID")[0].decode())

    def registered(self) -> frozenset[str]:
        """Names of the bookies that are registered (writable or read-only)."""
        with self._translated("list the registered bookies"):
            ids = {*self._ask("get_children", AVAILABLE), *self._ask("get_children", READONLY)}
        return frozenset(map(name_of_id, ids - {"readonly"}))

    def registration(self, bookie: str) -> int | None:
        """The zxid of a bookie's registration, None when it has none; a new boot has a new one."""
        with self._translated(f"look up the registration of {bookie}"):
            for folder in (AVAILABLE, READONLY):
                stat = self._ask("exists", f"{folder}/{bookie_id(bookie)}")
                if stat is not None:
                    return int(stat.czxid)
        return None

    def forget_registration(self, bookie: str) -> None:
        """Delete what a killed bookie left registered; its next boot would wait for it to expire."""
        with self._translated(f"delete the registration of {bookie}"):
            for folder in (AVAILABLE, READONLY):
                with contextlib.suppress(NoNodeError):
                    self._ask("delete", f"{folder}/{bookie_id(bookie)}")

    def ledger(self, ledger: int) -> tuple[LedgerMetadata, int] | None:
        """A ledger's metadata and its version, or None when there is none."""
        with self._translated(f"read the metadata of ledger {ledger}"):
            try:
                data, stat = self._ask("get", ROOT + ledger_path(ledger))
            except NoNodeError:
                return None
        return decode_metadata(data), int(stat.version)

    def touch(self, ledger: int) -> int:
        """Write a ledger's metadata anew, unchanged; returns its new version.

        Raises ``ServerError`` when there is none, or when somebody else writes at the same time.
        """
        with self._translated(f"write the metadata of ledger {ledger} anew"):
            path = ROOT + ledger_path(ledger)
            data, stat = self._ask("get", path)
            return int(self._ask("set", path, data, stat.version).version)

    def ledgers(self) -> list[int]:
        """The ids of all ledgers, ascending."""
        with self._translated("list the ledgers"):
            return sorted(self._below(ROOT))

    def _below(self, path: str) -> Iterator[int]:
        try:
            children = self._ask("get_children", path)
        except NoNodeError:  # deleted meanwhile
            return
        for child in children:
            below = f"{path}/{child}"
            ledger = ledger_of_path(below)
            if ledger is not None:
                yield ledger
            elif child not in _NO_LEDGERS:
                yield from self._below(below)

    def _ask(self, verb: str, *arguments: Any) -> Any:
        """One request; kazoo's blocking calls would wait for ever while ZooKeeper is away."""
        return getattr(self._client, f"{verb}_async")(*arguments).get(timeout=self._timeout_s)

    @contextlib.contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except (KazooException, KazooTimeoutError) as error:
            name = type(error).__name__
            raise ServerError(f"ZooKeeper at {self._hosts} could not {what}: {name} {error}") from error
