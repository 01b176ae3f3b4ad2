"""Real runs of the command line, watched from outside: their output, processes and folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
RUN_TIMEOUT_S = 240
_POLL_S = 0.05


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    pause = time.sleep
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        pause(_POLL_S)


def command_line(process: psutil.Process) -> str:
    """Its command line, empty for one that has ended."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


@dataclass
class Fencepost:
    """One call of ``fencepost`` in a process of its own."""

    process: subprocess.Popen[str]
    results: Path
    seen: set[psutil.Process] = field(default_factory=set)

    @property
    def folder(self) -> Path:
        """The folder of the only mode that ran."""
        return next(self.results.rglob("run.json")).parent

    def log(self) -> str:
        logs = list(self.results.rglob("harness.log"))
        return logs[0].read_text() if logs else ""

    def wait_for(self, text: str, timeout_s: float = 90) -> None:
        """Wait until the run says ``text``; every process that it has by then is remembered."""

        def said() -> bool:
            self.look()
            assert self.process.poll() is None or text in self.log(), self.finish()
            return text in self.log()

        wait_until(said, f"{text!r}", timeout_s)

    def look(self) -> None:
        try:
            self.seen.update(psutil.Process(self.process.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return

    def pid_of(self, marker: str) -> int:
        """The process of the run whose command line has ``marker``."""
        self.look()
        found = [one for one in self.seen if marker in command_line(one)]
        assert len(found) == 1, f"{marker}: {found}"
        return found[0].pid

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def finish(self) -> tuple[int, str]:
        """Its exit code and all it said."""
        out, err = self.process.communicate(timeout=RUN_TIMEOUT_S)
        return self.process.returncode, out + err

    def assert_nothing_left(self, timeout_s: float = 20) -> None:
        """Every process that was ever seen of it is gone, and so are Spark's scratch files."""
        wait_until(
            lambda: not any(one.is_running() for one in self.seen),
            "the end of " + ", ".join(str(one) for one in self.seen if one.is_running()),
            timeout_s,
        )


@pytest.fixture
def fencepost(tmp_path: Path) -> Iterator[Callable[..., Fencepost]]:
    """Start ``fencepost`` with arguments; whatever is left of it at the end is killed."""
    calls: list[Fencepost] = []

    def start(*arguments: str, results: Path | None = None) -> Fencepost:
        place = results or tmp_path / "results"
        process = subprocess.Popen(
            [sys.executable, "-c", "from harness.cli import main; main()", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "FENCEPOST_RESULTS": str(place), "PYTHONPATH": str(ROOT)},
        )
        calls.append(Fencepost(process, place))
        return calls[-1]

    yield start
    for call in calls:
        call.look()
        if call.process.poll() is None:
            call.process.kill()
            call.process.communicate()
        for one in call.seen:
            if one.is_running():
                one.kill()
