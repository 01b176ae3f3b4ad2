"""Real file systems on loop devices: whose they are, what a power loss takes, and that nothing is left."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.processes.keeper_client import KeeperClient
from cluster.servers.disks import Disk, Probe, disks_of, unavailable_reason, unmount_others
from nemesis.storage import files_below
from plans.cluster import Disks
from protocol.errors import ServerError
from tests.unit.cluster.test_keeper import Harness, alive, eventually

pytestmark = pytest.mark.skipif(
    unavailable_reason() is not None, reason=f"no dedicated disks: {unavailable_reason()}"
)


def loops_on(folder: Path) -> list[str]:
    """The files below a folder that are some loop device's; in a chroot the kernel names the outer path."""
    found = [path.read_text().strip() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    return [path for path in found if f"{folder}/" in path]


def mounts_on(folder: Path, pid: int | str = "self") -> list[str]:
    lines = Path(f"/proc/{pid}/mounts").read_text().splitlines()
    return [line.split()[1] for line in lines if line.split()[1].startswith(str(folder))]


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[KeeperClient]:
    with KeeperClient(tmp_path / "events.jsonl", log=tmp_path / "keeper.log") as running:
        running.own_mounts()
        yield running
    eventually(lambda: not loops_on(tmp_path), "no loop device")


def make(keeper: KeeperClient, folder: Path, **spec: object) -> dict[str, Disk]:
    disks = disks_of(folder, Disks.model_validate({"size_mb": 64, **spec}), keeper)
    for disk in disks.values():
        disk.make()
    return disks


def test_only_the_keeper_and_its_children_see_the_mounts(keeper: KeeperClient, tmp_path: Path) -> None:
    ledgers, journal = make(keeper, tmp_path, journal="own").values()
    assert mounts_on(tmp_path) == []
    assert mounts_on(tmp_path, keeper.pid) == [f"{tmp_path}/data/ledgers", f"{tmp_path}/data/journal"]
    assert len(loops_on(tmp_path)) == 2
    (journal.path / "file").write_text("there")
    assert not (ledgers.path / "file").exists()
    assert list((tmp_path / "data" / "journal").iterdir()) == []
    journal.mount_again()
    assert (journal.path / "file").read_text() == "there"
    keeper.end()
    assert loops_on(tmp_path) == []
    assert sorted(path.name for path in (tmp_path / "disks").iterdir()) == ["journal.img", "ledgers.img"]


def test_a_disk_among_the_mounts_of_the_machine_is_in_use_by_its_own_run_only(tmp_path: Path) -> None:
    """As a container's; the mounts of another run's keeper begin as copies of the machine's."""
    keepers = [KeeperClient(tmp_path / f"{name}.jsonl", log=tmp_path / name) for name in ("own", "other")]
    with keepers[0] as own, keepers[1] as other:
        (disk,) = make(own, tmp_path).values()
        other.own_mounts()
        assert mounts_on(tmp_path, other.pid) == mounts_on(tmp_path) == [f"{tmp_path}/data"]
        unmount_others(other)
        assert mounts_on(tmp_path, other.pid) == []
        assert mounts_on(tmp_path) == [f"{tmp_path}/data"]
        disk.mount_again()  # it is not, as long as anybody has it mounted
    eventually(lambda: not loops_on(tmp_path), "no loop device")


def test_further_directories_have_a_disk_each(keeper: KeeperClient, tmp_path: Path) -> None:
    disks = make(keeper, tmp_path, journal="own", more=["more", "index"])
    assert list(disks) == ["ledgers", "journal", "more", "index"]
    assert mounts_on(tmp_path, keeper.pid) == [f"{tmp_path}/data/{name}" for name in disks]


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_power_loss_takes_what_was_not_synced(keeper: KeeperClient, tmp_path: Path, kind: str) -> None:
    if reason := unavailable_reason(kind):
        pytest.skip(reason)
    (disk,) = make(keeper, tmp_path, kind=kind, size_mb=320).values()
    (disk.path / "synced").write_text("there")
    disk.sync()
    (disk.path / "synced").write_text("changed")
    disk.write_unsynced()
    assert disk.probe() == Probe(synced=True, unsynced=True)
    disk.lose_power()
    with pytest.raises(OSError, match="Input/output error"):
        (disk.path / "late").write_text("too late")
    assert not disk.sound
    assert disk.mount_again() == Probe(synced=True, unsynced=False)
    assert (disk.path / "synced").read_text() in ("there", "")  # truncated before it was written again
    assert disk.sound


def test_wiping_a_bookie_leaves_the_files_by_which_a_power_loss_is_proven(
    keeper: KeeperClient, tmp_path: Path
) -> None:
    (disk,) = make(keeper, tmp_path).values()
    disk.write_unsynced()
    (disk.path / "current").mkdir()
    (disk.path / "current" / "0.log").touch()
    wiped = list(files_below(disk.path))
    for path in wiped:
        path.unlink()
    assert [path.name for path in wiped] == ["0.log"]
    disk.lose_power()
    assert disk.mount_again() == Probe(synced=True, unsynced=False)


def test_a_disk_turns_read_only_under_open_files_and_comes_back(keeper: KeeperClient, tmp_path: Path) -> None:
    (disk,) = make(keeper, tmp_path).values()
    with (disk.path / "open").open("wb", buffering=0) as file:
        disk.sync()
        assert disk.turn_read_only() == "abort"
        with pytest.raises(OSError) as refused:
            file.write(b"too late")
        assert refused.value.errno == errno.EROFS
    disk.mount_again()
    assert (disk.path / "open").read_bytes() == b""


def test_an_xfs_is_not_made_read_only_under_open_files(keeper: KeeperClient, tmp_path: Path) -> None:
    if reason := unavailable_reason("xfs"):
        pytest.skip(reason)
    (disk,) = make(keeper, tmp_path, kind="xfs", size_mb=320).values()
    with (disk.path / "open").open("wb"), pytest.raises(ServerError, match="while files are open") as refused:
        disk.turn_read_only()
    assert "kill the bookie first" in refused.value.remedy
    assert disk.turn_read_only() == "remount"


WRITING_TO_A_DISK = """
    from cluster.servers.disks import disks_of
    from plans.cluster import Disks
    keeper.own_mounts()
    (disk,) = disks_of(folder, Disks(size_mb=64), keeper).values()
    disk.make()
    write = f"while True: open({str(folder / 'data' / 'file')!r}, 'w').write('x' * 9999)"
    pids.insert(0, spawn("b2", [sys.executable, "-I", "-S", "-c", write]))
    while not (disk.path / "file").exists():
        pass
"""


def test_a_killed_harness_leaves_no_mount_and_no_loop_device(tmp_path: Path) -> None:
    harness = Harness(tmp_path, WRITING_TO_A_DISK)
    assert len(loops_on(tmp_path)) == 1
    harness.kill()
    eventually(lambda: not any(map(alive, (*harness.servers, harness.keeper))), "all gone")
    eventually(lambda: not loops_on(tmp_path), "no loop device")


def test_a_harness_killed_together_with_its_keeper_leaves_neither(tmp_path: Path) -> None:
    harness = Harness(tmp_path, WRITING_TO_A_DISK)
    os.kill(harness.keeper, signal.SIGSTOP)
    harness.kill()
    assert len(loops_on(tmp_path)) == 1
    os.kill(harness.keeper, signal.SIGKILL)
    eventually(lambda: not any(map(alive, (*harness.servers, harness.keeper))), "all gone")
    eventually(lambda: not loops_on(tmp_path), "no loop device")
