"""What a bookie's files say while it runs."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from cluster.configuration import Layers
from cluster.interface import ProcessState
from cluster.servers.bookie import Bookie


def with_journals(folder: Path, *names: str) -> Any:
    """What of a bookie knows its folders; it has these journals."""
    places = {name: folder / name for name in (*names, "ledgers")}
    (places["ledgers"] / "current").mkdir(parents=True)
    plan = {"journalDirectories": ",".join(names)}
    return SimpleNamespace(places=lambda: places, _layers=Layers({}, {}, plan, {}))


def test_a_checkpoint_has_ended_when_the_mark_of_the_last_journal_is_written(tmp_path: Path) -> None:
    bookie = with_journals(tmp_path, "journal", "journal2")
    seen = [Bookie.marked_ns(bookie)]

    def write(name: str, at_ns: int) -> None:
        mark = tmp_path / "ledgers" / "current" / name
        mark.write_bytes(bytes(16))
        os.utime(mark, ns=(at_ns, at_ns))
        seen.append(Bookie.marked_ns(bookie))

    write("lastMark", 500)  # of the time when it had one journal
    for at_ns in (1000, 2000):
        write("lastMark.0", at_ns)
        write("lastMark.1", at_ns + 1)
    assert seen == [0, 0, 0, 1001, 1001, 2001]


@pytest.mark.parametrize(("conf", "reused"), [({}, False), ({"journalReuseFiles": "true"}, True)])
def test_the_copy_of_its_disk_knows_whether_journal_files_are_used_again(
    conf: dict[str, str], reused: bool
) -> None:
    deaths, places = Mock(), {"journal": Path("journal")}
    bookie: Any = SimpleNamespace(
        boot=1,
        state=ProcessState.DOWN,
        places=lambda: places,
        properties=lambda: conf,
        _deaths=deaths,
        _disks={},
        _exits={1: "killed"},
        _order=nullcontext(),
    )
    Bookie.capture_disk(bookie)
    deaths.take.assert_called_once_with("killed", places, reused=reused)
