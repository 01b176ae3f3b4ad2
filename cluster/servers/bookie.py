"""A bookie: its settings, its boots, and how its readiness is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.configuration import (
    ROCKSDB_OPTIONS,
    Properties,
    bookie_properties,
    direct_memory_mb,
    needs_rocksdb_conf,
)
from cluster.metadata import Metadata
from cluster.processes.process import ProcessState, Rung, Store
from cluster.processes.runner import BOOKIE as ROLE
from cluster.processes.runner import Launch
from cluster.processes.site import JavaProgram, Site
from cluster.servers.answers import answer, listening
from cluster.servers.disks import Disk, disks_of
from cluster.servers.holdings import DiskRecord
from evidence.codes import CONFIGURED
from evidence.raw.disk_layout import mark_names
from plans.cluster import LEDGERS, index_directories, journal_directories, ledger_directories
from protocol.addresses import bookie_number
from protocol.errors import ServerError
from protocol.modes import JOURNALING, flag

MAIN = "org.apache.bookkeeper.server.Main"
_NO_LEDGER, _NO_ENTRY = 2**40, 2**40
_PROBE_TIMEOUT_S = 1.0


class Bookie(Store):
    """A bookie; its journal and ledgers are in ``data``, each boot's settings in ``boot-<n>.conf``.

    Where the run has disks, ``data`` is a file system that only the keeper and its servers see.
    """

    def __init__(self, name: str, site: Site, metadata: Metadata) -> None:
        super().__init__(name, site, site.spec.bookie_layers())
        self._metadata = metadata
        self._latest: int | None = None  # registration of the latest boot that was seen registered
        self._former: int | None = None  # registration of an earlier boot that may still be there
        self._deaths = DiskRecord(site.spec.folder.holdings, name)
        self._disks = disks_of(self.folder, site.spec.disks, site.keeper)
        self.address = site.addresses.direct(name)

    def properties(self) -> Properties:
        """The settings of the present or next boot."""
        return bookie_properties(
            self.name,
            self._layers,
            folder=f"{self.folder}/data",
            zookeeper=self._site.zookeeper(bookie_number(self.name)),
            version=self.version,
        ).properties

    def places(self) -> Mapping[str, Path]:
        """Where its journals, its ledger directories (entry logs, index, marks) and separate index are."""
        data = self.folder / "data"
        seen = self._site.keeper.seen(data) if self._disks else data
        plan = self._layers.plan
        names = (*journal_directories(plan), *ledger_directories(plan), *index_directories(plan))
        return {name: seen / name for name in names}

    def disks(self) -> Mapping[str, Disk]:
        """Its disks by name; empty when the plan gave it none."""
        return self._disks

    def capture_disk(self) -> None:
        """Copy what its disk held at its death into the evidence, once, if it died uncleanly.

        Not of a disk that is still to be mounted again: what is read there now may be in memory only.
        """
        with self._order:
            if self.state is ProcessState.DOWN and all(disk.sound for disk in self._disks.values()):
                reused = flag(self.properties(), "journalReuseFiles", default=False)
                self._deaths.take(self._exits.get(self.boot), self.places(), reused=reused)

    def marked_ns(self) -> int:
        """When it last wrote the mark of its last journal (``Journal#rollLog``), which ends a checkpoint.

        By the clock of its file system; 0 before the first. A checkpoint writes the marks in the order of the
        journals (``CheckpointSourceList``).
        """
        plan = self._layers.plan
        *_, name = mark_names(len(journal_directories(plan)))
        mark = self.places()[ledger_directories(plan)[0]] / "current" / name
        return mark.stat().st_mtime_ns if mark.exists() else 0

    def _launch(self, boot: int) -> Launch:
        self.capture_disk()
        if boot == 1:
            for disk in self._disks.values():
                disk.make()
        self._assert_disks()
        data = self.places()[journal_directories(self._layers.plan)[0]].parent
        data.mkdir(exist_ok=True)
        properties = self.properties()
        conf = self._write_conf(boot, properties)
        journaling = {key: properties[key] for key in JOURNALING if key in properties}
        self._record(boot, CONFIGURED, conf=journaling)
        if needs_rocksdb_conf(self.version):
            (data / "rocksdb.conf").write_text(ROCKSDB_OPTIONS)
        if boot > 1:
            self._settle_registration()
        program = JavaProgram(
            MAIN, self.version, self.folder, boot, ROLE, direct_memory_mb=direct_memory_mb(properties)
        )
        return self._site.launch(program, ["--conf", conf], source=bookie_number(self.name))

    def _assert_disks(self) -> None:
        """Without its mount a bookie would start with empty folders on the machine's own disk."""
        for disk in self._disks.values():
            if not disk.mounted:
                raise ServerError(f"{self.name} cannot start: its disk {disk.name} is not mounted")
        more = [name for name in self.places() if name not in self._disks]
        if more and LEDGERS in self._disks:
            raise ServerError(
                f"{self.name} cannot start: its directory {more[0]} would be on none of its disks",
                remedy=f"give it a disk (`more: [{more[0]}]`), or all of them one (`journal: shared`)",
            )

    def _settle_registration(self) -> None:
        try:
            if self._was_killed() and self._site.spec.forget_registrations:
                self._metadata.forget_registration(self.name)
            self._former = self._metadata.registration(self.name)
        except ServerError:  # ZooKeeper is away: what was registered last may still be when it is back
            self._former = self._latest

    def _rungs(self) -> Sequence[Rung]:
        return (
            ("listening", lambda: listening(self.address)),
            ("registered", self._registered),
            ("answering", self._answers),
        )

    def _answers(self) -> bool:
        return answer(self.address, _NO_LEDGER, _NO_ENTRY, timeout_s=_PROBE_TIMEOUT_S) is not None

    def _registered(self) -> bool:
        try:
            found = self._metadata.registration(self.name)
        except ServerError:  # ZooKeeper is away: the time-out of the ladder decides
            return False
        if found in (None, self._former):
            return False
        self._latest = found
        return True
