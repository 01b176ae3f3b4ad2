"""Experiments in containers: verdicts as with plain processes, and nothing that outlives its owner."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cluster.docker import packets
from cluster.docker.backend import open_cluster
from cluster.docker.engine import Engine, Item
from cluster.docker.labels import KEEPER_LABEL, RUN_LABEL, SERVICE_LABEL, abandoned
from cluster.interface import PacketDirection, ProcessState
from cluster.processes.settings import RunSpec
from cluster.servers.disks import unavailable_reason
from evidence.folder import RunFolder
from evidence.recorders import read_lines
from protocol.modes import MODES
from tests.published import outcome_of, published

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 600
COMMAND = "from cli.main import main; main()"
pytestmark = pytest.mark.usefixtures("engine")


def labelled(label: str) -> list[Item]:
    with closing(Engine()) as engine:
        return [*engine.containers(label), *engine.networks(label)]


def containers_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The containers that see a folder below this one, by service."""
    found = labelled(RUN_LABEL)
    return {one["Labels"][SERVICE_LABEL]: one for one in found if str(folder) in str(one.get("Mounts"))}


def left_of(run: str) -> list[str]:
    """Containers and networks that the engine still has of a run."""
    return [one["Id"] for one in labelled(f"{RUN_LABEL}={run}")]


def eventually(condition: Callable[[], bool], what: str, timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    pause = time.sleep
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        pause(0.1)


def fencepost(results: Path, *arguments: str) -> str:
    """The command's output; it must exit with 0: each run was as its scenario expects."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=ROOT,
        env={**os.environ, "FENCEPOST_RESULTS": str(results), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def test_the_verdicts_are_those_of_plain_processes(tmp_path: Path) -> None:
    """On which ``tests/live/harness/test_truncation.py`` runs the same."""
    modes = ("--mode", "unprotected", "--mode", "protected", "--seed", "1", "--times", "1")
    fencepost(tmp_path, "run", "bp46/truncation", "--backend", "docker", *modes)
    found = {path.parent.name: path for path in tmp_path.rglob("run.json")}
    assert found.keys() == {"unprotected", "protected"}
    for mode, path in found.items():
        assert json.loads(path.read_text())["backend"] == "docker"
        judged = json.loads((path.parent / "verdict.json").read_text())
        assert outcome_of(judged["judgements"]) == published(mode)


@pytest.mark.skipif(unavailable_reason() is not None, reason=f"no dedicated disks: {unavailable_reason()}")
def test_a_power_loss_takes_what_was_never_synced(tmp_path: Path) -> None:
    fencepost(tmp_path, "run", "bp46/power-loss", "--backend", "docker", "--mode", "unprotected")
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()


def reaches(container: dict[str, Any], address: tuple[str, int]) -> bool:
    """Whether a connection from inside a container is accepted; what is far away does not answer at all."""
    host, port = address
    words = ["timeout", "3", "bash", "-c", f"exec 3<>/dev/tcp/{host}/{port}"]
    done = subprocess.run(["docker", "exec", container["Id"], *words], capture_output=True, timeout=60)
    return done.returncode == 0


def assert_refused_at_once(server: tuple[str, int], *, through: tuple[str, int]) -> None:
    """Refused at once, like by a machine without the server; a missing machine would take three seconds."""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server, timeout=2)
    with socket.create_connection(through, timeout=2) as connection:
        assert connection.recv(1) == b""


def test_a_server_reaches_others_through_its_own_links_only(tmp_path: Path) -> None:
    spec = RunSpec(RunFolder.create(tmp_path, "mode"), MODES["protected"], bookies=2, observed=False)
    with open_cluster(spec) as cluster:
        there, addresses = containers_of(tmp_path), cluster.site.addresses
        run = there["b1"]["Labels"][RUN_LABEL]
        assert reaches(there["b1"], addresses.link(1, "b2"))
        assert reaches(there["b1"], addresses.link(1, "zk1"))
        for elsewhere in (addresses.direct("b2"), addresses.direct("zk1"), addresses.link(2, "zk1")):
            assert not reaches(there["b1"], elsewhere)
        cluster.links.cut("b1", "b2")
        assert not reaches(there["b1"], addresses.link(1, "b2"))

        cluster.links.heal("b1", "b2")
        assert cluster.networks is not None
        cluster.networks.disconnect("b2")
        assert not cluster.networks.connected("b2")
        assert cluster.answer("b2", 1, 1, timeout_s=0.5) is None
        with socket.create_connection(addresses.link(1, "b2"), timeout=2) as connection:
            connection.settimeout(20)
            assert connection.recv(1) == b""  # given up, and the link is free for others and for orders
        cluster.networks.connect("b2")
        assert cluster.answer("b2", 1, 1, timeout_s=10) is not None

        bookie = cluster.bookies["b2"]
        bookie.pause()
        assert cluster.answer("b2", 1, 1, timeout_s=0.5) is None
        bookie.resume()
        assert cluster.answer("b2", 1, 1, timeout_s=10) is not None
        subprocess.run(["docker", "kill", there["b2"]["Id"]], check=True, capture_output=True)
        eventually(lambda: bookie.state is ProcessState.DOWN, "the death of b2")
        assert [(death.server, death.boot, death.signal) for death in cluster.unplanned()] == [("b2", 1, 9)]
        assert_refused_at_once(addresses.direct("b2"), through=addresses.link(1, "b2"))
    assert left_of(run) == []
    ends = [line["server"] for line in read_lines(spec.folder.events).records if line["event"] == "exit"]
    assert sorted(ends) == ["b1", "b2", "proxy", "zk1"]


_SYN_RECV = "03"


def half_open(pid: int) -> int:
    """Half-open connections of a process's network: SYN received, handshake not finished."""
    tables = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    return sum(line.split()[3] == _SYN_RECV for table in tables for line in table.splitlines()[1:])


@pytest.mark.skipif(
    packets.unavailable_reason() is not None,
    reason=f"no packets can be dropped: {packets.unavailable_reason()}",
)
def test_a_server_that_nobody_hears_still_hears(tmp_path: Path) -> None:
    spec = RunSpec(RunFolder.create(tmp_path, "mode"), MODES["protected"], bookies=1, observed=False)
    with open_cluster(spec) as cluster:
        networks = cluster.networks
        assert networks is not None
        pid = cluster.bookies["b1"].pid
        networks.drop_packets("b1", [PacketDirection.INCOMING])
        assert cluster.answer("b1", 1, 1, timeout_s=0.5) is None
        assert networks.dropped_packets("b1")[PacketDirection.INCOMING] > 0
        assert half_open(pid) == 0
        networks.drop_packets("b1", [PacketDirection.OUTGOING])
        assert cluster.answer("b1", 1, 1, timeout_s=0.5) is None
        assert networks.dropped_packets("b1").keys() == {PacketDirection.OUTGOING}
        assert half_open(pid) > 0
        networks.drop_packets("b1", [])
        assert networks.dropped_packets("b1") == {}
        assert cluster.answer("b1", 1, 1, timeout_s=10) is not None


HARNESS = """
import sys, time
from pathlib import Path
from cluster.docker.backend import open_cluster
from cluster.processes.settings import RunSpec
from evidence.folder import RunFolder
from protocol.modes import MODES
from tests.published import outcome_of, published
folder = RunFolder(Path(sys.argv[1]))
with open_cluster(RunSpec(folder, MODES["protected"], bookies=1, observed=False)) as cluster:
    print(cluster.site.keeper.pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """A process that has a cluster in containers, the pid of its keeper, and its run's label."""
    folder = RunFolder.create(tmp_path, "mode").path
    words = [sys.executable, "-c", HARNESS, str(folder)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        keeper = int(process.stdout.readline())
        labels = containers_of(folder)["b1"]["Labels"]
        assert labels[KEEPER_LABEL].startswith(f"{keeper}:")
        made = len(["proxy", "zk1", "zk1-net", "b1", "b1-net"]) + len(["zk1", "b1"])
        assert len(left_of(labels[RUN_LABEL])) == made
        yield process, keeper, labels[RUN_LABEL]
        process.kill()
    with closing(Engine()) as engine:
        engine.sweep(f"{RUN_LABEL}={labels[RUN_LABEL]}")


def test_nothing_outlives_a_killed_harness_and_another_run_is_not_met(
    harness: tuple[subprocess.Popen[str], int, str], tmp_path: Path
) -> None:
    process, _, run = harness
    spec = RunSpec(RunFolder.create(tmp_path, "other"), MODES["protected"], bookies=1, observed=False)
    with open_cluster(spec) as other:
        assert run not in abandoned(labelled(RUN_LABEL))
        process.kill()
        eventually(lambda: left_of(run) == [], "the keeper to remove everything")
        assert other.answer("b1", 1, 1) is not None
        assert not other.unplanned()


def test_clean_removes_what_not_even_the_keeper_could(
    harness: tuple[subprocess.Popen[str], int, str], tmp_path: Path
) -> None:
    process, keeper, run = harness
    os.kill(process.pid, signal.SIGSTOP)  # or it would notice, and clear up itself
    os.kill(keeper, signal.SIGKILL)
    process.kill()
    process.wait()
    assert left_of(run) != []
    assert f"of {run} from Docker" in fencepost(tmp_path, "clean")
    assert left_of(run) == []
