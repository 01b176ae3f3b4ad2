"""Whoever carries out the runs of a campaign: a worker process, replaced when it hangs or dies."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from harness.campaigns.outcomes import Came, Outcome, outcome_of
from harness.provenance import CHECKOUT
from harness.units import Unit

_LOG = "worker.log"
_END_S = 90
_CHUNK = 65536


class Crew:
    """Carries out units in a process of its own; a context manager that ends it.

    What the worker prints besides its answers stands in ``worker.log`` in ``folder``; the runs are below
    ``results``.
    """

    def __init__(self, folder: Path, results: Path, *, run_s: float) -> None:
        self._log = folder / _LOG
        self._results = results
        self._run_s = run_s
        self._worker: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def carry_out(self, unit: Unit) -> Outcome:
        """One run; what became of the worker itself is an outcome too."""
        worker = self._ready()
        began = time.monotonic()
        line = self._ask(worker, _order(unit))
        took_s = round(time.monotonic() - began, 1)
        if line is None:
            self._kill()
            why = f"no end after {self._run_s:g} s; the worker and its servers were ended"
            return outcome_of(unit, Came.HUNG, why=why, took_s=took_s)
        if not line:
            code = self._kill()
            why = f"the worker died (code {code}); its last words are in {_LOG}"
            return outcome_of(unit, Came.ERROR, why=why, took_s=took_s)
        told = json.loads(line)
        return outcome_of(unit, Came(told.pop("came")), **told)

    def close(self) -> None:
        """Let the worker end in order; kill it when it does not."""
        if self._worker is None:
            return
        assert self._worker.stdin is not None  # noqa: S101  # a pipe, as it was started
        self._worker.stdin.close()
        try:
            self._worker.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._kill()
        self._worker = None

    def _ready(self) -> subprocess.Popen[bytes]:
        if self._worker is None or self._worker.poll() is not None:
            with self._log.open("ab") as log:
                self._worker = subprocess.Popen(
                    [sys.executable, "-m", "harness.campaigns.worker", str(self._results)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=CHECKOUT,
                    env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
                )
        return self._worker

    def _ask(self, worker: subprocess.Popen[bytes], order: bytes) -> bytes | None:
        """The answer's line, empty when the worker is gone, None when it does not come in time."""
        assert worker.stdin is not None and worker.stdout is not None  # noqa: S101  # pipes
        try:
            worker.stdin.write(order)
            worker.stdin.flush()
        except BrokenPipeError:
            return b""
        return _line(worker.stdout, time.monotonic() + self._run_s)

    def _kill(self) -> int:
        assert self._worker is not None  # noqa: S101  # only called when there is one
        self._worker.kill()
        code = self._worker.wait()
        self._worker = None
        return code


def _order(unit: Unit) -> bytes:
    tree = {
        "scenario": unit.scenario,
        "file": unit.file,
        "mode": unit.mode,
        "seed": unit.number,
        "version": unit.version,
        "settings": unit.settings,
        "rounds": unit.rounds,
    }
    return json.dumps(tree).encode() + b"\n"


def _line(source: IO[bytes], deadline: float) -> bytes | None:
    """The next line of a pipe on which one line at a time is under way."""
    found = b""
    while not found.endswith(b"\n"):
        ready, _, _ = select.select([source], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(source.fileno(), _CHUNK)
        if not part:
            return b""
        found += part
    return found
