"""Missing requirements of containers are reported with their remedy; an installed compose plugin is used."""

import os
from collections.abc import Callable
from pathlib import Path

import engine
import machine
import plugin
import pytest

from protocol.errors import PrerequisiteError
from tests.programs import program

Says = Callable[[str, int], object]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Stands for the ``docker`` command: says one thing on standard error, and ends with a code."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return lambda text, code: program(tmp_path / "docker", f"echo '{text}' >&2\nexit {code}")


def test_an_engine_that_answers_lacks_nothing(docker: Says) -> None:
    docker("", 0)
    assert engine.lacking() is None


@pytest.mark.parametrize(
    ("stderr", "remedy"),
    [
        ("Cannot connect to the Docker daemon at unix:///x. Is it running?", "service docker start"),
        ("permission denied while trying to connect", "sudo usermod -aG docker"),
    ],
)
def test_an_engine_that_does_not_answer_is_told_with_a_remedy(docker: Says, stderr: str, remedy: str) -> None:
    docker(stderr, 1)
    result = engine.lacking() or ""
    assert stderr in result
    assert remedy in result


def test_without_a_docker_command_the_package_is_named(docker: Says) -> None:
    assert "apt-get install docker.io" in (engine.lacking() or "")


def test_without_buildx_the_legacy_builder_is_asked_for(docker: Says) -> None:
    docker("docker: unknown command: docker buildx", 1)
    assert engine.builder() == {"DOCKER_BUILDKIT": "0"}
    docker("", 0)
    assert engine.builder() == {}


def system(monkeypatch: pytest.MonkeyPatch, *, packages: dict[str, str], release: str) -> None:
    """A system whose apt has these packages, name to version, and this release of Debian."""

    def output(argv: list[str]) -> str:
        if argv[0] == "apt-cache":
            return f"{argv[2]}:\n  Installed: (none)\n  Candidate: {packages.get(argv[2], '(none)')}\n"
        return f"Elsewhere stable http://elsewhere/\nDebian {release} http://mirror/debian/\n"

    monkeypatch.setattr(machine, "output", output)


def test_debian_12_takes_the_plugin_of_the_following_release(monkeypatch: pytest.MonkeyPatch) -> None:
    system(monkeypatch, packages={"docker-compose": "1.29.2-3"}, release="bookworm")
    assert plugin.package() is None
    assert plugin._mirror() == ("http://mirror/debian/", "trixie")


@pytest.mark.parametrize(
    ("name", "version"),
    [("docker-compose", "2.26.1-4"), ("docker-compose-v2", "2.24.6+ds1-0ubuntu1~22.04.1")],
)
def test_a_system_with_a_package_of_it_uses_that(
    monkeypatch: pytest.MonkeyPatch, name: str, version: str
) -> None:
    system(monkeypatch, packages={name: version}, release="forky")
    assert plugin.package() == name


def test_where_there_is_no_package_the_user_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    system(monkeypatch, packages={}, release="forky")
    with pytest.raises(PrerequisiteError, match=plugin.VERSION):
        plugin.bring(tmp_path)


def test_where_no_service_can_start_it_the_engine_is_begun_by_hand(
    docker: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A root that may not raise limits: the service's script ends with an error before it starts anything."""
    docker("Cannot connect to the Docker daemon", 1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path / "service", "echo 'ulimit: error setting limit' >&2\nexit 2")
    answering = program(tmp_path / "answering", "")
    program(tmp_path / "dockerd", f"mv {answering} {tmp_path}/docker")
    monkeypatch.setattr(engine, "_LOG", tmp_path / "log")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    engine.install_and_start()
    assert engine.lacking() is None
    assert "begun by hand" in capsys.readouterr().out


BEFORE = """*filter
:FORWARD ACCEPT [3:180]
-A FORWARD -s 10.7.1.0/24 -j ACCEPT
COMMIT
"""
AFTER = """*nat
:OUTPUT ACCEPT [0:0]
:DOCKER - [0:0]
-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER
COMMIT
*filter
:FORWARD DROP [9:999]
:DOCKER-USER - [0:0]
:NEIGHBOUR - [0:0]
-A FORWARD -o br-0123456789ab -m comment --comment "two words" -j ACCEPT
-A FORWARD -s 10.7.1.0/24 -j ACCEPT
-A NEIGHBOUR -s 10.7.2.0/24 -j DROP
COMMIT
"""


def test_what_an_engine_added_to_the_packet_filter_is_taken_away_and_nothing_else() -> None:
    assert engine.undone(BEFORE, AFTER) == [
        ["-t", "nat", "-D", "OUTPUT", "!", "-d", "127.0.0.0/8", "-m", "addrtype",
         "--dst-type", "LOCAL", "-j", "DOCKER"],
        ["-t", "filter", "-D", "FORWARD", "-o", "br-0123456789ab", "-m", "comment",
         "--comment", "two words", "-j", "ACCEPT"],
        ["-t", "nat", "-X", "DOCKER"],
        ["-t", "filter", "-X", "DOCKER-USER"],
        ["-t", "filter", "-P", "FORWARD", "ACCEPT"],
    ]  # fmt: skip


def test_the_rules_of_an_engine_that_was_there_before_are_left_alone() -> None:
    assert engine.undone(AFTER, AFTER + BEFORE) == []
