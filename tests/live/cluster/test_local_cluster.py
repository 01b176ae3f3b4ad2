"""A cluster of plain processes: it starts, can be hurt and healed, and is gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from cluster.interface import ProcessState
from cluster.servers.answers import listening
from cluster.servers.bookie import Bookie
from cluster.servers.cluster import Cluster
from cluster.waiting import wait_until
from evidence.folder import RunFolder
from evidence.recorders import read_lines
from protocol.errors import NotReadyError, UnplannedDeathError
from protocol.metadata import LedgerState
from tests.length import quick_and_long
from tests.live.clusters import write
from tests.live.terminal import as_in_a_terminal

Opener = Callable[..., AbstractContextManager[Cluster]]
CHECKOUT = Path(__file__).resolve().parents[3]
ONE = {"bookies": 1, "linked": False, "observed": False}
NO_ENTRY, NO_LEDGER, UNKNOWN = 403, 402, 507
ANSWERS = {"unprotected": NO_ENTRY, "protected": UNKNOWN, "journal": 0}


def restart(bookie: Bookie) -> None:
    bookie.kill()
    bookie.start()
    bookie.wait_ready(60)


def rungs(folder: RunFolder, server: str, boot: int) -> list[str]:
    lines = read_lines(folder.events).records
    return [line["event"] for line in lines if line["server"] == server and line["boot"] == boot]


@pytest.mark.parametrize("version", ["4.18.0", "4.15.1", "4.14.7"])
def test_a_cluster_acknowledges_and_is_gone_afterwards(opened: Opener, tmp_path: Path, version: str) -> None:
    with opened(clients=("writer",), version=version) as cluster:
        assert cluster.metadata.registered() == {"b1", "b2", "b3"}
        ledger = write(cluster, 10)
        assert cluster.metadata.ledgers() == [ledger]
        assert cluster.answer("b2", ledger, 0) == 0
        assert cluster.answer("b2", ledger, 10**6) == NO_ENTRY
        assert cluster.answer("b2", ledger + 1, 0) == NO_LEDGER
        cluster.clients["writer"].call("close", timeout_s=60, handle="h")
        found = cluster.metadata.ledger(ledger)
        assert found is not None
        assert (found[0].state, found[0].last_entry) == (LedgerState.CLOSED, 9)
        assert cluster.metadata.ledger(ledger + 1) is None
        assert cluster.unplanned() == []
    folder = RunFolder(tmp_path / "run" / "mode")
    assert rungs(folder, "b1", 1) == ["configured", "started", "listening", "registered", "answering", "exit"]
    assert rungs(folder, "zk1", 1) == ["started", "listening", "answering", "exit"]
    assert rungs(folder, "writer", 1) == ["started", "answering", "exit", "recorded"]
    assert list((folder.server("zk1") / "data" / "version-2").glob("log.*"))
    assert list(folder.operations.glob("writer-001-*.hist"))


@pytest.mark.parametrize("mode", quick_and_long(ANSWERS, ["unprotected", "protected"]))
def test_kill_9_loses_what_is_not_journaled(opened: Opener, mode: str) -> None:
    with opened(mode=mode, clients=("writer",), bookies=2, linked=False, observed=False) as cluster:
        ledger = write(cluster, 50)
        first, second = cluster.bookies["b1"], cluster.bookies["b2"]
        second.pause()  # so that the first cannot repair itself from it
        first.kill()
        assert first.state is ProcessState.DOWN
        first.start()
        first.wait_ready(60)
        assert (first.boot, first.log.name) == (2, "boot-2.log")
        assert cluster.answer("b1", ledger, 49) == ANSWERS[mode]
        second.resume()
        assert cluster.answer("b2", ledger, 49) == 0
        assert cluster.unplanned() == []


def test_settings_and_release_can_change_between_boots(opened: Opener) -> None:
    with opened(clients=("writer",), mode="journal", version="4.17.3", **ONE) as cluster:
        ledger = write(cluster, 5)
        bookie = cluster.bookies["b1"]
        bookie.stop()
        bookie.start(conf={"gcWaitTime": "1234"}, version="4.18.0")
        bookie.wait_ready(60)
        assert cluster.answer("b1", ledger, 4) == 0
        assert "gcWaitTime=1234" in (bookie.folder / "boot-2.conf").read_text()
        assert bookie.version == "4.18.0"


def test_a_bookie_that_waits_for_its_old_registration_is_not_ready(opened: Opener, tmp_path: Path) -> None:
    with opened(forget_registrations=False, bookie_conf={"zkTimeout": "60000"}, **ONE) as cluster:
        bookie = cluster.bookies["b1"]
        bookie.kill()
        bookie.start()
        wait_until(lambda: (listening(bookie.address), "it does not"), 60, "b1 to listen")
        with pytest.raises(NotReadyError) as raised:
            bookie.wait_ready(2)
        message = str(raised.value)
        assert "b1 (boot 2) did not reach 'registered' in 2 s; last rung: 'listening'" in message
        assert f"log: {bookie.log}" in message
        bookie.kill()
        assert cluster.unplanned() == []


def test_a_bookie_with_impossible_settings_says_why_it_ended(opened: Opener) -> None:
    impossible = {"ledgerStorageClass": "no.such.Storage"}
    with pytest.raises(UnplannedDeathError) as raised, opened(bookie_conf=impossible, **ONE):
        raise AssertionError("it must not start")
    message = str(raised.value)
    assert "b1 (boot 1) ended on its own with exit code" in message
    assert "after rung" in message
    assert "no.such.Storage" in message


def test_two_clusters_at_once_never_meet(opened: Opener) -> None:
    small = {"bookies": 1, "clients": ("writer",), "observed": False}
    with opened("one", **small) as one, opened("two", **small) as two:
        assert one.site.addresses.octet != two.site.addresses.octet
        ledger = write(one, 3)
        write(two, 5)
        assert one.answer("b1", ledger, 4) == NO_ENTRY
        assert two.answer("b1", ledger, 4) == 0
        restart(one.bookies["b1"])
        assert two.unplanned() == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_ended_harness_leaves_no_server(opened: Opener, tmp_path: Path, number: int) -> None:
    program = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from cluster.local.backend import open_cluster
        from cluster.processes.settings import RunSpec
        from evidence.folder import RunFolder
        from protocol.modes import MODES
        folder = RunFolder.create(Path({str(tmp_path)!r}), "killed")
        spec = RunSpec(folder, MODES["journal"], bookies=1, clients=("writer",))
        with open_cluster(spec) as cluster:
            print(cluster.site.keeper.pid, cluster.zookeeper.pid, cluster.bookies["b1"].pid, flush=True)
            sys.stdin.read()
    """)
    harness = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=as_in_a_terminal,
        text=True,
    )
    with harness:
        assert harness.stdout is not None
        pids = [int(pid) for pid in harness.stdout.readline().split()]
        assert len(pids) == 3
        harness.send_signal(number)
        harness.wait(60)
    wait_until(lambda: none_runs(pids), 60, "the end of every process")
    lines = read_lines(tmp_path / "killed/raw/servers/events.jsonl").records
    exits = [line["server"] for line in lines if line["event"] == "exit"]
    assert sorted(exits) == ["b1", "observer", "proxy", "writer", "zk1"]
    assert exits.index("b1") < exits.index("zk1")


def test_a_bookie_that_hangs_in_its_last_shutdown_is_killed_and_named(opened: Opener, tmp_path: Path) -> None:
    with opened(**ONE, stop_timeout_s=20, hangs=True) as cluster:
        os.kill(cluster.bookies["b1"].pid, signal.SIGSTOP)  # the harness knows nothing of it
    (hung,) = cluster.hung
    assert "b1 (boot 1) did not end within 20 s of SIGTERM" in hung
    assert rungs(RunFolder(tmp_path / "run" / "mode"), "b1", 1)[-1] == "exit"


def none_runs(pids: list[int]) -> tuple[bool, str]:
    running = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    return not running, f"{running} run"
