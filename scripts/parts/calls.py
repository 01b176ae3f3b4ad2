"""Commands that run side by side, and are all ended when one thread is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from stamp import ROOT

TIMEOUT_S = 7200
"""For one command that hangs; the longest takes half an hour on an idle machine."""
_SILENCE_S = 60


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
        process = self._start(argv, cwd=cwd, env=os.environ | (env or {}), stdout=stdout)
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
        """End all, from any thread."""
        with self._lock:
            self._ended = True
            for process in self._running:
                with suppress(ProcessLookupError):  # it has just ended
                    os.killpg(process.pid, signal.SIGKILL)

    def _start(self, argv: list[str], **how: Any) -> subprocess.Popen[bytes]:
        """A process that :meth:`end` ends; none is started after that."""
        with self._lock:
            if self._ended:
                raise KeyboardInterrupt
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, process_group=0, **how)
            self._running.add(process)
        return process

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        """End it, if it has not ended, with its whole group."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        with self._lock:
            self._running.discard(process)
