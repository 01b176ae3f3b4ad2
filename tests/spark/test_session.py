"""The session: results by task, errors in one sentence, and nothing left of it, however it ends."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pipeline.session import Session
from protocol.errors import JudgementError


def test_results_come_in_the_order_of_their_tasks(session: Session) -> None:
    assert session.map("roots", math.sqrt, [n * n for n in range(5)]) == [0, 1, 2, 3, 4]
    assert session.map("nothing", math.sqrt, []) == []


def test_a_task_that_fails_says_what_and_why_and_the_session_goes_on(session: Session) -> None:
    with pytest.raises(JudgementError, match=r"^roots failed: ValueError: (math domain|expected a nonneg)"):
        session.map("roots", math.sqrt, [4, -1])
    assert session.map("roots", math.sqrt, [4]) == [2]


def test_a_killed_worker_is_an_error_and_the_session_goes_on(session: Session) -> None:
    with pytest.raises(JudgementError, match=r"^judging failed: .*Python worker exited unexpectedly"):
        session.map("judging", signal.raise_signal, [signal.SIGKILL])
    assert session.map("roots", math.sqrt, [4]) == [2]


def test_a_jvm_that_does_not_start_says_why(session: Session, tmp_path: Path) -> None:
    with (
        Session(tmp_path, java_options=["-Xms9g"]) as broken,
        pytest.raises(JudgementError, match=r"JVM did not start: .*heap size"),
    ):
        broken.wait()
    assert list(tmp_path.iterdir()) == []
    assert session.map("roots", math.sqrt, [4]) == [2]


def test_a_second_session_beside_it_is_refused(session: Session, tmp_path: Path) -> None:
    with Session(tmp_path) as second, pytest.raises(JudgementError, match="multiple SparkContexts"):
        second.wait()
    assert session.map("roots", math.sqrt, [4]) == [2]


def test_a_closed_session_refuses_work(tmp_path: Path) -> None:
    idle = Session(tmp_path)
    idle.close()
    with pytest.raises(JudgementError, match="closed"):
        idle.wait()


def test_a_killed_process_leaves_no_jvm_and_the_next_one_clears_its_scratch(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, psutil; from pathlib import Path; from pipeline.session import Session\n"
        "session = Session(Path(sys.argv[1])); session.wait()\n"
        "print(*[c.pid for c in psutil.Process().children(recursive=True)], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    pids = [int(pid) for pid in killed.stdout.split()]
    assert pids
    alive = [process for process in psutil.process_iter() if process.pid in pids]
    assert psutil.wait_procs(alive, timeout=180)[1] == []
    with Session(tmp_path, master="nonsense") as after, pytest.raises(JudgementError):
        after.wait()
    assert list(tmp_path.iterdir()) == []
