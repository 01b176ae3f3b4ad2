"""What a boot has said, and whether it refused, as conditions see it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.interface import Exit, ProcessState, Refusal
from harness.conditions.servers import refused, said
from harness.stage import BootLogs
from protocol.errors import ContradictedError, NotReadyError

LINE = (
    "0 1795279559568 INFO  [main] DataIntegrityCheckImpl - Marking ledger {event=MARK_LIMBO, ledgerId=%d}\n"
)


class Booting:
    """A process in its second boot, that ended like this, or is ready."""

    name, boot, state = "b1", 2, ProcessState.RUNNING

    def __init__(self, ending: Refusal | None = None, *, ready: bool = False) -> None:
        self._ending, self._ready = ending, ready

    def wait_ready(self, timeout_s: float) -> None:
        if not self._ready:
            raise NotReadyError("its journal is replayed")

    def allow_refusal(self) -> None:
        raise AssertionError("it must not be started")

    allow_end = allow_refusal

    def refusal(self) -> Refusal | None:
        return self._ending


def stage_with(process: object, log: Path) -> Any:
    logs = BootLogs()
    return SimpleNamespace(
        cluster=SimpleNamespace(process=lambda name: process), boot_log=lambda name: logs.of(name, 2, log)
    )


def asked(event: str, times: int = 1) -> Any:
    return SimpleNamespace(target="b1", event=event, times=times)


def test_an_event_is_said_as_often_as_the_log_tells_it(tmp_path: Path) -> None:
    log = tmp_path / "boot-2.log"
    stage = stage_with(Booting(), log)
    assert said(stage, asked("mark_limbo")) == (False, "b1 boot 2 logged no such event")
    log.write_text(LINE % 0)
    assert said(stage, asked("mark_limbo")) == (True, "b1 boot 2 logged mark_limbo")
    assert said(stage, asked("mark_limbo", 2)) == (False, "b1 boot 2 logged mark_limbo (1)")
    with log.open("a") as more:
        more.write(LINE % 1)
    assert said(stage, asked("mark_limbo", 2)) == (True, "b1 boot 2 logged mark_limbo 2 times")
    assert not said(stage, asked("preboot_end"))[0]


def test_a_boot_that_is_ready_has_replayed_its_journal(tmp_path: Path) -> None:
    log = tmp_path / "boot-2.log"
    assert not said(stage_with(Booting(), log), asked("journal_failed"))[0]
    stage = stage_with(Booting(ready=True), log)
    assert not said(stage, asked("clear_integcheck_flag"))[0]
    with pytest.raises(ContradictedError, match=r"b1 boot 2 is ready, but .* to log journal_failed"):
        said(stage, asked("journal_failed"))
    log.write_text("0 1795279559568 INFO  [main] Bookie - Exception while replaying journals\n")
    assert said(stage, asked("journal_failed"))[0]


def test_that_a_log_could_be_read_is_nothing_said(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LINE % 0)
    assert not said(stage_with(Booting(), tmp_path / "log"), asked("log_read"))[0]


def test_a_refusal_is_told_with_its_reason(tmp_path: Path) -> None:
    refusal = Refusal(Exit("b1", 2, 2, None, 9), ("ERROR no cookie", "more"))
    assert refused(stage_with(Booting(refusal), tmp_path), asked("")) == (
        True,
        "b1 (boot 2) refused with exit code 2: ERROR no cookie",
    )
    assert refused(stage_with(Booting(), tmp_path), asked("")) == (False, "b1 boot 2 is running")
