"""The command of a container, and the meaning of its exit status."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cluster.docker import containers
from cluster.docker.backend import disk_prelude
from cluster.docker.containers import Prelude, how_it_ended, launch_script
from cluster.processes.runner import Launch


def carried_out(folder: Path, script: str) -> subprocess.Popen[bytes]:
    (folder / "launch").write_text(script)
    with (folder / "else").open("wb") as other:
        return subprocess.Popen(["/bin/sh", str(folder / "launch")], cwd=folder, stdout=other)


def test_a_server_writes_all_that_it_says_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "it's boot 1.log"
    launch = Launch(["sh", "-c", 'echo "$1"; echo wrong >&2', "sh", "a  'b' $HOME"], {})
    process = carried_out(tmp_path, launch_script(launch, log, Prelude(["echo first"], ["env", "X=1"])))
    assert process.wait() == 0
    assert (tmp_path / "else").read_text() == ""
    assert log.read_text() == "first\na  'b' $HOME\nwrong\n"


def test_nothing_is_started_when_what_comes_before_fails(tmp_path: Path) -> None:
    script = launch_script(Launch(["touch", "made"], {}), tmp_path / "log", Prelude(["false"]))
    assert carried_out(tmp_path, script).wait() == 1
    assert not (tmp_path / "made").exists()


def test_a_bookie_does_not_start_on_a_disk_that_is_not_there(tmp_path: Path) -> None:
    launch, log = Launch(["touch", "made"], {}), tmp_path / "log"
    script = launch_script(launch, log, disk_prelude([Path("/proc"), tmp_path / "journal"]))
    assert carried_out(tmp_path, script).wait() == 1
    assert log.read_text().startswith("journal is no disk here: the engine does not see")
    assert carried_out(tmp_path, launch_script(launch, log, disk_prelude([Path("/proc")]))).wait() == 0
    assert (tmp_path / "made").exists()


def test_a_client_converses_over_pipes_that_nobody_else_will_find(tmp_path: Path) -> None:
    (commands, replies), held = containers._pipes(tmp_path)
    log = tmp_path / "log"
    launch = Launch(["sh", "-c", "echo ready; echo log >&2; cat"], {}, converses=True)
    process = carried_out(tmp_path, launch_script(launch, log, Prelude()))
    with os.fdopen(replies, "rb") as reader:
        assert reader.readline() == b"ready\n"
        os.write(commands, b"do\n")
        assert reader.readline() == b"do\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["else", "launch", "log"]
        os.close(commands)  # the end of its input
        assert process.wait() == 0
        os.close(held)  # its end was reported
        assert reader.read() == b""
    assert log.read_text() == "log\n"


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        (0, (0, None)),
        (1, (1, None)),
        (137, (None, 9)),
        (134, (None, 6)),
        (143, (143, None)),  # a JVM after SIGTERM says so itself, as it does without a container
        (None, (None, None)),
    ],
)
def test_the_engine_tells_a_signal_as_a_shell_does(
    status: int | None, ended: tuple[int | None, int | None]
) -> None:
    assert how_it_ended(status) == ended
