"""A build of the user's own: which jars it is made of, what it is called, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cluster.releases import artifacts
from cluster.releases.versions import is_build, parse, unsupported
from protocol.errors import PrerequisiteError, UsageError

RELEASE = (
    "bookkeeper-server-4.18.0.jar",
    "netty-buffer-4.2.14.Final.jar",
    "zookeeper-3.9.5.jar",
    "guava-32.0.1-jre.jar",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate cache with a release of four jars."""
    place = tmp_path / "cache"
    filled(place / "bookkeeper" / "4.18.0", *RELEASE)
    monkeypatch.setenv("FENCEPOST_CACHE", str(place))
    monkeypatch.setattr(
        artifacts,
        "class_path",
        lambda version: artifacts.ServerArtifacts(
            version, place, tuple((place / "bookkeeper" / version).glob("*.jar")), place
        ),
    )
    return place / "bookkeeper"


def filled(folder: Path, *names: str, content: str = "PK theirs") -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(content)
    return folder


def test_own_jars_take_the_place_of_those_of_the_nearest_release(tmp_path: Path, cache: Path) -> None:
    jars = filled(
        tmp_path / "jars",
        "bookkeeper-server-4.19.0-SNAPSHOT.jar",
        "new-part-4.19.0-SNAPSHOT.jar",
        content="PK own",
    )
    filled(tmp_path / "more", "bookkeeper-server-4.19.0-SNAPSHOT-tests.jar")
    shutil.copy(tmp_path / "more" / "bookkeeper-server-4.19.0-SNAPSHOT-tests.jar", jars)
    name = artifacts.adopt(jars)
    assert {path.name: path.read_text() for path in (cache / name).iterdir()} == {
        "bookkeeper-server-4.19.0-SNAPSHOT.jar": "PK own",
        "new-part-4.19.0-SNAPSHOT.jar": "PK own",
        "netty-buffer-4.2.14.Final.jar": "PK theirs",
        "zookeeper-3.9.5.jar": "PK theirs",
        "guava-32.0.1-jre.jar": "PK theirs",
    }
    assert is_build(name)
    assert parse(name) == (4, 19, 0)


def test_a_whole_distribution_stands_alone(tmp_path: Path, cache: Path) -> None:
    names = ("org.apache.bookkeeper-bookkeeper-server-4.17.9.jar", "org.apache.zookeeper-zookeeper-3.9.9.jar")
    name = artifacts.adopt(filled(tmp_path / "lib", *names))
    assert {path.name for path in (cache / name).iterdir()} == set(names)


def test_a_build_is_known_by_its_jars(tmp_path: Path) -> None:
    same = [filled(tmp_path / name, RELEASE[0], content="PK own") for name in ("a", "b")]
    other = filled(tmp_path / "c", RELEASE[0], content="PK other")
    assert len({artifacts.adopt(folder) for folder in same}) == 1
    assert artifacts.adopt(other) != artifacts.adopt(same[0])


@pytest.mark.parametrize(
    ("file", "artifact"),
    [
        ("bookkeeper-server-4.18.0.jar", "bookkeeper-server"),
        ("bookkeeper-server-4.19.0-SNAPSHOT.jar", "bookkeeper-server"),
        ("org.apache.bookkeeper-bookkeeper-server-4.18.0.jar", "bookkeeper-server"),
        ("org.apache.bookkeeper.http-http-server-4.18.0.jar", "http-server"),
        (
            "io.netty-netty-transport-native-epoll-4.2.14.Final-linux-x86_64.jar",
            "netty-transport-native-epoll-linux-x86_64",
        ),
        ("guava-32.0.1-jre.jar", "guava-jre"),
        ("no-version.jar", "no-version.jar"),
    ],
)
def test_the_artifact_of_a_file(file: str, artifact: str) -> None:
    assert artifacts._artifact(Path(file)) == artifact


def test_what_is_no_build_is_refused_with_what_was_seen(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no bookkeeper-server-\*\.jar \(1 jars seen\)"):
        artifacts.adopt(filled(tmp_path / "jars", "netty-buffer-4.2.14.Final.jar"))
    with pytest.raises(UsageError, match=r"bookkeeper-server-dev\.jar|holds no"):
        artifacts.adopt(filled(tmp_path / "dev", "bookkeeper-server-dev.jar"))
    with pytest.raises(UsageError, match="is older than"):
        artifacts.adopt(filled(tmp_path / "old", "bookkeeper-server-4.9.2.jar", "zookeeper-3.4.13.jar"))


def test_a_build_that_left_the_cache_is_asked_for_again() -> None:
    with pytest.raises(PrerequisiteError, match="is not in the cache"):
        artifacts.require_adopted("4.19.0-jars.0123456789ab")
    artifacts.require_adopted("4.18.0")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "bookkeeper-server-4.17.3.jar",
            "PK",
            "two servers, bookkeeper-server-4.17.3.jar and bookkeeper-server-4.18",
        ),
        ("new-part-4.18.0.jar", "text", "new-part-4.18.0.jar is no jar"),
    ],
)
def test_a_second_server_and_a_file_that_is_no_jar_are_refused(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    jars = filled(tmp_path / "jars", "bookkeeper-server-4.18.0.jar")
    (jars / name).write_text(content)
    with pytest.raises(UsageError, match=said):
        artifacts.adopt(jars)


def test_a_version_that_cannot_be_run_names_its_line_and_the_way_out() -> None:
    old = unsupported("4.13.0", "is too old")
    assert "nearest" not in str(old)
    assert "(nearest: 4.18.0)" in str(unsupported("4.18.1", "is absent"))
    assert "`lib/` of its binary distribution with --jars" in old.remedy
