"""Conditions on boots, checkpoints and journals: what is seen at each look."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.interface import Exit, ProcessState, Refusal
from evidence.raw.journal import FENCE, KEY, MAGIC
from evidence.recorders import Recorder
from harness.conditions.ledgers import Acked, acked
from harness.conditions.servers import Ready, Registered, ready, refused, registered, said
from harness.conditions.storage import Checkpointed, FenceJournaled, checkpointed, fence_journaled
from harness.recording.context import BootLogs, Ledgers
from protocol.errors import ContradictedError, NotReadyError, ServerError, UnplannedDeathError

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
    context = stage_with(Booting(), log)
    assert said(context, asked("mark_limbo")) == (False, "b1 boot 2 logged no such event")
    log.write_text(LINE % 0)
    assert said(context, asked("mark_limbo")) == (True, "b1 boot 2 logged mark_limbo")
    assert said(context, asked("mark_limbo", 2)) == (False, "b1 boot 2 logged mark_limbo (1)")
    with log.open("a") as more:
        more.write(LINE % 1)
    assert said(context, asked("mark_limbo", 2)) == (True, "b1 boot 2 logged mark_limbo 2 times")
    assert not said(context, asked("preboot_end"))[0]


def test_a_boot_that_is_ready_has_replayed_its_journal(tmp_path: Path) -> None:
    log = tmp_path / "boot-2.log"
    assert not said(stage_with(Booting(), log), asked("journal_failed"))[0]
    context = stage_with(Booting(ready=True), log)
    assert not said(context, asked("clear_integcheck_flag"))[0]
    with pytest.raises(ContradictedError, match=r"b1 boot 2 is ready, but .* to log journal_failed"):
        said(context, asked("journal_failed"))
    log.write_text("0 1795279559568 INFO  [main] Bookie - Exception while replaying journals\n")
    assert said(context, asked("journal_failed"))[0]


def test_a_process_that_a_fault_ends_meanwhile_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, errors = stage_with(Booting(), tmp_path / "log"), list[ServerError]()

    def ended(process: Booting, timeout_s: float) -> None:
        raise errors.pop()

    monkeypatch.setattr(Booting, "wait_ready", ended)
    errors.append(ServerError("b1 is down and cannot become ready"))
    assert ready(context, Ready(target="b1")) == (False, "b1 is down and cannot become ready")
    errors.append(UnplannedDeathError("b1 ended on its own"))
    with pytest.raises(UnplannedDeathError):
        ready(context, Ready(target="b1"))


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


def looks(*times_ns: int) -> list[bool]:
    """What is seen of a bookie that wrote its mark at these times, one look after the other."""
    bookie = SimpleNamespace(name="b2", marked_ns=iter(times_ns).__next__)
    context: Any = SimpleNamespace(cluster=SimpleNamespace(bookie=lambda name: bookie))
    look = checkpointed(context, Checkpointed(target="b2"))
    return [look()[0] for _ in times_ns[1:]]


def test_the_second_mark_is_a_checkpoint_that_began_since() -> None:
    assert looks(7, 7, 7) == [False, False], "no mark moved"
    assert looks(7, 8, 8, 9) == [False, False, True], "the first may end one that began before"
    assert looks(0, 5, 6) == [False, True], "it was never marked before"


MAIN = 7


def journal(*marks: tuple[int, int]) -> bytes:
    """A file of format 5 with these (ledger, mark) records, and zeros written ahead."""
    records = b"".join(struct.pack(">iqq", 16, ledger, mark) for ledger, mark in marks)
    return (MAGIC + struct.pack(">i", 5)).ljust(512, b"\0") + records + bytes(64)


def seen(folder: Path, **files: bytes) -> bool:
    current = folder / "current"
    current.mkdir(exist_ok=True)
    for name, data in files.items():
        (current / f"{name}.txn").write_bytes(data)
    bookie = SimpleNamespace(places=lambda: {"journal": folder})
    cluster = SimpleNamespace(bookie=lambda name: bookie)
    context: Any = SimpleNamespace(cluster=cluster, ledgers=SimpleNamespace(id=lambda name: MAIN))
    return fence_journaled(context, FenceJournaled(target="b2", ledger="main"))[0]


def test_any_file_of_the_journal_may_have_the_fence_of_the_ledger(tmp_path: Path) -> None:
    assert not seen(tmp_path)
    assert not seen(tmp_path, a1=journal((MAIN, KEY), (8, FENCE))), "a key, and another ledger's fence"
    assert seen(tmp_path, a1=journal((MAIN, KEY)), a2=journal((8, FENCE), (MAIN, FENCE)))


def test_a_file_of_the_journal_that_a_checkpoint_removes_meanwhile_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_bytes

    def removed(path: Path) -> bytes:
        path.unlink()
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", removed)
    assert not seen(tmp_path, a1=journal((MAIN, FENCE)))


def test_only_the_client_that_created_a_ledger_is_asked_how_much_was_acknowledged(tmp_path: Path) -> None:
    ledgers = Ledgers(Recorder(tmp_path / "steps.jsonl"))
    status: dict[str, Any] = {}

    def client(name: str) -> Any:
        assert name == "writer", "a reader may be paused or down"
        return SimpleNamespace(status=lambda handle: SimpleNamespace(acked=status[handle]))

    context: Any = SimpleNamespace(ledgers=ledgers, client=client)
    wanted = Acked(ledger="main", entries=100)
    assert acked(context, wanted) == (False, "main was not created yet")
    handle = ledgers.new_handle("writer", "main")
    ledgers.name("main", 7, ("writer", handle))
    status[handle] = 100
    ledgers.new_handle("reader", "main")
    status[ledgers.new_handle("writer", "main")] = 0  # it recovers its own ledger
    assert acked(context, wanted) == (True, "100 of 100 adds to main acknowledged")


class Registry:
    """A metadata store in which b1 has these registrations, one after the other, each for one question."""

    def __init__(self, *states: str) -> None:
        self._states = list(states)

    def _names(self, folder: str) -> frozenset[str]:
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        return frozenset({"b1"} if folder in state else ())

    def writable(self) -> frozenset[str]:
        return self._names("writable")

    def read_only(self) -> frozenset[str]:
        return self._names("read_only")

    def registered(self) -> frozenset[str]:
        return self.writable() | self.read_only()


BOTH = "writable, read_only"


@pytest.mark.parametrize(
    ("states", "seen"),
    [
        (["writable"], {"any", "writable"}),
        (["read_only"], {"any", "read_only"}),
        ([""], {"absent"}),
        ([BOTH], {"any", "writable"}),
        (["writable", ""], {"any", "writable"}),  # its node goes between the two questions
        (["writable", "writable", ""], {"any", "writable"}),
        (["read_only", ""], {"absent"}),
        (["read_only", BOTH, "writable"], {"any", "read_only"}),
        (["read_only", "writable"], {"any", "writable"}),  # in neither list at the first look
    ],
)
@pytest.mark.parametrize("wanted", ["any", "writable", "read_only", "absent"])
def test_a_registration_is_seen_where_it_is(states: list[str], seen: set[str], wanted: str) -> None:
    context: Any = SimpleNamespace(cluster=SimpleNamespace(metadata=Registry(*states)))
    held, _ = registered(context, Registered.model_validate({"target": "b1", "is": wanted}))
    assert held is (wanted in seen)
