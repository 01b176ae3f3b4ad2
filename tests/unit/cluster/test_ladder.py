"""The readiness ladder: the sequence of rungs, and messages that say where it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.interface import Exit
from cluster.logs import telling_lines
from cluster.servers.ladder import Climber, Rung, climb
from cluster.waiting import wait_until
from protocol.errors import NotReadyError, UnplannedDeathError


def climber(folder: Path, log: str = "", ended: Exit | None = None) -> Climber:
    path = folder / "boot-2.log"
    path.write_text(log)
    return Climber("b1", 2, path, lambda _wait_s: ended)


def after(asked: int) -> Rung:
    answers = iter([False] * asked)
    return Rung(f"after{asked}", lambda: next(answers, True))


def test_every_rung_is_told_once_in_order(tmp_path: Path) -> None:
    told: list[str] = []
    climb(climber(tmp_path), [after(2), after(0)], timeout_s=5, tell=lambda rung, _ns: told.append(rung))
    assert told == ["after2", "after0"]


def test_who_stays_below_is_told_the_rung_the_line_and_the_log(tmp_path: Path) -> None:
    slow = Rung("registered", lambda: False)
    with pytest.raises(NotReadyError) as raised:
        climb(climber(tmp_path, "one\ntwo\n\n"), [after(0), slow], timeout_s=0, tell=lambda *_: None)
    assert str(raised.value) == (
        "b1 (boot 2) did not reach 'registered' in 0 s; last rung: 'after0'; "
        f"last log line: 'two'; log: {tmp_path}/boot-2.log"
    )


def test_who_dies_is_told_with_its_code_and_last_lines(tmp_path: Path) -> None:
    dead = climber(tmp_path, "starting\nno such directory\n", Exit("b1", 2, 2, None, 1))
    with pytest.raises(UnplannedDeathError) as raised:
        climb(dead, [Rung("listening", lambda: False)], timeout_s=5, tell=lambda *_: None)
    assert "b1 (boot 2) ended on its own after rung 'started' with exit code 2" in str(raised.value)
    assert "no such directory" in str(raised.value)


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
