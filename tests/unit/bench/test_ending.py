"""An interrupted bench leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil

from cluster.waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]


def test_a_bench_that_is_ended_by_sigterm_ends_its_process_and_removes_its_folder(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "bench", "judge", "--scratch", str(tmp_path), "--no-log", "--no-duckdb"]
    with subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True) as bench:
        process = psutil.Process(bench.pid)
        wait_until(lambda: (bool(process.children()), "none"), 180, "a process of the bench")
        children = process.children()
        bench.send_signal(signal.SIGTERM)
        _, output = bench.communicate(timeout=180)
    assert (bench.returncode, output) == (143, "scripts/bench: interrupted by SIGTERM\n")
    assert not [child for child in children if child.is_running()]
    assert list(tmp_path.iterdir()) == []
