"""A set-up that ends at any moment leaves nothing running, and the next one goes on to the end.

It works on a copy of this checkout, with this machine's cache: so it fetches nothing that is there.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROUNDS = int(os.environ.get("FENCEPOST_SETUP_ROUNDS", "20"))
LATEST_S = 40.0
"""The latest moment: with a warm cache an idle machine has then done everything."""
LEFT_OUT = (".git", ".venv", ".build", "results", "target", "bin", "__pycache__", ".*_cache", ".hypothesis")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this checkout's sources."""
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return copy


def start(checkout: Path) -> subprocess.Popen[str]:
    with (checkout.parent / "output").open("a") as output:
        return subprocess.Popen(
            ["scripts/setup"], cwd=checkout, stdin=subprocess.DEVNULL, stdout=output, stderr=output, text=True
        )


def wait_until_nothing_runs(checkout: Path) -> None:
    """Everything that a set-up starts holds its lock."""
    if (checkout / ".build" / "setup.lock").exists():
        with (checkout / ".build" / "setup.lock").open() as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_interrupted_at_any_moment_it_goes_on(checkout: Path) -> None:
    draw = random.Random(4711)
    for turn in range(ROUNDS):
        number = (signal.SIGINT, signal.SIGKILL)[turn % 2]
        process = start(checkout)
        try:
            process.wait(draw.uniform(0, LATEST_S))
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            wait_s = 10  # of a busy machine; an idle one needs a fraction of a second
            # 130 from its own handler; by the signal while the shell looks for a Python
            assert process.wait(wait_s) in ({130, -number} if number == signal.SIGINT else {-number})
        else:
            assert process.returncode == 0
            shutil.rmtree(checkout / ".venv")
        wait_until_nothing_runs(checkout)
    assert start(checkout).wait() == 0
    output = (checkout.parent / "output").read_text()
    assert "Traceback" not in output
    assert "error" not in output
    assert "interrupted; run scripts/setup again to continue" in output
    subprocess.run(
        [checkout / ".venv" / "bin" / "fencepost", "--help"], check=True, stdout=subprocess.DEVNULL
    )
    assert (checkout / "client" / "target" / "fencepost-client.jar").is_file()
    assert not list(checkout.rglob("*.part"))
