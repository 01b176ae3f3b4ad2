"""How long a user waits for a verdict: whole runs of the command line, as a user calls it."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

_SCENARIO = "bp46/truncation"


def wall_bench(times: int) -> Iterator[str]:
    """Lines with the medians for all three modes and for one mode."""
    for label, options in (("three modes", ()), ("one mode", ("--mode", "unprotected"))):
        took = [_timed_s(*options) for _ in range(times)]
        yield (
            f"fencepost run {_SCENARIO}, {label}: median {statistics.median(took):.1f} s "
            f"({min(took):.1f} to {max(took):.1f})"
        )


def _timed_s(*options: str) -> float:
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as results:
        began = time.monotonic()
        argv = [sys.executable, "-c", "from cli.main import main; main()", "run", _SCENARIO]
        subprocess.run(
            [*argv, "--quiet", "--results", results, *options], check=True, stdout=subprocess.DEVNULL
        )
        return time.monotonic() - began
