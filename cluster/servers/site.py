"""What all processes of one cluster share: folder, keeper, runner, addresses, events, programs."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from cluster import artifacts
from cluster.servers.jvm import JavaProgram, hosts_file, java_argv, prepare_folder
from cluster.servers.keeping import Keeper
from cluster.servers.runner import Launch, Programs, Runner
from cluster.servers.settings import RunSpec
from evidence.recorders import Recorder
from plans.defects import ordered, without_process
from protocol.addresses import ZOOKEEPER, AddressPlan, is_autorecovery, is_bookie


@dataclass(frozen=True, slots=True)
class Site:
    """Where the processes of a run live; immutable, made once the octet is leased."""

    spec: RunSpec
    keeper: Keeper
    runner: Runner
    addresses: AddressPlan
    events: Recorder
    programs: Programs

    def folder(self, name: str) -> Path:
        """A process's own folder, absolute."""
        return self.spec.folder.server(name).absolute()

    def zookeeper(self, source: int) -> tuple[str, int]:
        """ZooKeeper's address for source number ``source``."""
        return self.addresses.link(source if self.spec.linked else 0, ZOOKEEPER)

    def launch(self, program: JavaProgram, arguments: list[str], *, source: int = 0) -> Launch:
        """Prepare the program's folder and give its command line; names mean what ``source`` reaches."""
        spec, machine = self.spec, self.programs.machine
        hosts = hosts_file(self.addresses, source, spec.bookies, linked=spec.linked, machine=machine)
        prepare_folder(program, hosts)
        java = self.programs.java(program.version, program.role)
        java = replace(java, options=(*java.options, *agent_options(spec, program)))
        # None of the user's JAVA_TOOL_OPTIONS and the like.
        env = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
        return Launch(java_argv(java, program, arguments), env, home=java.home)


def agent_options(spec: RunSpec, program: JavaProgram) -> list[str]:
    """JVM options by which one boot loads the seeded defects and cures that the run declares for its process.

    The observer and admin commands are never changed: they supply the evidence.
    """
    name = program.folder.name
    kind = _kind(spec, name)
    wanted = [without_process(order) for order in spec.changes if kind in ordered(order).processes]
    return [
        f"-javaagent:{artifacts.agent_jar()}={order},boot={program.boot}"
        for order, process in wanted
        if process in ("", name)
    ]


def _kind(spec: RunSpec, name: str) -> str:
    if is_bookie(name):
        return "bookie"
    if is_autorecovery(name):
        return "autorecovery"
    return "client" if name in spec.clients else ""
