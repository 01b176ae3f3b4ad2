"""However set-up ends, nothing that it started goes on, and its lock is free."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import removal
import stamp
import work

from protocol.errors import PrerequisiteError

PARTS = Path(work.__file__).parent
WORKER = """
import subprocess, sys, threading
sys.path.insert(0, {parts!r})
import work
threading.Thread(target=work.end_with_parent, daemon=True).start()
child = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], close_fds=False, stdin=subprocess.DEVNULL)
print("up", flush=True)
child.wait()
"""
FRONT = """
import ending
import os, sys
import install
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
import fcntl
fcntl.flock(lock, fcntl.LOCK_EX)
sys.exit(install.supervise([sys.executable, "-c", sys.argv[2]], [lock]))
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def front(lock: Path) -> subprocess.Popen[str]:
    """A set-up whose worker has started a child and a grandchild, all of which hold the lock."""
    worker = WORKER.format(parts=str(PARTS))
    process = subprocess.Popen(
        [sys.executable, "-B", "-c", FRONT, str(lock), worker], cwd=PARTS,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(PARTS)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def wait_until_free(lock: Path) -> None:
    """Blocks as long as any process has the lock; the tier's time limit ends a wait in vain."""
    with lock.open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (signal.SIGINT, 130, "\ninterrupted; run scripts/setup again to continue\n"),
        (signal.SIGTERM, 143, "terminated; run scripts/setup again to continue\n"),
    ],
)
@pytest.mark.timeout(60)
def test_an_interruption_is_one_line(
    front: subprocess.Popen[str], lock: Path, number: int, code: int, line: str
) -> None:
    front.send_signal(number)
    _, stderr = front.communicate()
    assert (front.returncode, stderr) == (code, line)
    wait_until_free(lock)


@pytest.mark.timeout(60)
def test_a_killed_set_up_takes_everything_with_it(front: subprocess.Popen[str], lock: Path) -> None:
    front.kill()
    _, stderr = front.communicate()
    assert stderr == ""
    wait_until_free(lock)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A checkout and a cache below ``tmp_path``, and a function that puts 2 MB somewhere in them."""
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(removal, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(removal, "BUILD", tmp_path / ".build")
    monkeypatch.setattr(removal, "CLIENT_JAR", tmp_path / "client" / "target" / "x.jar")
    monkeypatch.setattr(removal, "AGENT_JAR", tmp_path / "agent" / "target" / "x.jar")
    monkeypatch.setattr(removal, "PROXY", tmp_path / "proxy" / "bin" / "x")

    def put(name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(2_000_000))
        return path

    return put


def test_removal_takes_what_set_up_made_and_nothing_else(
    installed: Callable[[str], Path], tmp_path: Path
) -> None:
    made = [".venv/a", ".build/a", "client/target/a", "proxy/bin/a", "cache/packages/a", "cache/go-1.2/a"]
    for name in made:
        installed(name)
    kept = [installed(name) for name in ("results/a", "client/src/a", "cache/other/a")]
    lines = removal.remove()
    assert [line.endswith(": 2 MB") for line in lines] == [True] * 6 + [False]
    assert "Other checkouts" in lines[-1]
    assert not any((tmp_path / name).exists() for name in made)
    assert all(path.exists() for path in kept)


def test_what_venv_shares_with_the_cache_counts_once(
    installed: Callable[[str], Path], tmp_path: Path
) -> None:
    shared = installed("cache/packages/a")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "a").hardlink_to(shared)
    assert removal.remove()[:-1] == [f"removed {shared.parent}: 2 MB"]
    assert not (tmp_path / ".venv").exists()


def test_nothing_to_remove_is_said(installed: Callable[[str], Path]) -> None:
    assert removal.remove() == ["there is nothing to remove"]


def test_removal_refuses_while_a_set_up_runs(tmp_path: Path) -> None:
    import install

    with install.locked(tmp_path / "lock", fcntl.LOCK_EX):
        refused = install.locked(tmp_path / "lock", fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(PrerequisiteError, match="a set-up is running"), refused:
            pass


def test_the_last_line_of_a_log_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamp, "BUILD", tmp_path)
    assert work._last_line("proxy") == ""
    (tmp_path / "proxy.log").write_text("$ go build\n")
    assert work._last_line("proxy") == ""
    (tmp_path / "proxy.log").write_text("$ go build\nruntime\nnet/http\n\n")
    assert work._last_line("proxy") == ": net/http"
