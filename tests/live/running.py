"""Real runs of the command line, watched from outside: their output, processes and folders."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from evidence.folder import every_mode
from tests.live.terminal import as_in_a_terminal

ROOT = Path(__file__).resolve().parents[2]
RUN_TIMEOUT_S = 900
_POLL_S = 0.05
_PROGRAM = "from cli.main import main; main()"
_WITHOUT_SPARK = (
    f"import harness.judging, tests.inline as t; harness.judging.session_in = t.session_in; {_PROGRAM}"
)
_program = ContextVar("program", default=_PROGRAM)


def wait_until(condition: Callable[[], bool], what: str | Callable[[], str], timeout_s: float = 180) -> None:
    deadline = time.monotonic() + timeout_s
    pause = time.sleep
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what() if callable(what) else what}"
        pause(_POLL_S)


def command_line(process: psutil.Process) -> str:
    """Its command line, empty for a process that has ended."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def runs(process: psutil.Process) -> bool:
    """Whether it still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def document_in(text: str) -> dict[str, Any]:
    """What ``--json`` printed; what stands behind it came by standard error."""
    assert "{" in text, text
    document: dict[str, Any]
    document, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    return document


def runs_in(text: str) -> list[dict[str, Any]]:
    """The runs in what ``--json`` printed."""
    runs: list[dict[str, Any]] = document_in(text)["runs"]
    return runs


def assert_as_stated(code: int, text: str) -> list[dict[str, Any]]:
    """The runs printed by ``--json``, after checking that each was as its plan expects.

    A failure shows of each that did not why, and what its run said: the documents alone fill pages.
    """
    found = runs_in(text)
    other = [
        f"{run['scenario']} {name}: {mode['comparison']['reasons']}\n{_log(Path(run['folder']) / name)}"
        for run in found
        for name, mode in run["modes"].items()
        if not mode["comparison"]["met"]
    ]
    assert (code, len(other)) == (0, 0), "\n".join([*other, text[text.rindex("\n}") :]])
    return found


def _log(folder: Path) -> str:
    return (folder / "harness.log").read_text()


@dataclass
class Fencepost:
    """One call of ``fencepost`` in a separate process."""

    process: subprocess.Popen[str]
    results: Path
    seen: set[psutil.Process] = field(default_factory=set)

    @property
    def folder(self) -> Path:
        """The folder of the only mode that ran."""
        return every_mode(self.results)[0].path

    def log(self) -> str:
        return "".join(log.read_text() for log in self.logs())

    def logs(self) -> list[Path]:
        """The present logs of all modes; unlike ``rglob``, this tolerates folders that come and go."""
        found = (mode.harness_log for mode in every_mode(self.results))
        return [log for log in found if log.exists()]

    def wait_for(self, text: str, timeout_s: float = RUN_TIMEOUT_S) -> None:
        """Wait until the run says ``text``; every process that it has by then is remembered."""

        def printed() -> bool:
            ended = self.process.poll() is not None
            there = text in self.log()
            assert there or not ended, self.finish()
            return there

        wait_until(printed, f"{text!r}", timeout_s)
        self.look()

    def wait_for_two_clusters(self) -> None:
        """Wait until two clusters run at the same time, in results where none has ended yet."""

        def both() -> bool:
            self.look()
            assert self.process.poll() is None, self.finish()
            up = [log for log in self.logs() if "all processes are ready" in log.read_text()]
            return len(up) == 2

        wait_until(both, "two clusters")
        assert not any(mode.end_json.exists() for mode in every_mode(self.results)), "one after the other"

    def look(self) -> None:
        try:
            self.seen.update(psutil.Process(self.process.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return

    def pid_of(self, marker: str) -> int:
        """The process of the run whose command line has ``marker``.

        A process that has just forked is seen twice, until its child has called exec.
        """
        pids: set[int] = set()

        def alone() -> bool:
            self.look()
            pids.clear()
            pids.update(one.pid for one in self.seen if marker in command_line(one))
            return len(pids) == 1

        wait_until(alone, f"one process with {marker}")
        return pids.pop()

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def finish(self) -> tuple[int, str]:
        """Its exit code and all it said."""
        out, err = self.process.communicate(timeout=RUN_TIMEOUT_S)
        return self.process.returncode, out + err

    def ends(self, code: int, *says: str) -> str:
        """All it said: it ended with this exit code, said each of ``says``, and left no process."""
        ended, text = self.finish()
        assert ended == code, text
        assert not [one for one in says if one not in text], text
        self.assert_nothing_left()
        return text

    def assert_nothing_left(self) -> None:
        """Every process that was ever seen of it is gone."""
        wait_until(
            lambda: not any(map(runs, self.seen)),
            lambda: f"the end of {[(str(one), command_line(one)) for one in self.seen if runs(one)]}",
        )

    def end(self) -> None:
        """Kill what is left of it."""
        self.look()
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for one in self.seen:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()


@contextlib.contextmanager
def no_spark() -> Iterator[None]:
    """Calls of this block judge in their own process: ``tests/spark`` shows that Spark judges alike.

    A Spark session costs eight seconds of processor time.
    """
    token = _program.set(_WITHOUT_SPARK)
    try:
        yield
    finally:
        _program.reset(token)


Start = Callable[..., Fencepost]
"""Starts the command with its arguments; where its results go, and its standard input, may be given."""


def begun(*arguments: str, results: Path, stdin: int | None = None) -> Fencepost:
    """A call that has just been started."""
    process = subprocess.Popen(
        [sys.executable, "-c", _program.get(), *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=as_in_a_terminal,
        env={**os.environ, "FENCEPOST_RESULTS": str(results), "PYTHONPATH": str(ROOT)},
    )
    return Fencepost(process, results)
