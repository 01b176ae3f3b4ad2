"""Exchanging the disks of two bookies: what is where, what is put back, and when it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cluster.interface import ProcessState
from nemesis.active import Active
from nemesis.registry import FAULTS
from protocol.errors import FaultError, UsageError
from tests.unit.nemesis.fault_stories import WHOLE, Lines, inject, phases, start

NAMES = ("journal/current/VERSION", "ledgers/current/VERSION", "ledgers/current/ledgers/CURRENT")


@pytest.fixture
def disks(cluster: Any, tmp_path: Path) -> Path:
    """What b1 and b2 have stored; each file names its bookie."""
    for bookie in ("b1", "b2"):
        for name in (*NAMES, f"ledgers/current/{bookie}.log", f"journal/lost+found/{bookie}"):
            path = tmp_path / bookie / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(bookie * int(bookie[1:]))
        places = {name: tmp_path / bookie / name for name in ("journal", "ledgers")}
        cluster.process(bookie).places = lambda places=places: places
    return tmp_path


def stored(disks: Path, bookie: str) -> set[str]:
    """Whose files a bookie has, its file system's own left out."""
    files = (path for path in (disks / bookie).rglob("*") if path.is_file())
    return {path.read_text()[:2] for path in files if path.parent.name != "lost+found"}


def down(active: Active) -> None:
    inject(active, "stop", target="b1")
    inject(active, "stop", target="b2")


def test_each_has_what_the_other_had_until_it_is_healed(disks: Path, active: Active, lines: Lines) -> None:
    down(active)
    inject(active, "swap_disks", targets=["b1", "b2"])
    assert (stored(disks, "b1"), stored(disks, "b2")) == ({"b2"}, {"b1"})
    assert (disks / "b1/journal/lost+found/b1").is_file()
    assert active.heal(kind="swap_disks") == ["swap_disks b1,b2"]
    assert (stored(disks, "b1"), stored(disks, "b2")) == ({"b1"}, {"b2"})
    assert phases(lines, 3) == WHOLE


def test_a_bookie_that_runs_on_the_disks_of_another_is_started_on_its_own(
    disks: Path, cluster: Any, active: Active
) -> None:
    down(active)
    inject(active, "swap_disks", targets=["b1", "b2"])
    start(active, target="b1")
    active.heal(kind="swap_disks")
    b1, b2 = cluster.process("b1"), cluster.process("b2")
    assert (b1.state, b1.boot, b1.ready) == (ProcessState.RUNNING, 3, True)
    assert b2.state is ProcessState.DOWN
    assert (stored(disks, "b1"), stored(disks, "b2")) == ({"b1"}, {"b2"})


def test_files_that_stay_where_they_were_are_no_exchange(
    disks: Path, active: Active, monkeypatch: pytest.MonkeyPatch
) -> None:
    down(active)
    monkeypatch.setattr("nemesis.storage._move", lambda source, target: None)
    with pytest.raises(FaultError, match="b1 does not have the files that b2 had"):
        inject(active, "swap_disks", targets=["b1", "b2"])


def test_what_the_disks_held_at_the_death_is_recorded_before_they_are_exchanged(
    disks: Path, cluster: Any, active: Active
) -> None:
    seen: list[set[str]] = []
    down(active)
    cluster.process("b2").capture_disk = lambda: seen.append(stored(disks, "b2"))
    inject(active, "swap_disks", targets=["b1", "b2"])
    assert seen == [{"b2"}]


def test_both_have_to_be_down_and_have_the_same_directories(
    disks: Path, cluster: Any, active: Active
) -> None:
    inject(active, "stop", target="b1")
    with pytest.raises(UsageError, match="b2 is running, and its files are its own until it is down"):
        inject(active, "swap_disks", targets=["b1", "b2"])
    inject(active, "stop", target="b2")
    cluster.process("b2").places = lambda: {"journal": disks / "b2/journal"}
    with pytest.raises(UsageError, match="b1 and b2 have different directories"):
        inject(active, "swap_disks", targets=["b1", "b2"])


@pytest.mark.parametrize("targets", [["b1"], ["b1", "b1"], ["b1", "b2", "b3"]])
def test_two_bookies_exchange_their_disks(targets: list[str]) -> None:
    with pytest.raises(ValidationError):
        FAULTS["swap_disks"](targets=targets)
