"""The local backend: a whole cluster of plain processes for one run, begun and ended as one scope.

Use::

    with LocalBackend(LocalSpec(folder, mode, bookies=3, clients=("writer",), run_id=7)).open() as cluster:
        cluster.clients["writer"].call("create", timeout_s=10, handle="h1", ensemble=3, ...)

Inside, everything is ready; outside, nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from cluster.interface import ProcessState
from cluster.keeping import Keeper
from cluster.links import ToxiproxyLinks, open_links
from cluster.local.archives import Archives, CachedArchives
from cluster.local.bookie import LocalBookie
from cluster.local.clients import LocalClient
from cluster.local.cluster import LocalCluster, NoLinks
from cluster.local.process import LocalProcess
from cluster.local.proxy import LocalProxy
from cluster.local.settings import LocalSpec
from cluster.local.site import Site
from cluster.local.zookeeper import LocalZooKeeper
from cluster.metadata import ZooKeeperMetadata
from cluster.scopes import Scopes
from cluster.wirelog import LogOrder
from evidence.recorders import Recorder
from protocol.addresses import BOOKIE_PORT, OBSERVER, PROXY_PORT, ZOOKEEPER_PORT, AddressPlan


class LocalBackend:
    """Makes clusters after one specification; each ``open`` is a fresh one."""

    def __init__(self, spec: LocalSpec, *, archives: Archives | None = None) -> None:
        self._spec = spec
        self._archives = archives

    @contextmanager
    def open(self) -> Iterator[LocalCluster]:
        """Start everything, and end everything in reverse whatever happens.

        Raises ``NotReadyError`` or ``UnplannedDeathError`` when a process does not get ready,
        ``TeardownError`` when something could not be ended in order (it is ended all the same).
        """
        with Scopes() as scopes:
            yield _Opening(self._spec, self._archives or CachedArchives(), scopes).cluster()


class _Opening:
    """The steps of starting one cluster; each thing started registers its end at once."""

    def __init__(self, spec: LocalSpec, archives: Archives, scopes: Scopes) -> None:
        self._spec = spec
        self._scopes = scopes
        self._pools: list[ThreadPoolExecutor] = []
        scopes.on_end("the starting threads", self._join)
        spec.folder.server("keeper").mkdir(parents=True, exist_ok=True)
        events = scopes.enter("the record of events", Recorder(spec.folder.events))
        keeper = Keeper(spec.folder.events, log=spec.folder.server("keeper") / "keeper.log")
        self._keeper = scopes.enter("the keeper", keeper)
        ports = (ZOOKEEPER_PORT, BOOKIE_PORT, PROXY_PORT)
        self._site = Site(spec, keeper, AddressPlan(keeper.lease(ports)), events, archives)

    def cluster(self) -> LocalCluster:
        """Start in the order of need, side by side what does not need each other."""
        zookeeper = LocalZooKeeper(self._site)
        first: list[LocalProcess] = [zookeeper]
        proxy = LocalProxy(self._site) if self._spec.linked else None
        if proxy is not None:
            first.append(proxy)
        self._start("ZooKeeper and the proxy", first)
        self._ready(first)
        metadata = self._scopes.enter("the metadata connection", ZooKeeperMetadata(zookeeper.address))
        metadata.initialise()
        links = NoLinks() if proxy is None else self._links()
        bookies = {name: LocalBookie(name, self._site, metadata) for name in self._spec.bookie_names}
        clients = {
            name: LocalClient(name, number, self._site) for name, number in self._spec.client_numbers.items()
        }
        self._start("the bookies", bookies.values())
        # A client reads which bookies there are when it connects, and hears of others only some time later.
        self._ready(list(bookies.values()))
        for client in clients.values():
            self._scopes.on_end(f"the conversation with {client.name}", client.close)
        self._start("the clients", clients.values())
        self._ready(list(clients.values()))
        observer = clients.pop(OBSERVER, None)
        return LocalCluster(self._site, zookeeper, proxy, bookies, clients, observer, links, metadata)

    def _links(self) -> ToxiproxyLinks:
        spec = self._spec
        log = LogOrder(spec.folder.frames, spec.run_id) if spec.logged else None
        return open_links(self._site.addresses, spec.sources, spec.bookie_names, log=log)

    def _join(self) -> None:
        for pool in self._pools:
            pool.shutdown()

    def _start(self, what: str, processes: Iterable[LocalProcess]) -> None:
        started = list(processes)
        timeout_s = self._spec.stop_timeout_s
        self._scopes.on_end(what, lambda: self._all(lambda one: _stop_or_kill(one, timeout_s), started))
        self._all(lambda process: process.start(), started)

    def _ready(self, processes: Iterable[LocalProcess]) -> None:
        self._all(lambda process: process.wait_ready(self._spec.ready_timeout_s), list(processes))

    def _all(self, act: Callable[[LocalProcess], None], processes: list[LocalProcess]) -> None:
        """Act on all at once; the first error is raised when all have come to their end.

        The threads are joined at the very end: an interrupt here does not wait for those that
        wait for readiness, whose processes are ended first.
        """
        pool = ThreadPoolExecutor(max(1, len(processes)), "starting")
        self._pools.append(pool)
        futures = [pool.submit(act, process) for process in processes]
        errors = [error for future in futures if (error := future.exception()) is not None]
        pool.shutdown()
        if errors:
            for more in errors[1:]:
                errors[0].add_note(str(more))
            raise errors[0]


def _stop_or_kill(process: LocalProcess, timeout_s: float) -> None:
    """End it in order if it can be, else at once; the keeper would kill it anyway."""
    if process.state is ProcessState.DOWN:
        return
    try:
        process.stop(timeout_s)
    finally:
        if process.ended(process.boot, 0) is None:
            process.kill()
