"""A user's own build of BookKeeper, from a folder of jars: a fork, a patch, a release candidate.

Such a build gets a name of the form ``4.19.0-jars.0123456789ab``, by its release and the sum of its jars,
and its place in the cache, from where it runs as any release does. Starts nothing.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cluster import artifacts
from cluster.versions import DEFAULT_VERSION, PUBLISHED, is_build, parse
from protocol.errors import PrerequisiteError, UsageError

_SERVER, _STORE = "bookkeeper-server", "zookeeper"
_GROUP = re.compile(r"^(?:[a-z][a-z0-9_]*\.)+[a-z][a-z0-9_-]*?-(?=[a-z])")
_JAR = re.compile(r"(?P<artifact>[A-Za-z][\w.+-]*?)-(?P<version>\d[\w.]*)(?P<rest>(?:-[\w.]+)*)\.jar")
_NO_CLASSES = ("-tests.jar", "-sources.jar", "-javadoc.jar")
_NUMBER = re.compile(r"\d+\.\d+\.\d+")


def adopt(folder: Path) -> str:
    """Put the build into the cache and return its name, as ``--bookkeeper`` takes it.

    ``folder`` holds all jars of a server (``lib/`` of a binary distribution), or only BookKeeper's own: then
    the nearest release supplies the others. ``UsageError`` when it holds no ``bookkeeper-server``.
    """
    found = (path for path in sorted(folder.glob("*.jar")) if not path.name.endswith(_NO_CLASSES))
    own = {_artifact(path): path for path in found}
    server = own.get(_SERVER)
    if server is None:
        raise UsageError(
            f"{folder} holds no {_SERVER}-*.jar ({len(own)} jars seen)",
            remedy="name the folder into which BookKeeper's build put its jars",
        )
    number = _number(server)
    jars = own if _STORE in own else {**_of_release(_nearest(number)), **own}
    name = f"{number}-jars.{_sum(jars)}"
    parse(name)
    place = artifacts.cache_root() / "bookkeeper" / name
    if not place.is_dir():
        _copy(jars, place)
    return name


def require_adopted(version: str) -> None:
    """Refuse a build that is not in the cache: it cannot be downloaded from a repository."""
    if is_build(version) and not artifacts.is_cached(version):
        raise PrerequisiteError(
            f"the build {version} is not in the cache", remedy="give its folder again with --jars"
        )


def _artifact(path: Path) -> str:
    """``bookkeeper-server`` for ``bookkeeper-server-4.18.0.jar``, with or without its group before it.

    A classifier (``linux-x86_64``) belongs to the name.
    """
    name = _GROUP.sub("", path.name)
    match = _JAR.fullmatch(name)
    if match is None:
        return name
    return match["artifact"] + match["rest"].removeprefix("-SNAPSHOT")


def _number(server: Path) -> str:
    found = _NUMBER.search(server.name)
    if found is None:
        raise UsageError(f"{server.name} does not say which release it is, as in {_SERVER}-4.18.0.jar")
    return found[0]


def _nearest(number: str) -> str:
    """The newest published release of the same line, else the default."""
    line = parse(number)[:2]
    return next((version for version in reversed(PUBLISHED) if parse(version)[:2] == line), DEFAULT_VERSION)


def _of_release(version: str) -> dict[str, Path]:
    return {_artifact(path): path for path in artifacts.class_path(version).jars}


def _sum(jars: Mapping[str, Path]) -> str:
    told = hashlib.sha256()
    for artifact, path in sorted(jars.items()):
        told.update(f"{artifact} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return told.hexdigest()[:12]


def _copy(jars: Mapping[str, Path], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as scratch:
        fresh = Path(scratch) / place.name
        fresh.mkdir()
        for path in jars.values():
            shutil.copyfile(path, fresh / path.name)
        try:
            fresh.rename(place)
        except OSError:
            if not place.is_dir():  # another process was quicker
                raise
