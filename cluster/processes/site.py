"""What all processes of one cluster share, and the command lines of its Java processes.

Memory, hosts file, logging, class-data archive, agent: every option has its reason beside it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.processes.keeper_client import KeeperClient
from cluster.processes.runner import Java, Launch, Programs, Runner
from cluster.processes.settings import HEAP_MB, RunSpec
from cluster.releases import artifacts
from evidence.recorders import Recorder
from plans.defects import ordered, without_process
from protocol.addresses import ZOOKEEPER, AddressPlan, bookie_name, is_autorecovery, is_bookie

_OPEN = ("java.base/java.nio", "java.base/jdk.internal.misc", "java.base/java.io", "java.base/java.util.zip")
# Each line begins with System.nanoTime() and the wall time in ms. BookKeeper 4.18 logs by slog, which
# hands log4j2 finished events without the former: they begin with 0, and only the wall time counts.
_LOGGING = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="warn">
  <Appenders>
    <Console name="out" target="{target}">
      <PatternLayout pattern="%N %d{{UNIX_MILLIS}} %-5p [%t] %c{{1}} - %m %X%n"/>
    </Console>
  </Appenders>
  <Loggers>
    <Root level="info"><AppenderRef ref="out"/></Root>
  </Loggers>
</Configuration>
"""


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """A main class of one release, and where its process may write."""

    main: str
    version: str
    folder: Path
    boot: int
    role: str
    direct_memory_mb: int = 64
    heap_mb: int = HEAP_MB
    log_to: str = "SYSTEM_OUT"


@dataclass(frozen=True, slots=True)
class Site:
    """Where the processes of a run live; immutable, made once the octet is leased."""

    spec: RunSpec
    keeper: KeeperClient
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
        spec, machine, folder = self.spec, self.programs.machine, program.folder
        shutil.rmtree(folder / "tmp", ignore_errors=True)
        (folder / "tmp").mkdir(parents=True)
        hosts = hosts_file(self.addresses, source, spec.bookies, linked=spec.linked, machine=machine)
        (folder / "hosts").write_text(hosts)
        (folder / "log4j2.xml").write_text(_LOGGING.format(target=program.log_to))
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


def java_argv(java: Java, program: JavaProgram, arguments: Sequence[str]) -> list[str]:
    """The command line of a program."""
    folder = program.folder
    return [
        java.command,
        # Small and quick to start: many JVMs share few cores and live for seconds.
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xms32m",
        f"-Xmx{program.heap_mb}m",
        f"-XX:MaxDirectMemorySize={program.direct_memory_mb}m",
        *java.options,
        # Nothing is written outside the run folder, and nothing but the program's own to stdout.
        "-XX:-UsePerfData",
        "-XX:+DisplayVMOutputToStderr",
        "-Xlog:disable",
        "-Xlog:all=warning:stderr",
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={folder}/boot-{program.boot}-crash.log",
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        *(option for package in _OPEN for option in ("--add-opens", f"{package}=ALL-UNNAMED")),
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Djava.net.preferIPv4Stack=true",
        "-Duser.timezone=UTC",  # releases before 4.15 date their lines by the day
        f"-Djdk.net.hosts.file={folder}/hosts",
        f"-Dlog4j2.configurationFile={folder}/log4j2.xml",
        "-Dlog4j2.disableJmx=true",  # no tool asks; a tenth of a start
        "-Dlog4j.shutdownHookEnabled=false",  # else nothing is logged of an ordered end
        "-cp",
        java.class_path,
        program.main,
        *arguments,
    ]


def hosts_file(addresses: AddressPlan, source: int, bookies: int, *, linked: bool, machine: str) -> str:
    """What names mean to source number ``source``: its links to the bookies, its own address direct.

    A JVM that is given a hosts file asks nothing else, so the name of its ``machine`` is in it too.
    A bookie can also run ``at-b2``, the address of b2.
    """
    lines = ["127.0.0.1 localhost"]
    if machine != "localhost" and not is_bookie(machine):
        lines.append(f"127.0.0.1 {machine}")
    for number in range(1, bookies + 1):
        through = source if linked and number != source else 0
        host, _ = addresses.link(through, bookie_name(number))
        lines.append(f"{host} {bookie_name(number)}")
        if linked and source in range(1, bookies + 1):
            direct, _ = addresses.link(0, bookie_name(number))
            lines.append(f"{direct} at-{bookie_name(number)}")
    return "\n".join(lines) + "\n"
