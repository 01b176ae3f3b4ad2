"""Wiping and exchanging what bookies have stored: which files go where, and when it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cluster.interface import ProcessState
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from protocol.errors import FaultError, NotReadyError, UsageError
from tests.nemesis_contract.fault_stories import WHOLE, Lines, changing, inject, phases, proof, start

FILES = (
    "journal/current/VERSION",
    "journal/current/1.txn",
    "ledgers/current/VERSION",
    "ledgers/current/DIRTY",
    "ledgers/current/0.log",
    "ledgers/current/ledgers/CURRENT",
    "ledgers/current/locations/CURRENT",
    "ledgers/lost+found/inode",
)
COOKIES = {"journal/current/VERSION", "ledgers/current/VERSION"}
FOUND = "ledgers/lost+found/inode"


class Cookies(dict[str, bytes]):
    """A metadata store that keeps cookies."""

    cookie = dict.get

    def forget_cookie(self, bookie: str) -> None:
        del self[bookie]


def write(root: Path, *names: str, text: str = "bytes") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def disk(cluster: Any, tmp_path: Path) -> Path:
    """What b1 has stored; it was not stopped yet."""
    write(tmp_path, *FILES)
    places = {name: tmp_path / name for name in ("journal", "ledgers")}
    cluster.process("b1").places = lambda: places
    cluster.metadata = Cookies(b1=b"cookie", b2=b"cookie")
    return tmp_path


def left(disk: Path) -> set[str]:
    return {str(path.relative_to(disk)) for path in disk.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("params", "stay"),
    [
        ({}, {FOUND}),
        ({"cookie": "keep"}, {FOUND, *COOKIES}),
        ({"what": "journal"}, {name for name in FILES if "journal" not in name}),
        ({"what": "ledgers", "cookie": "keep"}, {*FILES[:3], FOUND}),
        ({"what": "index", "cookie": "keep"}, {name for name in FILES if "/CURRENT" not in name}),
    ],
)
def test_what_is_gone_and_what_stays(
    disk: Path, nemesis: Nemesis, lines: Lines, params: dict[str, str], stay: set[str]
) -> None:
    inject(nemesis, "kill", target="b1")
    inject(nemesis, "wipe", target="b1", **params)
    assert left(disk) == stay
    empty = {path.name for path in disk.glob("*/**/*") if path.is_dir() and not any(path.iterdir())}
    assert empty == ({"ledgers", "locations"} if params.get("what") == "index" else set())
    assert proof(lines, "injected", 2)["files"] == len(FILES) - len(stay)
    nemesis.heal()
    assert left(disk) == stay
    assert phases(lines, 2) == WHOLE


def test_the_cookie_is_forgotten_everywhere_only_when_asked(
    disk: Path, cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    inject(nemesis, "kill", target="b1")
    inject(nemesis, "wipe", target="b1")
    assert set(cluster.metadata) == {"b1", "b2"}
    inject(nemesis, "wipe", target="b1", cookie="remove_everywhere")
    assert set(cluster.metadata) == {"b2"}
    wiped = proof(lines, "injected", 3)
    assert (wiped["files"], wiped["cookie_forgotten"]) == (0, True)
    with pytest.raises(FaultError, match=r"b1 had nothing to wipe \(what: all\)"):
        inject(nemesis, "wipe", target="b1", cookie="remove_everywhere")


def test_what_the_disk_held_at_the_death_is_recorded_before_it_is_gone(
    disk: Path, cluster: Any, nemesis: Nemesis
) -> None:
    seen: list[set[str]] = []
    inject(nemesis, "kill", target="b1")
    cluster.process("b1").capture_disk = lambda: seen.append(left(disk))
    inject(nemesis, "wipe", target="b1")
    assert seen == [set(FILES)]


def test_files_that_are_still_there_are_no_wipe(
    disk: Path, nemesis: Nemesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(nemesis, "kill", target="b1")
    monkeypatch.setattr(Path, "unlink", lambda path: None)
    with pytest.raises(FaultError, match=r"7 files are still there, such as .*1\.txn"):
        inject(nemesis, "wipe", target="b1")


def test_a_bookie_that_was_started_meanwhile_was_not_wiped(
    disk: Path, cluster: Any, nemesis: Nemesis
) -> None:
    inject(nemesis, "kill", target="b1")
    cluster.process("b1").places, places = (
        (lambda: start(nemesis, target="b1") or places()),
        (cluster.process("b1").places),
    )
    with pytest.raises(FaultError, match="started"):
        inject(nemesis, "wipe", target="b1")


def test_a_cookie_that_is_there_again_was_not_removed(disk: Path, cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "kill", target="b1")
    again = changing(cluster, lambda: cluster.metadata.update(b1=b"cookie"))
    with pytest.raises(FaultError, match="the metadata store still has the cookie of b1"):
        inject(again, "wipe", target="b1", cookie="remove_everywhere")


def test_a_running_bookie_keeps_its_files(disk: Path, nemesis: Nemesis, lines: Lines) -> None:
    with pytest.raises(UsageError, match="b1 is running, and its files can be changed only") as raised:
        inject(nemesis, "wipe", target="b1")
    assert raised.value.remedy == "kill or stop it first"
    assert (left(disk), lines) == (set(FILES), [])


def test_an_unknown_bookie_is_refused(disk: Path, nemesis: Nemesis) -> None:
    with pytest.raises(UsageError, match="wipe b9 cannot be injected: no b9"):
        inject(nemesis, "wipe", target="b9")


def test_the_index_has_no_cookie() -> None:
    with pytest.raises(ValidationError, match="write `cookie: keep`"):
        FAULTS["wipe"](target="b1", what="index")


def test_only_a_separate_index_directory_has_a_cookie_to_remove(
    disk: Path, cluster: Any, nemesis: Nemesis
) -> None:
    inject(nemesis, "stop", target="b1")
    with pytest.raises(UsageError, match="the index of b1 has no separate directory, and so no cookie"):
        inject(nemesis, "wipe", target="b1", what="index", cookie="remove")
    write(disk, "index/current/VERSION", "index/current/locations/CURRENT")
    cluster.process("b1").places = lambda: {name: disk / name for name in ("journal", "ledgers", "index")}
    inject(nemesis, "wipe", target="b1", what="index", cookie="remove")
    assert not [name for name in left(disk) if name.startswith("index/")]
    assert left(disk) >= COOKIES


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        ("all", {"more/current/0.log", "more/current/locations/CURRENT"}),
        ("ledgers", {"more/current/0.log", "more/current/locations/CURRENT"}),
        ("index", {"more/current/locations/CURRENT"}),
        ("journal", set()),
    ],
)
def test_every_ledger_directory_is_meant(
    disk: Path, cluster: Any, nemesis: Nemesis, what: str, gone: set[str]
) -> None:
    write(disk, "more/current/0.log", "more/current/locations/CURRENT")
    cluster.process("b1").places = lambda: {name: disk / name for name in ("journal", "more", "ledgers")}
    before = left(disk)
    inject(nemesis, "kill", target="b1")
    inject(nemesis, "wipe", target="b1", what=what, cookie="keep")
    assert {name for name in before - left(disk) if name.startswith("more/")} == gone


NAMES = ("journal/current/VERSION", "ledgers/current/VERSION", "ledgers/current/ledgers/CURRENT")


@pytest.fixture
def disks(cluster: Any, nemesis: Nemesis, tmp_path: Path) -> Path:
    """What b1 and b2 had stored when they were stopped; each file names its bookie."""
    for bookie in ("b1", "b2"):
        names = (*NAMES, f"ledgers/current/{bookie}.log", f"journal/lost+found/{bookie}")
        write(tmp_path / bookie, *names, text=bookie * int(bookie[1:]))
        places = {name: tmp_path / bookie / name for name in ("journal", "ledgers")}
        cluster.process(bookie).places = lambda places=places: places
        inject(nemesis, "stop", target=bookie)
    return tmp_path


def stored(disks: Path, bookie: str) -> set[str]:
    """Whose files a bookie has, its file system's own left out."""
    files = (path for path in (disks / bookie).rglob("*") if path.is_file())
    return {path.read_text()[:2] for path in files if path.parent.name != "lost+found"}


def test_each_has_what_the_other_had_until_it_is_healed(disks: Path, nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "swap_disks", targets=["b1", "b2"])
    assert (stored(disks, "b1"), stored(disks, "b2")) == ({"b2"}, {"b1"})
    assert (disks / "b1/journal/lost+found/b1").is_file()
    assert nemesis.heal(kind="swap_disks") == ["swap_disks b1,b2"]
    assert (stored(disks, "b1"), stored(disks, "b2")) == ({"b1"}, {"b2"})
    assert phases(lines, 3) == WHOLE


def test_a_bookie_that_runs_on_the_disks_of_another_is_started_on_its_own(
    disks: Path, cluster: Any, nemesis: Nemesis
) -> None:
    inject(nemesis, "swap_disks", targets=["b1", "b2"])
    start(nemesis, target="b1")
    seen: list[set[str]] = []
    b1, b2 = cluster.process("b1"), cluster.process("b2")
    b1.capture_disk = lambda: seen.append(stored(disks, "b1"))
    nemesis.heal(kind="swap_disks")
    assert seen == [{"b2"}]
    assert (b1.state, b1.boot, b1.ready) == (ProcessState.RUNNING, 3, True)
    assert b2.state is ProcessState.DOWN
    assert (stored(disks, "b1"), stored(disks, "b2")) == ({"b1"}, {"b2"})


@pytest.mark.parametrize("order", ["start b1", "wait_ready b1"])
def test_a_second_healing_leaves_each_its_own_files(
    disks: Path, cluster: Any, nemesis: Nemesis, lines: Lines, order: str
) -> None:
    inject(nemesis, "swap_disks", targets=["b1", "b2"])
    start(nemesis, target="b1")
    cluster.orders.fail[order] = NotReadyError("b1 is slow")
    with pytest.raises(FaultError, match=r"swap_disks b1,b2 was not healed: b1 is slow"):
        nemesis.heal(kind="swap_disks")
    cluster.orders.fail.clear()
    nemesis.heal(kind="swap_disks")
    assert (stored(disks, "b1"), stored(disks, "b2")) == ({"b1"}, {"b2"})
    assert proof(lines, "healed", 3)["restarted"] == ["b1"]
    assert (cluster.process("b1").boot, cluster.process("b1").ready) == (3, True)


def test_files_that_stay_where_they_were_are_no_exchange(
    disks: Path, nemesis: Nemesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nemesis.storage._move", lambda source, target: None)
    with pytest.raises(FaultError, match="b1 does not have the files that b2 had"):
        inject(nemesis, "swap_disks", targets=["b1", "b2"])


def test_what_the_disks_held_at_the_death_is_recorded_before_they_are_exchanged(
    disks: Path, cluster: Any, nemesis: Nemesis
) -> None:
    seen: list[set[str]] = []
    cluster.process("b2").capture_disk = lambda: seen.append(stored(disks, "b2"))
    inject(nemesis, "swap_disks", targets=["b1", "b2"])
    assert seen == [{"b2"}]


def test_both_have_to_be_down_and_have_the_same_directories(
    disks: Path, cluster: Any, nemesis: Nemesis
) -> None:
    start(nemesis, target="b2")
    with pytest.raises(UsageError, match="b2 is running, and its files can be changed only while it is down"):
        inject(nemesis, "swap_disks", targets=["b1", "b2"])
    inject(nemesis, "stop", target="b2")
    cluster.process("b2").places = lambda: {"journal": disks / "b2/journal"}
    with pytest.raises(UsageError, match="b1 and b2 have different directories"):
        inject(nemesis, "swap_disks", targets=["b1", "b2"])


@pytest.mark.parametrize("targets", [["b1"], ["b1", "b1"], ["b1", "b2", "b3"]])
def test_two_bookies_exchange_their_disks(targets: list[str]) -> None:
    with pytest.raises(ValidationError):
        FAULTS["swap_disks"](targets=targets)
