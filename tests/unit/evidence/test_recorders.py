"""Recorders: whole lines or none, from any thread, whatever the disk does."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from evidence.recorders import Recorder, ledger_name, read_lines
from protocol.errors import EvidenceError


def test_each_record_is_on_disk_as_one_write_when_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[bytes] = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (writes.append(bytes(data)), real(fd, data))[1])
    recorder = Recorder(tmp_path / "faults.jsonl")
    recorder.write({"fault": 1, "params": {"text": "two\nlines"}})
    assert read_lines(tmp_path / "faults.jsonl").records == ({"fault": 1, "params": {"text": "two\nlines"}},)
    assert len(writes) == 1
    recorder.close()


def test_threads_and_other_appenders_never_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"

    def record(who: int) -> None:
        with Recorder(path) as own:
            for n in range(200):
                own.write({"who": who, "n": n, "pad": "x" * 300})

    threads = [threading.Thread(target=record, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = read_lines(path)
    assert lines.damage == ()
    assert sorted((r["who"], r["n"]) for r in lines.records) == [(w, n) for w in range(4) for n in range(200)]


def test_a_torn_last_line_is_left_out_and_a_damaged_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_bytes(b'{"a":1}\n{"b\n[3]\n{"c":3}\n{"d":')
    lines = read_lines(path)
    assert lines.records == ({"a": 1}, {"c": 3})
    assert lines.damage == ("steps.jsonl line 2 is damaged", "steps.jsonl line 3 is damaged")
    assert read_lines(tmp_path / "none.jsonl").records == ()


def test_a_full_disk_is_a_clear_error_and_spoils_neither_earlier_nor_later_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "faults.jsonl"
    recorder = Recorder(path)
    recorder.write({"fault": 1})
    real = os.write
    room = [5]

    def nearly_full(fd: int, data: bytes) -> int:
        if room[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part, room[0] = data[: room[0]], 0
        return real(fd, part)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", nearly_full)
        with pytest.raises(EvidenceError, match=r"faults\.jsonl: No space left"):
            recorder.write({"fault": 2})
    recorder.write({"fault": 3})
    recorder.close()
    assert read_lines(path).records == ({"fault": 1}, {"fault": 3})
    assert read_lines(path).damage == ("faults.jsonl line 2 is damaged",)


def test_nothing_is_recorded_after_the_end(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "steps.jsonl")
    recorder.close()
    recorder.close()
    with pytest.raises(EvidenceError, match="closed"):
        recorder.write({"late": True})
    with pytest.raises(EvidenceError, match="No such file"):
        Recorder(tmp_path / "no" / "folder.jsonl")


@pytest.mark.parametrize(("ledger", "text"), [(4, "main"), (5, "ledger 5"), (-1, "")])
def test_a_ledger_without_a_name_in_the_plan_has_its_number(ledger: int, text: str) -> None:
    assert ledger_name({4: "main"}, ledger) == text
