"""``run --pause-on anomaly``, in a terminal: the printed commands work, and Enter continues."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.running import Start


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_the_cluster_stays_up_until_somebody_has_looked_inside(
    fencepost: Start, terminal: tuple[int, int], tmp_path: Path
) -> None:
    ours, theirs = terminal
    arguments = ("run", "bp46/truncation", "--mode", "unprotected", "--seed", "1", "--pause-on", "anomaly")
    run = fencepost(*arguments, stdin=theirs)
    try:
        run.wait_for("Enter ends the pause")
        result = run.log()
        assert "PAUSED: 50 of 50 acknowledged entries lost" in result
        places = re.findall(r"(b\d) +running, boot \d, ([\d.]+):(\d+)", result)
        assert [name for name, _, _ in places] == ["b1", "b2", "b3"]
        for _, host, port in places:
            socket.create_connection((host, int(port)), timeout=60).close()
        shell = re.search(r"\S*java -cp .* ledgermetadata -ledgerid \d+", result)
        assert shell is not None
        metadata = subprocess.run(
            shell[0], shell=True, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path
        )
        assert "CLOSED" in metadata.stdout + metadata.stderr
    finally:
        os.write(ours, b"\n")
    run.ends(0)
    assert not list(run.results.rglob(".scratch"))
    verdict = json.loads((run.folder / "verdict.json").read_text())
    assert verdict["verdict"] == "anomaly"


@pytest.mark.usefixtures("without_spark")
def test_sigterm_ends_the_pause_and_the_run(fencepost: Start, terminal: tuple[int, int]) -> None:
    run = fencepost("run", "bp46/truncation", "--mode", "journal", "--pause-on", "end", stdin=terminal[1])
    run.wait_for("Enter ends the pause")
    run.send(signal.SIGTERM)
    run.ends(143, "interrupted by SIGTERM")


def test_without_a_terminal_there_is_no_pause(fencepost: Start) -> None:
    fencepost("run", "bp46/truncation", "--pause-on", "end", stdin=subprocess.DEVNULL).ends(
        2, "standard input is no terminal"
    )
