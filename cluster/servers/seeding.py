"""Which processes load the agent: only the processes for which the run declares a seeded defect or a cure.

The observer and admin commands are never changed: they supply the evidence.
"""

from __future__ import annotations

from cluster import artifacts
from cluster.servers.jvm import JavaProgram
from cluster.servers.settings import RunSpec
from plans.defects import ordered, without_process
from protocol.addresses import is_autorecovery, is_bookie


def agent_options(spec: RunSpec, program: JavaProgram) -> list[str]:
    """JVM options for one boot of a program; none in a run of an unchanged BookKeeper."""
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
