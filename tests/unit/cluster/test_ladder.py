"""The readiness ladder: the sequence of rungs, and messages that say where it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.processes.boot_logs import telling_lines
from cluster.processes.process import Process, ProcessState, Rung
from cluster.processes.runner import Exit, Launch, Started
from cluster.waiting import wait_until
from protocol.errors import NotReadyError, UnplannedDeathError


class Climber(Process):
    """A process ``b1`` that has these rungs; it runs in no process, and ends when a test says so."""

    def __init__(self, folder: Path, *rungs: Rung, log: str = "") -> None:
        self.recorded: list[Any] = []
        runner = SimpleNamespace(on_exit=lambda _listener: None, start=lambda *_, **__: Started(1))
        site: Any = SimpleNamespace(
            folder=lambda name: folder / name,
            spec=SimpleNamespace(version_of=lambda _name: "4.18.0"),
            runner=runner,
            events=SimpleNamespace(write=self.recorded.append),
        )
        super().__init__("b1", site)
        self._given = rungs
        self.start()
        self.log.write_text(log)

    def _launch(self, boot: int) -> Launch:
        return Launch((), {})

    def _rungs(self) -> Sequence[Rung]:
        return self._given


def after(asked: int) -> Rung:
    answers = iter([False] * asked)
    return f"after{asked}", lambda: next(answers, True)


def test_every_rung_is_recorded_once_in_order(tmp_path: Path) -> None:
    process = Climber(tmp_path, after(2), after(0))
    process.wait_ready(5)
    process.wait_ready(5)
    assert [one["event"] for one in process.recorded] == ["after2", "after0"]


def test_who_stays_below_is_told_the_rung_the_line_and_the_log(tmp_path: Path) -> None:
    process = Climber(tmp_path, after(0), ("registered", lambda: False), log="one\ntwo\n\n")
    with pytest.raises(NotReadyError) as raised:
        process.wait_ready(0)
    assert str(raised.value) == (
        "b1 (boot 1) did not reach 'registered' in 0 s; last rung: 'after0'; "
        f"last log line: 'two'; log: {tmp_path}/b1/boot-1.log"
    )


def test_who_dies_is_told_with_its_code_and_last_lines(tmp_path: Path) -> None:
    def die() -> bool:
        process._on_exit(Exit("b1", 1, 2, None, 1))
        return False

    process = Climber(tmp_path, ("listening", die), log="starting\nno such directory\n")
    with pytest.raises(UnplannedDeathError) as raised:
        process.wait_ready(5)
    assert "b1 (boot 1) ended on its own with exit code 2 after rung 'started'" in str(raised.value)
    assert "no such directory" in str(raised.value)


@pytest.mark.parametrize(("code", "number", "unplanned"), [(2, None, []), (None, 9, ["b1"])])
@pytest.mark.parametrize("because", ["it may refuse", "of a fault"])
def test_what_may_end_on_its_own_may_not_be_killed_by_something_else(
    tmp_path: Path, code: int | None, number: int | None, unplanned: list[str], because: str
) -> None:
    process = Climber(tmp_path, ("listening", lambda: False))
    if because == "of a fault":
        process.allow_end(1)
    else:
        process._on_exit(Exit("b1", 1, 0, None, 1))
        process._ordered.add(1)
        process.allow_refusal()
        process.start()
    process._on_exit(Exit("b1", process.boot, code, number, 2))
    assert [ended.server for ended in process.unplanned()] == unplanned


def test_a_boot_may_refuse_for_a_time_and_until_it_is_ready(tmp_path: Path) -> None:
    process = Climber(tmp_path)
    for for_s, ready, may in ((60, False, True), (0, False, False), (60, True, False)):
        process._ordered.add(process.boot)
        ends(process)
        process.allow_refusal(for_s)
        process.start()
        if ready:
            process.wait_ready(5)
        assert process.excused(ends(process)) is may


def ends(process: Climber) -> Exit:
    """Its present boot ends on its own now."""
    ended = Exit("b1", process.boot, 1, None, time.monotonic_ns())
    process._on_exit(ended)
    return ended


@pytest.mark.parametrize("later_boots", [True, False])
def test_a_fault_may_end_the_boots_that_meet_it_and_none_that_begins_after_it(
    tmp_path: Path, later_boots: bool
) -> None:
    process = Climber(tmp_path)
    process._ordered.add(1)
    ends(process)  # it is down when the fault is injected
    process.allow_end(7, later_boots=later_boots)
    process.start()
    met = ends(process)
    process.start()
    process.limit_end(7, 60)
    soon, late = ends(process), Exit("b1", 3, 1, None, time.monotonic_ns() + 61 * 10**9)
    process.start()
    after = ends(process)
    may = [process.excused(ended) for ended in (met, soon, late, after)]
    assert may == [later_boots, later_boots, False, False]


def test_healing_one_fault_leaves_what_another_may_end(tmp_path: Path) -> None:
    process = Climber(tmp_path)
    process.allow_end(1)
    process.allow_end(2)
    process.limit_end(2, 0)
    process.limit_end(3, 0)  # this one allowed nothing
    assert process.excused(ends(process))


def test_a_boot_that_the_harness_ends_meanwhile_is_not_said_to_have_died(tmp_path: Path) -> None:
    def killed() -> bool:
        process._ordered.add(1)
        process._on_exit(Exit("b1", 1, None, 9, 1))
        return False

    process = Climber(tmp_path, ("listening", killed))
    with pytest.raises(NotReadyError, match=r"b1 \(boot 1\) was ended after rung 'started'"):
        process.wait_ready(5)


def test_who_is_paused_stands_still_until_it_is_resumed(tmp_path: Path) -> None:
    process: Any = Climber(tmp_path)
    with subprocess.Popen(["sleep", "600"]) as sleeper:

        def sent(_name: str, number: signal.Signals) -> int:
            sleeper.send_signal(number)
            return sleeper.pid

        process._runner.signal = sent
        process.pause()
        assert process.state is ProcessState.PAUSED
        assert os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOHANG) is not None
        process.resume()
        assert process.state is ProcessState.RUNNING
        assert os.waitid(os.P_PID, sleeper.pid, os.WCONTINUED | os.WNOHANG) is not None
        sleeper.kill()


def test_waiting_says_what_it_saw_last() -> None:
    states = iter([(False, "1 of 3 threads"), (False, "2 of 3 threads"), (True, "all threads")])
    assert wait_until(lambda: next(states), 60, "the threads") == "all threads"
    with pytest.raises(NotReadyError, match="waited 0 s for the threads; last seen: 2 of 3 run"):
        wait_until(lambda: (False, "2 of 3 run"), 0, "the threads")


def test_errors_are_told_rather_than_what_happens_to_be_last(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "0 1 ERROR [main] Main - cannot build\nCaused by: x.NoSuch: why\n  at x.Y\n" + "usage\n" * 30
    )
    assert telling_lines(log) == ["0 1 ERROR [main] Main - cannot build", "Caused by: x.NoSuch: why"]
    log.write_text("one\ntwo\n")
    assert telling_lines(log) == ["one", "two"]
    assert telling_lines(tmp_path / "none") == []
