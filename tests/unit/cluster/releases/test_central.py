"""Jars come from the repository by their paths: continued after a break, refused when altered."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cluster.releases import artifacts, checksums, maven
from protocol.errors import PrerequisiteError
from tests.programs import program
from tests.unit.cluster.releases.test_artifacts import cache as cache  # a fixture

BLOCK = 1 << 14
CONTENT = bytes(range(256)) * 4096


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Repository:
    """A Maven repository on loopback that can break connections and be busy; it notes what it is asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.broken = 0
        self.busy = 0
        self.ranges = True
        self.asked: list[tuple[str, str]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/maven"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.removeprefix("/maven/")
        asked = request.headers.get("Range", "")
        self.asked.append((path, asked))
        if self.busy:
            self.busy -= 1
            request.send_error(503)
            return
        if path not in self.files:
            request.send_error(404)
            return
        content = self.files[path]
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        if start >= len(content):
            request.send_error(416)
            return
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(content) - start))
        request.end_headers()
        if self.broken:
            self.broken -= 1
            request.wfile.write(content[start : start + 2 * BLOCK + 1])
            request.wfile.flush()
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        request.wfile.write(content[start:])

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    started = Repository()
    monkeypatch.setenv("FENCEPOST_MAVEN", started.url + "/")
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    yield started
    started.close()


def test_files_get_their_last_names(repository: Repository, tmp_path: Path) -> None:
    repository.files = {f"org/x{n}/x-{n}.jar": CONTENT + bytes([n]) for n in range(20)}
    maven.fetch({path: sha(content) for path, content in repository.files.items()}, tmp_path / "jars")
    assert {path.name: path.read_bytes() for path in (tmp_path / "jars").iterdir()} == {
        f"x-{n}.jar": CONTENT + bytes([n]) for n in range(20)
    }


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_connection_is_continued(ranges: bool, repository: Repository, tmp_path: Path) -> None:
    repository.files = {"a/a.jar": CONTENT}
    repository.broken = 2
    repository.ranges = ranges
    maven.fetch({"a/a.jar": sha(CONTENT)}, tmp_path)
    assert (tmp_path / "a.jar").read_bytes() == CONTENT
    assert [asked for _, asked in repository.asked] == [
        "",
        f"bytes={2 * BLOCK}-",
        f"bytes={(4 if ranges else 2) * BLOCK}-",
    ]


def test_a_repository_that_is_busy_is_asked_again(repository: Repository, tmp_path: Path) -> None:
    repository.files = {"a/a.jar": CONTENT}
    repository.busy = 2
    maven.fetch({"a/a.jar": sha(CONTENT)}, tmp_path)
    assert len(repository.asked) == 3


def test_what_arrived_is_not_fetched_again(repository: Repository, tmp_path: Path) -> None:
    repository.files = {"a/a.jar": CONTENT}
    sums = {"a/a.jar": sha(CONTENT), "b/b.jar": sha(b"b")}
    with pytest.raises(PrerequisiteError, match=r"b/b\.jar cannot be fetched: 404"):
        maven.fetch(sums, tmp_path)
    maven.fetch({"a/a.jar": sha(CONTENT)}, tmp_path)
    repository.files["b/b.jar"] = b"b"
    maven.fetch(sums, tmp_path)
    assert [path for path, _ in repository.asked].count("a/a.jar") == 1


@pytest.mark.parametrize("part", [b"of another file", CONTENT, CONTENT + b"more"])
def test_a_part_that_was_left_is_checked_like_the_rest(
    part: bytes, repository: Repository, tmp_path: Path
) -> None:
    repository.files = {"a/a.jar": CONTENT}
    (tmp_path / "a.jar.part").write_bytes(part)
    maven.fetch({"a/a.jar": sha(CONTENT)}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jar"]
    assert (tmp_path / "a.jar").read_bytes() == CONTENT


def test_another_content_than_the_locks_is_refused_and_not_kept(
    repository: Repository, tmp_path: Path
) -> None:
    repository.files = {"a/a.jar": b"altered"}
    with pytest.raises(
        PrerequisiteError, match=f"{sha(b'altered')}, the lock says {sha(CONTENT)}"
    ) as refusal:
        maven.fetch({"a/a.jar": sha(CONTENT)}, tmp_path)
    assert "FENCEPOST_MAVEN" in refusal.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_repository_out_of_reach_is_named_with_what_to_set(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setenv("FENCEPOST_MAVEN", f"http://127.0.0.1:{closed.getsockname()[1]}")
        with pytest.raises(PrerequisiteError, match="cannot be reached") as refusal:
            maven.fetch({"a/a.jar": sha(CONTENT)}, tmp_path)
    assert all(name in refusal.value.remedy for name in ("HTTPS_PROXY", "FENCEPOST_MAVEN", "kept"))


def test_without_a_mirror_the_repository_is_mavens_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FENCEPOST_MAVEN", raising=False)
    assert maven.repository().startswith("https://")


def test_a_locked_release_comes_without_maven(
    repository: Repository, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    repository.files = {"g/bookkeeper-server-4.17.0.jar": CONTENT, "g/zookeeper-3.9.3.jar": b"z"}
    sums = {path: sha(content) for path, content in repository.files.items()}
    checksums.write_lock(artifacts.LOCKS / "bookkeeper-4.17.0.sha256", sums)
    found = artifacts.class_path("4.17.0")
    assert [jar.name for jar in found.jars] == ["bookkeeper-server-4.17.0.jar", "zookeeper-3.9.3.jar"]
    assert found.note == "" and not (cache / "maven").exists()


def test_jars_that_differ_from_the_projects_lock_are_not_kept(repository: Repository, cache: Path) -> None:
    repository.files = {"g/zookeeper-3.9.3.jar": b"altered"}
    checksums.write_lock(artifacts.LOCKS / "bookkeeper-4.17.0.sha256", {"g/zookeeper-3.9.3.jar": "0" * 64})
    with pytest.raises(PrerequisiteError, match="the lock says 0000"):
        artifacts.class_path("4.17.0")
    assert not (cache / "bookkeeper" / "4.17.0").exists()


class TestMaven:
    """Maven is PATH's, or an archive of the repository; nothing of the user's own is read."""

    def test_of_path(
        self, repository: Repository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = program(tmp_path / "mvn", "")
        monkeypatch.setenv("PATH", str(tmp_path))
        command = maven.maven()
        assert str(own) in command
        assert f"-Dmaven.repo.local={cache}/maven/repository" in command
        settings = Path(command[command.index("-s") + 1])
        assert settings.is_relative_to(cache) and f"<url>{repository.url}</url>" in settings.read_text()

    def test_none_on_path_and_none_in_the_repository(
        self, repository: Repository, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", "")
        with pytest.raises(PrerequisiteError, match=r"apache-maven.*404"):
            maven.maven()
