"""What all processes of one local cluster share: folder, keeper, addresses, events, archives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cluster.keeping import Keeper
from cluster.local.archives import Archives
from cluster.local.jvm import JavaProgram, hosts_file, java_argv, java_environment, prepare_folder
from cluster.local.process import Launch
from cluster.local.settings import LocalSpec
from evidence.recorders import Recorder
from protocol.addresses import ZOOKEEPER, AddressPlan


@dataclass(frozen=True, slots=True)
class Site:
    """Where the processes of a run live; immutable, made once the octet is leased."""

    spec: LocalSpec
    keeper: Keeper
    addresses: AddressPlan
    events: Recorder
    archives: Archives

    def folder(self, name: str) -> Path:
        """A process's own folder, absolute."""
        return self.spec.folder.server(name).absolute()

    def zookeeper(self, source: int) -> tuple[str, int]:
        """ZooKeeper's address as source number ``source`` shall use it."""
        return self.addresses.link(source if self.spec.linked else 0, ZOOKEEPER)

    def launch(self, program: JavaProgram, arguments: list[str], *, source: int = 0) -> Launch:
        """Prepare the program's folder and give its command line; names mean what ``source`` reaches."""
        hosts = hosts_file(self.addresses, source, self.spec.bookies, linked=self.spec.linked)
        prepare_folder(program, hosts)
        archive = self.archives.options(program.version, program.role)
        return Launch(java_argv(program, arguments, archive=archive), java_environment())
