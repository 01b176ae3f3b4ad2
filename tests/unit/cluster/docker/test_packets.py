"""Rules by which packets are dropped, in a network stack of the test's own where it may make one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.docker import packets
from cluster.interface import PacketDirection
from cluster.servers import disks
from protocol.errors import ServerError
from tests.programs import program


def test_what_is_there_is_replaced_in_one_step() -> None:
    lines = packets.rules([PacketDirection.OUTGOING]).splitlines()
    assert lines[:2] == ["add table inet fencepost", "delete table inet fencepost"]
    assert "hook output" in lines[-2]
    assert lines[-1] == 'add rule inet fencepost outgoing oifname != "lo" counter name "outgoing" drop'
    assert packets.rules([]).splitlines() == lines[:2]


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert packets.unavailable_reason() == "dropping packets in a container's network needs root"


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(packets, "SYSTEM_PATH", "/nowhere")
    assert packets.unavailable_reason() == "nft and nsenter missing: apt-get install nftables util-linux"


def test_a_root_without_the_power_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "nft", "")
    program(tmp_path / "nsenter", "")
    program(tmp_path / "unshare", "echo 'unshare failed: Operation not permitted' >&2; exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for module in (packets, disks):
        monkeypatch.setattr(module, "SYSTEM_PATH", str(tmp_path))
    disks.refused_to_root.cache_clear()
    reason = packets.unavailable_reason()
    disks.refused_to_root.cache_clear()
    assert reason == (
        "this root may not drop packets in another network: unshare failed: Operation not permitted"
    )


def test_a_stack_that_is_gone_is_an_error() -> None:
    with pytest.raises(ServerError, match="nft in /nowhere failed"):
        packets.drop("/nowhere", [PacketDirection.INCOMING])


@pytest.fixture
def stack() -> Iterator[str]:
    """A separate network stack, as the file that names it."""
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield f"/proc/{process.pid}/ns/net"
        process.kill()


@pytest.mark.skipif(
    packets.unavailable_reason() is not None,
    reason=f"no packets can be dropped: {packets.unavailable_reason()}",
)
def test_ways_are_closed_and_opened_again(stack: str) -> None:
    assert packets.dropped(stack) == {}
    packets.drop(stack, list(PacketDirection))
    assert packets.dropped(stack) == dict.fromkeys(PacketDirection, 0)
    packets.drop(stack, [PacketDirection.INCOMING])
    assert packets.dropped(stack) == {PacketDirection.INCOMING: 0}
    packets.drop(stack, [])
    assert packets.dropped(stack) == {}
