"""Commands that run side by side and are all ended when one thread is interrupted; counts of tests.

Tests are counted from JUnit reports (pytest, surefire) and from ``go test -json``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from junitparser import JUnitXml
from stamp import ROOT

TIMEOUT_S = 7200
"""For one command that hangs; the longest takes half an hour on an idle machine."""
_SILENCE_S = 60
_GRACE_S = 90
"""For an interrupted command to end what it started: an engine with its containers takes longest."""
Counts = Counter[str]
"""How many tests ``passed``, ``failed`` (errors included) and were ``skipped``."""
_ENDED = {"pass": "passed", "fail": "failed", "skip": "skipped"}


class Calls:
    """The commands that run now, each in a separate process group, so that all of it can be ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    def run(
        self,
        argv: list[str],
        *,
        cwd: Path = ROOT,
        env: dict[str, str] | None = None,
        stdout: IO[str] | None = None,
        silent: bool = True,
    ) -> int:
        """Run a command; the exit code. A ``silent`` command prints a line a minute."""
        sys.stdout.flush()
        with self._lock:
            if self._ended:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=os.environ | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                process_group=0,
            )
            self._running.add(process)
        began = time.monotonic()
        try:
            while (took_s := time.monotonic() - began) < TIMEOUT_S:
                try:
                    return int(process.wait(timeout=_SILENCE_S))
                except subprocess.TimeoutExpired:
                    if silent:
                        name = f"{Path(argv[0]).name} {argv[1]}"
                        print(f"  running: {name} ({took_s + _SILENCE_S:.0f} s)", flush=True)
            print(f"no end after {TIMEOUT_S} s: {' '.join(argv[:4])}")
            return 124
        finally:
            self._finish(process)

    def end(self) -> None:
        """Interrupt all, from any thread, and kill what has not removed its own remains in time."""
        with self._lock:
            self._ended = True
            running = tuple(self._running)
        try:
            for process in running:  # it alone: what it started, it has to end
                process.send_signal(signal.SIGINT)
            until = time.monotonic() + _GRACE_S
            for process in running:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0, until - time.monotonic()))
        finally:
            for process in running:
                with suppress(ProcessLookupError):  # it has ended
                    os.killpg(process.pid, signal.SIGKILL)

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        """End it, if it has not ended, with its whole group."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        with self._lock:
            self._running.discard(process)


def junit(reports: Iterable[Path], *, newer_than: float = 0) -> Counts:
    """The sum over JUnit files that exist and were written after ``newer_than`` (seconds since 1970)."""
    counts = Counts()
    for report in reports:
        if not report.is_file() or report.stat().st_mtime < newer_than:
            continue
        found = JUnitXml.fromfile(str(report))
        found.update_statistics()  # type: ignore[no-untyped-call]
        failed = found.failures + found.errors
        counts.update(passed=found.tests - failed - found.skipped, failed=failed, skipped=found.skipped)
    return counts


def go(log: Path) -> tuple[Counts, str]:
    """The counts of ``go test -json``, and the output of whatever failed."""
    counts = Counts()
    output: dict[tuple[str, str], str] = {}
    failures = ""
    for line in log.read_text(errors="replace").splitlines():
        event = _event(line)
        key = event.get("Package", event.get("ImportPath", "")), event.get("Test", "")
        action = event.get("Action", "")
        output[key] = output.get(key, "") + event.get("Output", "")
        if action == "fail":
            failures += output[key]
        if key[1] and action in _ENDED:
            counts[_ENDED[action]] += 1
    return counts, failures


def with_code(counts: Counts, code: int) -> Counts:
    """A command that failed without a failed test (it broke earlier) is one failure more."""
    return counts if code == 0 or counts["failed"] else counts + Counts(failed=1)


def counted(counts: Counts) -> str:
    """``12 passed, 0 failed, 1 skipped``."""
    return ", ".join(f"{counts[how]} {how}" for how in _ENDED.values())


def _event(line: str) -> dict[str, str]:
    try:
        event = json.loads(line)
    except ValueError:
        return {"Action": "output", "Output": line + "\n"}
    return {key: str(value) for key, value in event.items()} if isinstance(event, dict) else {}
