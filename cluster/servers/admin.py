"""Admin commands: BookKeeper's shell, one command at a time, each in a separate boot.

A command runs in the keeper's care with the release, the settings and, where it works on files, the
folders of its target; it reaches all servers through separate links. Its output is its log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.configuration import metadata_service_uri
from cluster.processes.process import Process, Rung
from cluster.processes.runner import BOOKIE as ROLE
from cluster.processes.runner import Exit, Launch
from cluster.processes.site import JavaProgram, Site
from cluster.servers.bookie import Bookie
from protocol.addresses import ADMIN, ADMIN_NUMBER, bookie_id
from protocol.shell import ShellCommand

MAIN = "org.apache.bookkeeper.bookie.BookieShell"
_CLIENT_KEYS = {"firstSpeculativeReadTimeout": "200", "numIOThreads": "2", "numWorkerThreads": "2"}


@dataclass(frozen=True, slots=True)
class Administered:
    """How an admin command ended: its exit, None when it was killed at its time limit; its output."""

    ended: Exit | None
    output: Path


class AdminProcess(Process):
    """The operator's machine: command n of the run is its boot n."""

    def __init__(self, site: Site) -> None:
        super().__init__(ADMIN, site)
        self._next: tuple[ShellCommand, Bookie] | None = None

    def run(self, command: ShellCommand, target: Bookie, timeout_s: float) -> Administered:
        """Run one command and wait for its end; it is killed after ``timeout_s``."""
        with self._order:
            self._next = command, target
            self.allow_refusal()  # it ends on its own: that is no unplanned death
            aimed = {"target": target.name} if command.targeted else {}
            self._record(self.boot + 1, "command", command=command.name, **aimed)
            self.start()
            ended = self.ended(self.boot, timeout_s)
            if ended is None:
                self.kill()
            return Administered(ended, self.log)

    def _launch(self, boot: int) -> Launch:
        assert self._next is not None  # noqa: S101 - only `run` starts it
        command, target = self._next
        properties = target.properties() | _CLIENT_KEYS
        properties["metadataServiceUri"] = metadata_service_uri(self._site.zookeeper(ADMIN_NUMBER))
        arguments = ["-conf", self._write_conf(boot, properties), *command.words(bookie_id(target.name))]
        program = JavaProgram(MAIN, target.version, self.folder, boot, ROLE)
        return self._site.launch(program, arguments, source=ADMIN_NUMBER)

    def _rungs(self) -> Sequence[Rung]:
        return ()
