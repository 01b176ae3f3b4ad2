"""Jars are fetched once, whole and checked; an error about missing jars names the remedy."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster.releases import artifacts
from cluster.releases import maven as maven_repository
from cluster.releases.versions import PUBLISHED
from protocol import java
from protocol.errors import PrerequisiteError, UsageError
from tests.unit.protocol.test_java import ALL, install

FOREIGN = "4.17.0"  # a release without a lock in the project


class Maven:
    """Stands for Maven: writes two jars and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.content = b"bytes"

    def __call__(self, version: str, into: Path, *, work: Path) -> dict[str, str]:
        assert work.is_dir()
        self.calls += 1
        (into / f"bookkeeper-server-{version}.jar").write_bytes(self.content)
        (into / "zookeeper-3.9.3.jar").write_bytes(self.content)
        return {}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(artifacts, "LOCKS", tmp_path / "locks")
    (tmp_path / "locks").mkdir()
    return tmp_path / "cache"


@pytest.fixture
def maven(monkeypatch: pytest.MonkeyPatch) -> Maven:
    stand_in = Maven()
    monkeypatch.setattr(maven_repository, "resolve", stand_in)
    return stand_in


def test_jars_are_fetched_once_and_sorted(cache: Path, maven: Maven) -> None:
    first = artifacts.class_path(FOREIGN)
    second = artifacts.class_path(FOREIGN)
    assert maven.calls == 1
    assert [jar.name for jar in second.jars] == [f"bookkeeper-server-{FOREIGN}.jar", "zookeeper-3.9.3.jar"]
    assert first.class_path == second.class_path
    assert second.folder == cache / "bookkeeper" / FOREIGN


def test_a_release_without_a_lock_gets_one_and_says_so_once(cache: Path, maven: Maven) -> None:
    first = artifacts.class_path(FOREIGN)
    assert "no lock in the project" in first.note
    assert first.lock == cache / "bookkeeper" / f"{FOREIGN}.sha256"
    assert artifacts.class_path(FOREIGN).note == ""


def test_a_jar_that_changed_is_refused(cache: Path, maven: Maven) -> None:
    jar = artifacts.class_path(FOREIGN).jars[0]
    jar.write_bytes(b"other")
    with pytest.raises(PrerequisiteError, match=jar.name) as refusal:
        artifacts.class_path(FOREIGN)
    assert str(cache / "bookkeeper" / FOREIGN) in refusal.value.remedy


def test_a_fetch_that_fails_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(version: str, into: Path, *, work: Path) -> None:
        (into / "half.jar").write_bytes(b"half")
        raise PrerequisiteError("offline")

    monkeypatch.setattr(maven_repository, "resolve", broken)
    with pytest.raises(PrerequisiteError, match="offline"):
        artifacts.class_path(FOREIGN)
    assert [path.name for path in (cache / "bookkeeper").iterdir()] == [f"{FOREIGN}.lock"]


def test_two_at_once_fetch_once(cache: Path, maven: Maven) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(artifacts.class_path, [FOREIGN] * 4))
    assert maven.calls == 1


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "file"))
    with pytest.raises(PrerequisiteError) as refusal:
        artifacts.class_path(FOREIGN)
    assert "FENCEPOST_CACHE" in refusal.value.remedy


@pytest.mark.parametrize("version", ["4.13.0", "3.9", "latest", "", "4.18.0-SNAPSHOT", "4.18.0\n"])
def test_a_version_that_cannot_be_run_is_named_with_the_known_ones(version: str) -> None:
    with pytest.raises(UsageError) as refusal:
        artifacts.class_path(version)
    assert repr(version) in str(refusal.value)
    assert "4.18.0" in refusal.value.remedy


def test_cache_root_follows_its_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "own"))
    assert artifacts.cache_root() == tmp_path / "own"
    monkeypatch.delenv("FENCEPOST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert artifacts.cache_root() == tmp_path / "xdg" / "fencepost"


RELEASE = "org.apache.bookkeeper:bookkeeper:pom:4.17.9"


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        (f"Could not find artifact {RELEASE} in central (https://x)", UsageError, "'4.17.9' is not in"),
        (f"{RELEASE} was not found in https://x during a pre", UsageError, "not in the Maven repository"),
        (
            f"Cannot access central (https://x) in offline mode and the artifact {RELEASE} has not been "
            "downloaded from it before.",
            PrerequisiteError,
            "offline mode",
        ),
        ("Could not find artifact io.netty:netty-all:jar:4.1 in central (https://x)", PrerequisiteError, ""),
    ],
    ids=["no such release", "remembered from the last attempt", "offline", "a library that is missing"],
)
def test_the_lines_of_maven_3_8_are_understood(line: str, kind: type[Exception], text: str) -> None:
    error = maven_repository.failure("4.17.9", f"[ERROR] {line}")
    assert type(error) is kind
    assert text in str(error)


def test_a_release_that_is_absent_names_the_repository_and_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FENCEPOST_MAVEN", "https://mirror.invalid/maven/")
    error = maven_repository.failure("4.17.9", f"Could not find artifact {RELEASE} in central (https://x)")
    assert "is not in the Maven repository https://mirror.invalid/maven" in str(error)
    assert isinstance(error, UsageError)
    assert "FENCEPOST_MAVEN" in error.remedy
    assert "--jars" in error.remedy
    assert f"(`fencepost list versions`): {', '.join(PUBLISHED)}" in error.remedy


def test_the_archive_changes_with_the_jvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path, maven: Maven
) -> None:
    names = set()
    for release in ("17.0.15", "21.0.2"):
        install(tmp_path / release, f'JAVA_VERSION="{release}"\nMODULES="{ALL}"\n')
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / release))
        java.java.cache_clear()
        names.add(artifacts.class_data_archive(FOREIGN, "bookie"))
    java.java.cache_clear()
    assert len(names) == 2
    assert {path.parent for path in names} == {cache / "class-data"}


def test_what_is_not_built_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "CHECKOUT", tmp_path)
    for find in (artifacts.client_jar, artifacts.proxy_binary):
        with pytest.raises(PrerequisiteError, match="is not built") as refusal:
            find()
        assert "scripts/setup" in refusal.value.remedy
