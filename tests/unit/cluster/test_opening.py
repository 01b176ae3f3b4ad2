"""The end of a cluster: everything in order, and what does not end in time at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cluster.processes.scopes import Scopes, TeardownError
from cluster.processes.settings import RunSpec
from cluster.servers.opening import Opening
from evidence.folder import RunFolder
from protocol.errors import NotReadyError
from protocol.modes import MODES
from tests.unit.nemesis.fake_cluster import FakeProcess, Orders


class Hanging(FakeProcess):
    """A process that ignores SIGTERM."""

    def stop(self, timeout_s: float = 30) -> Any:
        raise NotReadyError(f"{self.name} (boot 1) did not end within {timeout_s:g} s of SIGTERM")


def ending(path: Path, process: Any) -> Opening:
    """A cluster that has only this process, and has ended."""
    with Scopes() as scopes:
        opening = Opening(RunSpec(RunFolder.create(path, "journal"), MODES["journal"]), scopes)
        scopes.on_end("the servers", lambda: opening._all(opening._stop_or_kill, [process]))
    return opening


@pytest.mark.parametrize("name", ["b1", "ar1"])
def test_a_server_under_test_that_hangs_in_its_shutdown_is_killed_and_named(
    tmp_path: Path, name: str
) -> None:
    process = Hanging(name, Orders())
    assert ending(tmp_path, process)._hung == [
        f"{name} was killed at the end of the run: {name} (boot 1) did not end within 60 s of SIGTERM"
    ]
    assert process.exits[1].signal == 9


@pytest.mark.parametrize("name", ["zk1", "writer"])
def test_that_another_process_hangs_is_an_error(tmp_path: Path, name: str) -> None:
    process = Hanging(name, Orders())
    with pytest.raises(TeardownError, match=f"{name} .* did not end within 60 s"):
        ending(tmp_path, process)
    assert process.exits[1].signal == 9


def test_a_server_that_ends_in_order_is_not_killed(tmp_path: Path) -> None:
    process = FakeProcess("b1", Orders())
    assert not ending(tmp_path, process)._hung
    assert process.exits[1].code == 143
