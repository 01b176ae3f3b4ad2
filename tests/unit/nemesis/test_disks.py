"""Full and read-only disks: on real file systems where this machine has them, else on a fake one."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.interface import Exit, ProcessState, Refusal
from cluster.processes.keeper_client import KeeperClient
from cluster.servers.disks import Disk, disks_of, unavailable_reason
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS, FaultContext
from plans.cluster import Disks
from protocol.errors import FaultError, UsageError
from protocol.faults import AFTERMATH_S
from tests.nemesis_contract.fault_stories import WHOLE, Lines, inject, phases, proof
from tests.unit.nemesis.fake_disks import FakeDisk, give_disks

real = pytest.mark.skipif(
    unavailable_reason() is not None, reason=f"no dedicated disks: {unavailable_reason()}"
)


@pytest.fixture
def disk(cluster: Any, tmp_path: Path) -> Iterator[Disk]:
    """A real disk of b1."""
    with KeeperClient(tmp_path / "events.jsonl", log=tmp_path / "keeper.log") as keeper:
        keeper.own_mounts()
        disks = disks_of(tmp_path, Disks(size_mb=64), keeper)
        disks["data"].make()
        cluster.process("b1").disks = lambda: disks
        yield disks["data"]


@pytest.fixture
def fake(cluster: Any, tmp_path: Path) -> FakeDisk:
    """A fake disk of b1."""
    give_disks(cluster, tmp_path, "data")
    disk: FakeDisk = cluster.process("b1").disks()["data"]
    return disk


@real
def test_a_full_disk_takes_no_byte_until_it_is_healed(disk: Disk, nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "fill", target="b1")
    with pytest.raises(OSError) as refused:
        (disk.path / "more").write_bytes(bytes(1 << 20))
    assert refused.value.errno == errno.ENOSPC
    (disk.path / "more").unlink()
    nemesis.heal()
    (disk.path / "more").write_bytes(bytes(1 << 20))
    assert phases(lines) == WHOLE
    assert proof(lines, "confirmed")["spare_bytes"]["data"] < 64 << 10


@real
def test_a_read_only_disk_is_healed_by_a_boot_upon_a_new_mount(
    cluster: Any, disk: Disk, nemesis: Nemesis, lines: Lines
) -> None:
    with (disk.path / "open").open("wb"):
        inject(nemesis, "read_only", target="b1")
    with pytest.raises(OSError) as refused:
        (disk.path / "more").write_bytes(b"more")
    assert refused.value.errno == errno.EROFS
    nemesis.heal()
    (disk.path / "more").write_bytes(b"more")
    assert (phases(lines), proof(lines, "healed")["killed"]) == (WHOLE, True)
    assert (cluster.process("b1").state, cluster.process("b1").boot) == (ProcessState.RUNNING, 2)


@real
def test_the_disk_of_a_dead_bookie_comes_back_before_the_bookie_does(
    cluster: Any, disk: Disk, nemesis: Nemesis
) -> None:
    inject(nemesis, "read_only", target="b1")
    inject(nemesis, "kill", target="b1")
    assert nemesis.heal() == ["read_only b1", "kill b1"]
    assert (disk.sound, cluster.process("b1").boot) == (True, 2)


def test_a_rest_is_left_and_a_bookie_that_goes_on_is_not_restarted(
    cluster: Any, nemesis: Nemesis, lines: Lines, tmp_path: Path
) -> None:
    give_disks(cluster, tmp_path, "ledgers", "journal")
    inject(nemesis, "fill", target="b1", disk="ledgers", rest_kb=128)
    disks = cluster.process("b1").disks()
    assert disks["ledgers"].spare_bytes() == 128 << 10
    assert disks["journal"].spare_bytes() == 1 << 20
    nemesis.heal()
    assert (disks["ledgers"].spare_bytes(), cluster.process("b1").boot) == (1 << 20, 1)
    assert phases(lines) == WHOLE


@pytest.mark.parametrize(
    ("before", "lines_since", "noticed"),
    [
        ("", "", 0),
        ("Directory is out of space\n", "fine\n", 0),
        ("fine\n", "No space left on device\n", 1),
    ],
)
def test_whether_the_bookie_noticed_is_read_from_its_log_since_then(
    cluster: Any, nemesis: Nemesis, lines: Lines, tmp_path: Path, before: str, lines_since: str, noticed: int
) -> None:
    give_disks(cluster, tmp_path, "ledgers")
    log = cluster.process("b1").log = tmp_path / "b1.log"
    log.write_text(before)
    inject(nemesis, "fill", target="b1", disk="ledgers", rest_kb=128)
    with log.open("a") as file:
        file.write(lines_since)
    nemesis.heal()
    assert proof(lines, "healed")["noticed"] == noticed


@pytest.mark.usefixtures("fake")
def test_a_disk_that_has_less_free_than_the_rest_was_not_filled(nemesis: Nemesis, lines: Lines) -> None:
    with pytest.raises(FaultError, match="disk data of b1 had less than 4096 KB free before"):
        inject(nemesis, "fill", target="b1", rest_kb=4096)
    assert phases(lines) == ["planned", "injected", "failed", "healed"]
    assert not nemesis.in_force()


def test_what_a_living_bookie_gives_back_meanwhile_is_taken_too(
    fake: FakeDisk, nemesis: Nemesis, lines: Lines
) -> None:
    fake.gives_back = [512 << 10]
    inject(nemesis, "fill", target="b1", rest_kb=128)
    assert fake.spare_bytes() == 128 << 10
    assert proof(lines, "confirmed")["spare_bytes"]["data"] == 128 << 10


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_gives_less_than_it_says_is_filled_in_smaller_parts(
    fake: FakeDisk, nemesis: Nemesis, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    whole = os.posix_fallocate

    def less(file: int, offset: int, size: int) -> None:
        if size > 300 << 10:
            raise OSError(number, "refused")
        whole(file, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", less)
    if number == errno.ENOSPC:
        inject(nemesis, "fill", target="b1", rest_kb=128)
        assert fake.spare_bytes() == 128 << 10
    else:
        with pytest.raises(FaultError, match=r"disk data cannot be filled: .*refused"):
            inject(nemesis, "fill", target="b1", rest_kb=128)


@pytest.mark.usefixtures("fake")
def test_a_bookie_that_gave_up_over_it_is_started_again(cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "fill", target="b1", rest_kb=64)
    b1 = cluster.process("b1")
    assert b1.allowed == [1]
    b1.state = ProcessState.DOWN
    b1.refusal = lambda: Refusal(Exit("b1", 1, 3, None, 0), ("no space left",))
    nemesis.heal()
    assert (b1.state, b1.boot) == (ProcessState.RUNNING, 2)


@pytest.mark.usefixtures("fake")
def test_a_bookie_that_stays_up_may_end_for_a_while_after_its_disk_is_emptied(
    cluster: Any, nemesis: Nemesis
) -> None:
    inject(nemesis, "fill", target="b1", rest_kb=64)
    assert (cluster.process("b1").later_boots, cluster.process("b1").limited) == (True, [])
    nemesis.heal()
    assert cluster.process("b1").limited == [(1, AFTERMATH_S)]


@pytest.mark.usefixtures("fake")
def test_a_disk_that_stays_writable_is_no_full_disk(
    nemesis: Nemesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nemesis.disks._FULL_TIMEOUT_S", 0.5)
    with pytest.raises(FaultError, match=r"is not full: .*writing 1048576 bytes was taken"):
        inject(nemesis, "fill", target="b1")


def test_a_disk_that_stays_full_is_not_healed(fake: FakeDisk, nemesis: Nemesis) -> None:
    inject(nemesis, "fill", target="b1", rest_kb=64)
    fake.spare = 128 << 10
    with pytest.raises(FaultError, match="disk data of b1 is still full: 131072 bytes are free"):
        nemesis.heal()


def test_a_disk_that_takes_writes_is_not_read_only_and_one_that_takes_none_is_not_healed(
    fake: Any, cluster: Any, nemesis: Nemesis
) -> None:
    fake.turn_read_only = lambda: "abort"
    with pytest.raises(FaultError, match="disk data of b1 is not read-only: taken"):
        inject(nemesis, "read_only", target="b1")
    b1 = cluster.process("b1")
    assert (b1.allowed, b1.state, b1.boot) == ([1], ProcessState.RUNNING, 2)
    fake.mount_again = lambda: shutil.rmtree(fake.path)
    with pytest.raises(FaultError, match="disk data of b1 takes no writes yet: refused with ENOENT"):
        FAULTS["read_only"](target="b1").heal(FaultContext(cluster))


@real
def test_a_slow_disk_syncs_slowly_until_it_is_healed(disk: Disk, nemesis: Nemesis, lines: Lines) -> None:
    inject(nemesis, "slow_disk", target="b1")
    assert len(_slowing(disk)) == 32
    assert proof(lines, "confirmed")["sync_ms"]["data"] >= 5
    nemesis.heal()
    assert (_slowing(disk), phases(lines)) == (set(), WHOLE)
    assert not (disk.path / "lost+found" / "slowing").exists()


@real
def test_a_loss_of_power_ends_what_slows_the_disk(cluster: Any, disk: Disk, nemesis: Nemesis) -> None:
    inject(nemesis, "slow_disk", target="b1")
    threads = _slowing(disk)
    inject(nemesis, "power_loss", targets=["b1"])
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
    assert [entry.fault.kind for entry in nemesis.in_force()] == ["power_loss"]
    assert cluster.process("b1").state is ProcessState.DOWN
    nemesis.heal()
    inject(nemesis, "slow_disk", target="b1", sync_ms=1)
    nemesis.heal()
    assert not _slowing(disk)


def test_a_loss_of_power_of_one_disk_ends_what_slows_the_others(
    cluster: Any, nemesis: Nemesis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_disks(cluster, tmp_path, "ledgers", "journal")
    monkeypatch.setattr("nemesis.disks._sync_ms", lambda disk: 9.0)
    disks = cluster.process("b1").disks()
    for disk in disks.values():
        (disk.path / "lost+found").mkdir()
    inject(nemesis, "slow_disk", target="b1")
    assert [len(_slowing(disk)) for disk in disks.values()] == [32, 32]
    inject(nemesis, "power_loss", targets=["b1"], disk="journal")
    assert [_slowing(disk) for disk in disks.values()] == [set(), set()]


@real
def test_what_slows_a_disk_ends_with_a_run_that_does_not_heal_it(disk: Disk, nemesis: Nemesis) -> None:
    inject(nemesis, "slow_disk", target="b1", sync_ms=1)
    assert len(_slowing(disk)) == 32
    nemesis.close()
    assert _slowing(disk) == set()


@real
def test_a_disk_that_stays_fast_is_no_slow_disk(
    disk: Disk, nemesis: Nemesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nemesis.disks._SLOW_TIMEOUT_S", 0.5)
    with pytest.raises(FaultError, match=r"disk data is not slow: .* a sync takes .* ms"):
        inject(nemesis, "slow_disk", target="b1", sync_ms=100_000)
    assert (_slowing(disk), nemesis.in_force()) == (set(), [])


@real
def test_a_disk_that_takes_no_writes_cannot_be_slowed(disk: Disk, nemesis: Nemesis) -> None:
    disk.turn_read_only()
    with pytest.raises(FaultError, match=r"disk data cannot be synced: .*Read-only"):
        inject(nemesis, "slow_disk", target="b1")
    assert _slowing(disk) == set()
    disk.mount_again()


def _slowing(disk: Disk) -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith(f"{disk.path}/")}


@pytest.mark.parametrize("name", ["fill", "read_only", "slow_disk"])
def test_without_a_disk_it_is_refused(nemesis: Nemesis, name: str) -> None:
    with pytest.raises(UsageError, match="b1 has no dedicated disk"):
        inject(nemesis, name, target="b1")
