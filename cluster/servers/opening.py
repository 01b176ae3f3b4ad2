"""Starting a cluster: the keeper first, then everything in the order of need, each with its end.

The same for every backend; only the site differs. Inside ``Scopes``, everything that
``cluster`` returns is ready; outside, nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from cluster.links import Links, no_links, open_links
from cluster.metadata import Metadata, RepairRecords
from cluster.processes.keeper_client import KeeperClient
from cluster.processes.process import Process, ProcessState
from cluster.processes.scopes import Scopes
from cluster.processes.settings import RunSpec
from cluster.processes.site import Site
from cluster.servers.admin import AdminProcess
from cluster.servers.autorecovery import AutoRecovery
from cluster.servers.bookie import Bookie
from cluster.servers.client import Client
from cluster.servers.cluster import Cluster
from cluster.servers.proxy import ProxyProcess
from cluster.servers.zookeeper import ZooKeeper
from evidence.recorders import Recorder
from protocol.addresses import FOLLOWER, OBSERVER, autorecovery_names, is_under_test
from protocol.errors import NotReadyError


class Opening:
    """The steps of starting one cluster; each thing started registers its end with ``scopes`` at once.

    The keeper and the record of events are there from the beginning; the backend makes the site of them.
    """

    def __init__(self, spec: RunSpec, scopes: Scopes) -> None:
        self._spec = spec
        self._scopes = scopes
        self._pools: list[ThreadPoolExecutor] = []
        self._hung: list[str] = []
        scopes.on_end("the starting threads", self._join)
        spec.folder.server("keeper").mkdir(parents=True, exist_ok=True)
        self.events = scopes.enter("the record of events", Recorder(spec.folder.events))
        keeper = KeeperClient(spec.folder.events, log=spec.folder.server("keeper") / "keeper.log")
        self.keeper = scopes.enter("the keeper", keeper)

    def cluster(self, site: Site) -> Cluster:
        """Start in the order of need, side by side what does not need each other."""
        spec = self._spec
        zookeeper = ZooKeeper(site)
        proxy = ProxyProcess(site) if spec.linked else None
        first: list[Process] = [zookeeper, *([proxy] if proxy else [])]
        self._start("ZooKeeper and the proxy", first)
        self._ready(first)
        metadata = self._scopes.enter("the metadata connection", Metadata(zookeeper.address))
        metadata.initialise()
        links = self._links(site)
        follower = ZooKeeper(site, FOLLOWER) if spec.following else None
        if follower is not None:
            self._start("ZooKeeper's follower", [follower])
            self._ready([follower])
        bookies = {name: Bookie(name, site, metadata) for name in spec.bookie_names}
        clients = {name: Client(name, number, site) for name, number in spec.client_numbers.items()}
        self._start("the bookies", bookies.values())
        # A client reads the list of bookies when it connects, and learns of others only some time later.
        self._ready(bookies.values())
        self._settle(bookies.values())
        repairs = RepairRecords(metadata)
        autorecovery = {
            name: AutoRecovery(name, site, repairs) for name in autorecovery_names(spec.autorecovery)
        }
        for client in clients.values():
            self._scopes.on_end(f"the conversation with {client.name}", client.close)
        last: list[Process] = [*autorecovery.values(), *clients.values()]
        self._start("autorecovery and the clients", last)
        self._ready(last)
        return Cluster(
            site=site,
            zookeeper=zookeeper,
            follower=follower,
            bookies=bookies,
            clients={name: client for name, client in clients.items() if name != OBSERVER},
            autorecovery=autorecovery,
            links=links,
            metadata=metadata,
            repairs=repairs,
            proxy=proxy,
            watcher=clients.get(OBSERVER),
            admin=AdminProcess(site) if spec.administered else None,
            hung=self._hung,
        )

    def _settle(self, bookies: Iterable[Bookie]) -> None:
        """Sync the bookies' own disks, as time would; BookKeeper does not sync all that it sets up."""
        if self._spec.disks is not None and self._spec.disks.settled:
            for disk in (disk for bookie in bookies for disk in bookie.disks().values()):
                disk.sync()

    def _links(self, site: Site) -> Links:
        spec = self._spec
        if not spec.linked:
            return no_links(site.addresses)
        log = (spec.folder.frames, spec.run_id) if spec.logged else None
        return open_links(site.addresses, spec.sources, spec.bookie_names, following=spec.following, log=log)

    def _join(self) -> None:
        for pool in self._pools:
            pool.shutdown()

    def _start(self, what: str, processes: Iterable[Process]) -> None:
        started = list(processes)
        self._scopes.on_end(what, lambda: self._all(self._stop_or_kill, started))
        self._all(lambda process: process.start(), started)

    def _stop_or_kill(self, process: Process) -> None:
        """End it in order if it can be, else at once; the keeper would kill it anyway.

        That a server under test hangs is a result: the cluster closes without an error, and says so.
        """
        if process.state is ProcessState.DOWN:
            process.capture_disk()
            return
        try:
            process.stop(self._spec.stop_timeout_s)
        except NotReadyError as error:
            if not is_under_test(process.name):
                raise
            self._hung.append(f"{process.name} was killed at the end of the run: {error}")
        finally:
            if process.ended(process.boot, 0) is None:
                process.kill()

    def _ready(self, processes: Iterable[Process]) -> None:
        self._all(lambda process: process.wait_ready(self._spec.ready_timeout_s), list(processes))

    def _all(self, act: Callable[[Process], None], processes: list[Process]) -> None:
        """Act on all at once; the first error is raised when all threads have ended.

        The threads are joined at the very end: an interrupt here does not wait for threads that
        wait for readiness, because their processes are ended first.
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
