"""The keeper ends everything it started exactly once: on request, and after either side is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster.processes.keeper_client import KeeperClient
from cluster.processes.runner import Exit, Launch
from protocol.errors import PrerequisiteError, ServerError

SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
CHECKOUT = Path(__file__).resolve().parents[3]


def eventually(condition: Callable[[], bool], what: str, timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        threading.Event().wait(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[KeeperClient]:
    with KeeperClient(tmp_path / "events.jsonl", log=tmp_path / "keeper.log") as running:
        yield running


def spawn(keeper: KeeperClient, name: str, folder: Path, argv: list[str] = SLEEP, boot: int = 1) -> int:
    log = folder / f"{name}.log"
    env = {"PATH": os.environ["PATH"]}
    return keeper.start(name, boot, Launch(argv, env), folder=folder, log=log).pid


def events(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "events.jsonl").read_text().splitlines()
    return [(event["server"], event["event"]) for event in map(json.loads, lines)]


def test_the_end_kills_the_newest_first(keeper: KeeperClient, tmp_path: Path) -> None:
    pids = [spawn(keeper, name, tmp_path) for name in ("zk1", "b1", "b2")]

    assert keeper.end() == ("b2", "b1", "zk1")

    assert not any(map(alive, pids))
    assert events(tmp_path)[3:] == [("b2", "exit"), ("b1", "exit"), ("zk1", "exit")]


def test_an_exit_is_told_with_its_boot_and_code(keeper: KeeperClient, tmp_path: Path) -> None:
    results: list[Exit] = []
    keeper.on_exit(results.append)
    before = time.monotonic_ns()
    spawn(keeper, "b1", tmp_path, [sys.executable, "-I", "-S", "-c", "raise SystemExit(7)"], boot=3)
    eventually(lambda: bool(results), "the exit")
    (ended,) = results
    assert (ended.server, ended.boot, ended.code, ended.signal) == ("b1", 3, 7, None)
    assert before < ended.at_ns < time.monotonic_ns()


def test_a_signal_that_ends_is_told_as_a_signal_and_bounds_the_time(
    keeper: KeeperClient, tmp_path: Path
) -> None:
    results: list[Exit] = []
    keeper.on_exit(results.append)
    spawn(keeper, "b1", tmp_path)
    before = time.monotonic_ns()
    keeper.signal("b1", signal.SIGKILL)
    eventually(lambda: bool(results), "the exit")
    assert (results[0].code, results[0].signal) == (None, signal.SIGKILL)
    last = json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])
    assert before < last["earliest_ns"] < last["at_ns"]


KILLS = """
import pathlib, sys, time
fifo, pid, times = sys.argv[1:]
began_ns = time.monotonic_ns()
open(fifo, "w").close()
while pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
    time.sleep(0.001)
pathlib.Path(times).write_text(f"{began_ns} {time.monotonic_ns()}")
"""


def test_a_death_while_the_keeper_runs_a_command_is_dated_from_before_the_command(
    keeper: KeeperClient, tmp_path: Path
) -> None:
    """The keeper reaps nothing meanwhile; the command ends when the bookie is dead."""
    results: list[Exit] = []
    keeper.on_exit(results.append)
    fifo, times = tmp_path / "fifo", tmp_path / "times"
    os.mkfifo(fifo)
    python = [sys.executable, "-I", "-c"]
    aborting = f"import os; open({str(fifo)!r}).read(); os.abort()"
    pid = spawn(keeper, "b1", tmp_path, [*python, aborting])
    keeper.run([*python, KILLS, str(fifo), str(pid), str(times)])
    eventually(lambda: bool(results), "the exit")
    assert (results[0].code, results[0].signal) == (None, signal.SIGABRT)
    began_ns, dead_ns = map(int, times.read_text().split())
    last = json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])
    assert last["earliest_ns"] < began_ns < dead_ns < last["at_ns"]
    assert last["signalled"] is False


def test_a_server_has_its_own_session_and_default_signals(keeper: KeeperClient, tmp_path: Path) -> None:
    code = (
        "import os, signal; print(os.getsid(0) == os.getpid(),"
        "signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, sorted(os.listdir('/proc/self/fd'))[:5])"
    )
    result = threading.Event()
    keeper.on_exit(lambda _: result.set())
    spawn(keeper, "b1", tmp_path, [sys.executable, "-I", "-S", "-c", code])
    assert result.wait(10)
    assert (tmp_path / "b1.log").read_text().startswith("True True ['0', '1', '2', '3']")  # 3: listdir's own


class Harness:
    """A harness in a separate process that can be killed; it started ``zk1`` and ``b1``."""

    def __init__(self, folder: Path, more: str = "") -> None:
        begin = f"""
            import os, signal, sys, time
            from pathlib import Path
            from cluster.processes.keeper_client import KeeperClient
            from cluster.processes.runner import Launch
            folder = Path({str(folder)!r})
            sleep = {SLEEP!r}
            keeper = KeeperClient(folder / "events.jsonl", log=folder / "keeper.log")
            def spawn(name, argv, out="log"):
                log = folder / out
                return keeper.start(name, 1, Launch(argv, {{}}), folder=folder, log=log).pid
            pids = [spawn("zk1", sleep), spawn("b1", sleep), keeper.pid]
        """
        end = "print(*pids, flush=True); sys.stdin.read()"
        program = "\n".join(map(textwrap.dedent, (begin, more, end)))
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        *self.servers, self.keeper = map(int, self.process.stdout.readline().split())

    def kill(self) -> None:
        with self.process:
            self.process.kill()


def test_a_killed_harness_leaves_nothing_and_the_undos_run_newest_first(tmp_path: Path) -> None:
    harness = Harness(
        tmp_path,
        """
        orphaning = f"import subprocess; print(subprocess.Popen({sleep!r}).pid, flush=True)"
        spawn("forks", [sys.executable, "-c", orphaning], out="orphan")
        for word in ("first", "second"):
            keeper.undo(["/bin/sh", "-c", f"echo {word} >> {folder}/undone"])
        keeper.forget(keeper.undo(["/bin/sh", "-c", f"echo forgotten >> {folder}/undone"]))
        """,
    )
    eventually(lambda: (tmp_path / "orphan").read_text().endswith("\n"), "the orphan")
    orphan = int((tmp_path / "orphan").read_text())
    assert alive(orphan)

    harness.kill()

    eventually(lambda: not any(map(alive, [*harness.servers, orphan, harness.keeper])), "all gone")
    assert (tmp_path / "undone").read_text() == "second\nfirst\n"
    assert events(tmp_path)[-4:-2] == [("b1", "exit"), ("zk1", "exit")]


def test_a_harness_killed_together_with_its_keeper_leaves_nothing(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    os.kill(harness.keeper, signal.SIGSTOP)
    harness.kill()
    assert all(map(alive, harness.servers))
    os.kill(harness.keeper, signal.SIGKILL)
    eventually(lambda: not any(map(alive, harness.servers)), "all gone")


def test_a_fork_of_a_killed_harness_does_not_keep_the_servers_alive(tmp_path: Path) -> None:
    harness = Harness(
        tmp_path,
        """
        fork = os.fork()
        if fork == 0:
            time.sleep(600)
        pids.insert(0, fork)
        """,
    )
    fork, *servers = harness.servers
    harness.kill()
    try:
        eventually(lambda: not any(map(alive, servers)), "all gone")
        assert alive(fork)
    finally:
        os.kill(fork, signal.SIGKILL)


def test_a_killed_keeper_leaves_nothing_and_is_reported(keeper: KeeperClient, tmp_path: Path) -> None:
    results: list[Exit] = []
    keeper.on_exit(results.append)
    pids = [spawn(keeper, name, tmp_path) for name in ("zk1", "b1")]
    os.kill(pids[1], signal.SIGSTOP)
    keeper.undo(["/bin/sh", "-c", f"echo undone > {tmp_path}/undone"])

    os.kill(keeper.pid, signal.SIGKILL)

    eventually(lambda: len(results) == 2, "both exits")
    eventually(lambda: not any(map(alive, pids)), "both gone")
    eventually((tmp_path / "undone").exists, "the undo")
    with pytest.raises(ServerError, match="keeper died"):
        spawn(keeper, "b2", tmp_path)
    with pytest.raises(ServerError, match="keeper died"):
        keeper.end()


def test_ctrl_c_and_sigterm_do_not_end_the_keeper(keeper: KeeperClient, tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(keeper.pid, number)
    pid = spawn(keeper, "b1", tmp_path)
    assert os.getsid(keeper.pid) == keeper.pid != os.getsid(0)
    assert os.getsid(pid) == pid


def test_runs_never_share_an_octet(tmp_path: Path) -> None:
    with (
        KeeperClient(tmp_path / "one.jsonl", log=tmp_path / "log") as one,
        KeeperClient(tmp_path / "two.jsonl", log=tmp_path / "log") as two,
    ):
        with ThreadPoolExecutor(2) as pool:
            octets = set(pool.map(KeeperClient.lease, (one, two)))
        assert len(octets) == 2
        with pytest.raises(PrerequisiteError, match="holds a lease already"):
            one.lease()


def test_a_lease_is_refused_while_its_ports_are_taken_on_all_addresses(keeper: KeeperClient) -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        with pytest.raises(PrerequisiteError, match=f"port {port}"):
            keeper.lease(ports=[port])
    assert 1 <= keeper.lease(ports=[port]) <= 239


def test_a_lease_is_none_of_those_that_are_no_good(keeper: KeeperClient) -> None:
    good = {87, 143, 211}  # another run may have one of them
    assert keeper.lease(besides=[octet for octet in range(1, 240) if octet not in good]) in good


def test_what_cannot_be_executed_is_refused_by_name(keeper: KeeperClient, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"spawn b1.*FileNotFoundError.*no-such-program"):
        spawn(keeper, "b1", tmp_path, ["/no-such-program"])
    with pytest.raises(ServerError, match="no process named 'b1'"):
        keeper.signal("b1", signal.SIGKILL)


def test_a_failed_undo_is_reported_and_the_others_still_run(tmp_path: Path) -> None:
    keeper = KeeperClient(tmp_path / "events.jsonl", log=tmp_path / "keeper.log")
    keeper.undo(["/bin/sh", "-c", f"echo undone > {tmp_path}/undone"])
    failing = keeper.undo(["/bin/sh", "-c", "exit 3"])
    with pytest.raises(ServerError, match=rf"could not undo \({failing},\)"):
        keeper.end()
    assert (tmp_path / "undone").read_text() == "undone\n"
    assert events(tmp_path) == [("keeper", "undo"), ("keeper", "undo")]


def test_events_that_a_full_disk_refused_fail_the_end(tmp_path: Path) -> None:
    keeper = KeeperClient(Path("/dev/full"), log=tmp_path / "keeper.log")
    pid = spawn(keeper, "b1", tmp_path)
    with pytest.raises(ServerError, match="could not record 2 starts and ends of processes"):
        keeper.end()
    assert not alive(pid)
    assert "event not recorded: [Errno 28]" in (tmp_path / "keeper.log").read_text()
