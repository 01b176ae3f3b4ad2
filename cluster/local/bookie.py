"""A bookie as a plain process: its settings, its boots, and how its readiness is seen."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from cluster.answers import answer, listening
from cluster.configuration import (
    ROCKSDB_OPTIONS,
    Effective,
    Layers,
    bookie_properties,
    direct_memory_mb,
    java_properties,
    needs_rocksdb_conf,
)
from cluster.local.archives import BOOKIE as ROLE
from cluster.local.jvm import JavaProgram
from cluster.local.ladder import Rung
from cluster.local.process import Launch, LocalProcess
from cluster.local.site import Site
from cluster.metadata import ZooKeeperMetadata
from protocol.addresses import bookie_number
from protocol.errors import ServerError

MAIN = "org.apache.bookkeeper.server.Main"
_NO_LEDGER, _NO_ENTRY = 2**40, 2**40
_PROBE_TIMEOUT_S = 1.0


class LocalBookie(LocalProcess):
    """A bookie; its journal and ledgers are in ``data``, each boot's settings in ``boot-<n>.conf``."""

    def __init__(self, name: str, site: Site, metadata: ZooKeeperMetadata) -> None:
        super().__init__(name, site.folder(name), site.keeper, site.events)
        self._site = site
        self._metadata = metadata
        self._layers = site.spec.bookie_layers()
        self._version = site.spec.version_of(name)
        self._former: int | None = None  # registration of an earlier boot that may still be there
        self.address = site.addresses.direct(name)

    @property
    def version(self) -> str:
        """The release of the present or next boot."""
        return self._version

    def effective(self) -> Effective:
        """The settings of the present or next boot."""
        return bookie_properties(
            self.name,
            self._layers,
            folder=f"{self.folder}/data",
            zookeeper=self._site.zookeeper(bookie_number(self.name)),
            version=self._version,
        )

    def probe(self, ledger: int = _NO_LEDGER, entry: int = _NO_ENTRY, *, timeout_s: float) -> int | None:
        """The status of a plain read sent straight to it, None without an answer."""
        return answer(self.address, ledger, entry, timeout_s=timeout_s)

    def marked_ns(self) -> int:
        """When it last wrote its journal's mark (``Journal#rollLog``), by the file system's clock."""
        mark = self.folder / "data" / "ledgers" / "current" / "lastMark"
        return mark.stat().st_mtime_ns if mark.exists() else 0

    def _change(self, conf: Mapping[str, str], version: str | None) -> None:
        layers = self._layers
        self._layers = Layers(layers.base, layers.mode, {**layers.plan, **conf}, layers.user)
        self._version = version or self._version

    def _launch(self, boot: int) -> Launch:
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        properties = self.effective().properties
        conf = self.folder / f"boot-{boot}.conf"
        conf.write_text(java_properties(properties))
        if needs_rocksdb_conf(self._version):
            (data / "rocksdb.conf").write_text(ROCKSDB_OPTIONS)
        if boot > 1:
            self._settle_registration()
        program = JavaProgram(
            MAIN, self._version, self.folder, boot, ROLE, direct_memory_mb=direct_memory_mb(properties)
        )
        return self._site.launch(program, ["--conf", str(conf)], source=bookie_number(self.name))

    def _settle_registration(self) -> None:
        last = self._exits.get(self.boot)
        if last is not None and last.signal == signal.SIGKILL and self._site.spec.forget_registrations:
            self._metadata.forget_registration(self.name)
        self._former = self._metadata.registration(self.name)

    def _rungs(self) -> Sequence[Rung]:
        return (
            Rung("listening", lambda: listening(self.address)),
            Rung("registered", self._registered),
            Rung("answering", lambda: self.probe(timeout_s=_PROBE_TIMEOUT_S) is not None),
        )

    def _registered(self) -> bool:
        try:
            return self._metadata.registration(self.name) not in (None, self._former)
        except ServerError:  # ZooKeeper is away: the time-out of the ladder decides
            return False
