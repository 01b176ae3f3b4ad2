"""What images are built from: all may read it, its digest changes with it, and it says what the code says."""

import os
import re
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest

from cluster.configuration import BOOKIE_BASE, ROCKSDB_OPTIONS, parse_properties
from cluster.docker import images
from cluster.releases import artifacts
from cluster.releases.artifacts import ServerArtifacts
from cluster.waiting import wait_until
from protocol.modes import MODES
from protocol.wire import read_request
from tests.programs import program

OWN = images.SOURCES / "bookkeeper" / "fencepost"
FLUSHED_BY_THE_CLOCK = {"flushInterval"}  # which a run must not, and a cluster for use should


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine after set-up, with two jars that only their owner may read, and a place for contexts."""
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in ("bookkeeper.jar", "zookeeper.jar", "fencepost-client.jar", "fencepost-proxy", "lock"):
        (cache / name).write_text(name)
        (cache / name).chmod(0o700 if name == "fencepost-proxy" else 0o600)
    (cache / "lock").write_text(f"{'0' * 64}  some/path/zookeeper.jar\n")
    jars = (cache / "bookkeeper.jar", cache / "zookeeper.jar")
    servers = ServerArtifacts("4.18.0", cache, jars, cache / "lock")
    monkeypatch.setattr(artifacts, "class_path", lambda _version: servers)
    monkeypatch.setattr(artifacts, "client_jar", lambda: cache / "fencepost-client.jar")
    monkeypatch.setattr(artifacts, "proxy_binary", lambda: cache / "fencepost-proxy")
    monkeypatch.setattr(images, "CONTEXTS", tmp_path / "contexts")
    return cache


def test_a_context_has_what_its_dockerfile_copies(installed: Path) -> None:
    for image in images.prepare(["4.18.0"]):
        dockerfile = (image.context / "Dockerfile").read_text()
        copied = re.findall(r"^COPY (?!--from)(\S+)", dockerfile, re.MULTILINE)
        assert copied
        assert [name for name in copied if not (image.context / name).exists()] == []
        assert image.target == "" or f"AS {image.target}\n" in dockerfile


def test_every_user_of_a_container_can_read_what_was_copied(installed: Path) -> None:
    former = os.umask(0o077)
    try:
        contexts = {image.context for image in images.prepare(["4.18.0"])}
    finally:
        os.umask(former)
    for path in [path for context in contexts for path in context.rglob("*")]:
        wanted = 0o555 if path.is_dir() or path.name == "fencepost-proxy" else 0o444
        assert path.stat().st_mode & wanted == wanted, path


def test_a_jar_that_all_may_read_is_not_copied(installed: Path) -> None:
    (installed / "zookeeper.jar").chmod(0o644)
    images.prepare(["4.18.0"])
    lib = images.bookkeeper_image("4.18.0").context / "lib"
    assert (lib.parent / "sums").read_text() == f"{'0' * 64}  zookeeper.jar\n"
    assert (lib / "zookeeper.jar").stat().st_ino == (installed / "zookeeper.jar").stat().st_ino
    assert (lib / "bookkeeper.jar").stat().st_ino != (installed / "bookkeeper.jar").stat().st_ino


@pytest.mark.parametrize("changed", ["lock", "fencepost-client.jar"])
def test_a_digest_changes_with_the_sources(installed: Path, changed: str) -> None:
    context = images.bookkeeper_image("4.18.0").context
    images.prepare(["4.18.0"])
    before = images.digest(context)
    images.prepare(["4.18.0"])
    assert images.digest(context) == before
    (installed / changed).write_text(f"{'1' * 64}  zookeeper.jar\n")
    images.prepare(["4.18.0"])
    assert images.digest(context) != before


def test_what_an_earlier_release_left_is_gone(installed: Path) -> None:
    stale = images.bookkeeper_image("4.18.0").context / "lib" / "stale.jar"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    images.prepare(["4.18.0"])
    assert not stale.exists()


@pytest.mark.parametrize("name", MODES)
def test_a_mode_is_the_same_in_containers(name: str) -> None:
    text = (OWN / "modes" / f"{name}.conf").read_text()
    assert parse_properties(text, source=name) == MODES[name].bookie


def test_there_is_no_other_mode() -> None:
    assert {path.stem for path in (OWN / "modes").iterdir()} == set(MODES)


def test_bookies_are_as_small_as_those_of_a_run() -> None:
    conf = parse_properties((OWN / "bookie.conf").read_text(), source="bookie.conf")
    assert conf == {key: value for key, value in BOOKIE_BASE.items() if key not in FLUSHED_BY_THE_CLOCK}
    assert (OWN / "rocksdb.conf").read_text() == ROCKSDB_OPTIONS


def test_the_health_check_asks_what_the_harness_asks() -> None:
    request = "".join(f"\\x{byte:02x}" for byte in read_request(1, 2**40, 2**40))
    assert f"'{request}'" in (OWN / "health").read_text()


def test_the_proxy_has_the_version_of_the_project() -> None:
    project = tomllib.loads((artifacts.CHECKOUT / "pyproject.toml").read_text())["project"]
    assert project["version"] == images.PROXY_TAG


@pytest.mark.parametrize("script", ["entry", "health", "session"])
def test_a_script_has_no_error_of_syntax(script: str) -> None:
    shell = (OWN / script).read_text().partition("\n")[0].removeprefix("#!")
    subprocess.run([shell, "-n", str(OWN / script)], check=True)


def test_a_killed_build_of_the_base_leaves_nothing_mounted(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("this user may not mount")
    programs = tmp_path / "bin"
    program(programs / "docker", "exit 0")
    mounts = 'mkdir -p "$3/proc" && mount -t proc proc "$3/proc" && echo mounted && exec sleep 600'
    program(programs / "debootstrap", mounts)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    build = subprocess.Popen([str(images.SOURCES / "base.sh")], env=environment, start_new_session=True)
    try:
        wait_until(lambda: (any(log.read_text() for log in tmp_path.glob("*/log")), ""), 30, "its mount")
    finally:
        os.killpg(build.pid, signal.SIGKILL)
        build.wait()
    mounted = Path("/proc/self/mounts").read_text().splitlines()
    left = [line.split()[1] for line in mounted if str(tmp_path) in line]
    for place in left:
        subprocess.run(["umount", place], check=True)
    assert left == []
