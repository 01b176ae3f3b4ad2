"""Recording a run: what ends with it, also when it ends early."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evidence.folder import RunFolder
from harness import preparing
from harness.narrator import Narrator
from harness.preparing import prepare
from harness.recording import record as recording
from harness.recording.context import RunContext
from harness.request import RunRequest
from nemesis.registry import FAULTS
from protocol.errors import FaultError, LinkError
from tests.unit.nemesis.fake_cluster import FakeCluster
from tests.unit.nemesis.fake_disks import give_disks


def no_report() -> None:
    raise LinkError("there is no proxy")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The cluster of every run that is recorded; its bookie b1 has a disk."""
    monkeypatch.setattr(preparing, "checks", lambda _: [])
    monkeypatch.setattr("cluster.releases.artifacts.class_path", lambda _: None)
    fake: Any = FakeCluster()
    give_disks(fake, tmp_path / "disks", "data", bookies=("b1",))
    (tmp_path / "disks" / "b1" / "data" / "lost+found").mkdir()
    fake.observer = SimpleNamespace(call=lambda do, timeout_s: None)
    fake.links = SimpleNamespace(wire=no_report)
    fake.unplanned = list
    fake.hung, fake.hangs = [], []

    @contextmanager
    def open_cluster(_: object) -> Iterator[Any]:
        yield fake
        fake.hung += fake.hangs

    local = SimpleNamespace(prepare=lambda *_: None, open_cluster=open_cluster, network="127")
    for module in (preparing, recording):
        monkeypatch.setattr(module, "backend", lambda _: local)
    return fake


def test_a_bookie_that_hangs_in_its_last_shutdown_is_a_result_of_a_run_that_was_observed(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.hangs = ["b1 was killed at the end of the run: b1 (boot 1) did not end within 60 s of SIGTERM"]
    for part in ("run_rounds", "heal_everything", "observe", "transactions"):
        monkeypatch.setattr(recording, part, lambda _: None)
    ready = prepare(RunRequest("bp46/truncation", modes=("journal",), results=tmp_path / "results"))
    folder = RunFolder.create(tmp_path / "results" / "run", "journal")
    recording.record(ready, folder, None, Narrator(quiet=True))
    end = folder.end()
    assert end is not None
    assert end["otherwise"] == cluster.hangs
    assert "left_out" not in end


def test_a_run_that_ends_with_an_error_leaves_no_thread_that_slows_a_disk(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowing = str(tmp_path / "disks")
    monkeypatch.setattr("nemesis.disks._sync_ms", lambda disk: 9.0)

    def failing(context: RunContext) -> None:
        context.nemesis.inject(FAULTS["slow_disk"].model_validate({"target": "b1"}))
        assert any(thread.name.startswith(slowing) for thread in threading.enumerate())
        raise FaultError("the machine fails")

    monkeypatch.setattr(recording, "run_rounds", failing)
    ready = prepare(RunRequest("bp46/truncation", modes=("journal",), results=tmp_path / "results"))
    folder = RunFolder.create(tmp_path / "results" / "run", "journal")
    with pytest.raises(FaultError, match="the machine fails"):
        recording.record(ready, folder, None, Narrator(quiet=True))
    assert not any(thread.name.startswith(slowing) for thread in threading.enumerate())
