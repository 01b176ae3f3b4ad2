"""The backend in containers: the same cluster as of plain processes, run by a Docker engine of this machine.

Every server and client has a separate network, and the proxy is in all of them (``BridgedPlan``). The
run's folder is shared at the same paths, and everything runs as this user, so logs, settings, evidence
and faults on files are the same. The keeper owns it all here too: when the harness is gone, it removes
what carries the run's label. Disks are mounted by it among the machine's own mounts, where the engine
sees them.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from cluster.docker.composing import Composition
from cluster.docker.containers import Containers, Prelude
from cluster.docker.engine import Engine
from cluster.docker.images import PROGRAMS
from cluster.docker.labels import KEEPER_LABEL, RUN_LABEL, identity
from cluster.docker.machine import require, taken_octets
from cluster.docker.project import Project
from cluster.processes.keeper_client import KeeperClient
from cluster.processes.scopes import Scopes
from cluster.processes.settings import RunSpec
from cluster.processes.site import Site
from cluster.releases.artifacts import CHECKOUT
from cluster.servers.cluster import Cluster
from cluster.servers.disks import mount_points
from cluster.servers.opening import Opening
from protocol.addresses import PROXY, BridgedPlan
from protocol.errors import UsageError

network = "10"
prepare = require
_SWEEP = ("env", f"PYTHONPATH={CHECKOUT}", sys.executable, "-P", "-m", "cluster.docker.engine")


@contextmanager
def open_cluster(spec: RunSpec) -> Iterator[Cluster]:
    """Start everything, and end everything in reverse whatever happens; raises as the local backend does."""
    if not spec.linked:
        raise UsageError("containers reach each other only through links, and this run is without links")
    with Scopes() as scopes:
        opening = Opening(spec, scopes)
        keeper = opening.keeper
        engine = Engine()
        scopes.on_end("the connections to the engine", engine.close)
        addresses = BridgedPlan(keeper.lease(besides=taken_octets()))
        name = f"fencepost-{secrets.token_hex(6)}"
        labels = {RUN_LABEL: name, KEEPER_LABEL: identity(keeper.pid)}
        composition = Composition(spec, addresses, labels, f"{os.geteuid()}:{os.getegid()}")
        _make_folders(composition)
        project = Project(engine, composition, spec.folder.servers)
        undo = keeper.undo([*_SWEEP, f"{RUN_LABEL}={name}"])
        scopes.on_end("the containers", lambda: _down(project, keeper, undo))
        project.up()
        preludes = {PROXY: _proxy_prelude(composition), **_disk_preludes(spec)}
        containers = Containers(engine, project, spec.folder.events, preludes=preludes)
        scopes.on_end("the watch over the containers", containers.close)
        containers.watch(f"{RUN_LABEL}={name}")
        site = Site(spec, keeper, containers, addresses, opening.events, PROGRAMS)
        yield opening.cluster(site)


def _make_folders(composition: Composition) -> None:
    """What a container sees must be there, and this user's, before the container is made."""
    spec = composition.spec
    names = [PROXY, *composition.numbers()]
    for folder in (spec.folder.operations, spec.folder.frames, *(spec.folder.server(name) for name in names)):
        folder.mkdir(parents=True, exist_ok=True)


def _down(project: Project, keeper: KeeperClient, undo: int) -> None:
    """Remove everything in order; when that fails, the keeper removes it at its end."""
    project.down()
    keeper.forget(undo)


def _proxy_prelude(composition: Composition) -> Prelude:
    """The proxy's container takes the addresses of all links, then runs as this user.

    Where an address lies does not matter to the kernel: it answers for those of ``lo`` in every network.
    """
    lines = [f"ip address add {address}/32 dev lo" for address in composition.proxy_addresses()]
    uid, _, gid = composition.user.partition(":")
    through = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
    return Prelude(lines, through)


def disk_prelude(points: Iterable[Path]) -> Prelude:
    """Commands that end the boot when the engine does not see a mounted disk.

    Without them the bookie would start with empty folders on the machine's disk.
    """
    unseen = "is no disk here: the engine does not see what the harness mounts"
    return Prelude(
        [f"mountpoint -q {quote(str(one))} || {{ echo {one.name} {unseen}; exit 1; }}" for one in points]
    )


def _disk_preludes(spec: RunSpec) -> dict[str, Prelude]:
    if spec.disks is None:
        return {}
    folders = {name: spec.folder.server(name).absolute() for name in spec.bookie_names}
    return {name: disk_prelude(mount_points(own, spec.disks).values()) for name, own in folders.items()}
