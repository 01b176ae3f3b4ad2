"""Container images: their names, the folders that they are built from, the programs in them; the engine.

A build context is a folder below ``.build/images``: the Dockerfile and files of ``images/``, and what
set-up has fetched and built already (the checked jars of a release, the client's jar, the proxy). So
there is no second way to get a jar, and a build needs the network for the JRE only. Calls no engine;
``scripts/images`` builds. Programs lie at the same places as in Apache's own image where that has them, so
only the release decides which image runs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cluster.processes.runner import CLIENT, Java, Programs
from cluster.releases import artifacts, checksums
from cluster.releases.versions import DEFAULT_VERSION
from protocol.addresses import PROXY
from protocol.errors import PrerequisiteError

CONTEXTS = artifacts.CHECKOUT / ".build" / "images"
SOURCES = artifacts.CHECKOUT / "images"
DIGEST_LABEL = "fencepost.made-from"
"""Label of an image: the digest of its context, by which an image that is out of date is seen."""

MACHINE = "fencepost"
"""The host name of every container: none of the run's own names, which are in the hosts files."""

_COMPOSE_TIMEOUT_S = 30
_PING_TIMEOUT_S = 1.0
_JARS = "/opt/bookkeeper/lib/*"
_CLIENT_JAR = "/opt/fencepost/fencepost-client.jar"
_UNIX = "unix://"
PROXY_TAG = "0.1.0"
_LIB, _SUMS, _OWN = "lib", "sums", "fencepost"


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its full name; ``target`` is the stage of the Dockerfile in ``context``."""

    name: str
    context: Path
    target: str = ""


def bookkeeper_image(version: str = DEFAULT_VERSION) -> Image:
    """A JRE with the jars of a release; bookie, ZooKeeper, autorecovery and BookKeeper's shell run from it.

    ``/opt/java`` is the JRE, ``/opt/bookkeeper/lib`` has the jars under the names of the cache.
    """
    return Image(f"fencepost/bookkeeper:{version}", CONTEXTS / f"bookkeeper-{version}", "bookkeeper")


def client_image(version: str = DEFAULT_VERSION) -> Image:
    """The same with our client, ``/opt/fencepost/fencepost-client.jar``."""
    return Image(f"fencepost/client:{version}", CONTEXTS / f"bookkeeper-{version}", "client")


def proxy_image() -> Image:
    """The proxy, ``/usr/local/bin/fencepost-proxy``."""
    return Image(f"fencepost/proxy:{PROXY_TAG}", CONTEXTS / "proxy")


def prepare(versions: list[str]) -> list[Image]:
    """Fill the contexts of the proxy and of the named releases; the images in the order of building.

    ``FencepostError`` when a release is not available, or when set-up has not been run.
    """
    images = [proxy_image()]
    _prepare_proxy(images[0].context)
    for version in versions:
        _prepare_bookkeeper(version, bookkeeper_image(version).context)
        images += [bookkeeper_image(version), client_image(version)]
    return images


def digest(context: Path) -> str:
    """SHA-256 over names and contents of a context; for jars over their sums, which the build compares."""
    total = hashlib.sha256()
    for path in _below(context):
        name = path.relative_to(context)
        total.update(f"\0{name}\0".encode())
        if name.parts[0] != _LIB:
            total.update(path.read_bytes())
    return total.hexdigest()


def _prepare_proxy(context: Path) -> None:
    program = artifacts.proxy_binary()
    _begin(context, SOURCES / "proxy")
    shutil.copy(program, context)
    (context / _OWN).mkdir(exist_ok=True)
    shutil.copy(SOURCES / "bookkeeper" / _OWN / "health", context / _OWN)
    _open_to_all(context)


def _prepare_bookkeeper(version: str, context: Path) -> None:
    servers = artifacts.class_path(version)
    client = artifacts.client_jar()
    _begin(context, SOURCES / "bookkeeper")
    (context / _LIB).mkdir(exist_ok=True)
    for jar in servers.jars:
        _link(jar, context / _LIB / jar.name)
    checksums.write_lock(context / _SUMS, checksums.read_lock(servers.lock))
    shutil.copy(client, context)
    _open_to_all(context)


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _begin(context: Path, sources: Path) -> None:
    """A new context with a copy of these sources."""
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(sources, context)


def _open_to_all(context: Path) -> None:
    """Let every user of a container read the copies, whatever this user's umask is; a link is so already."""
    for path in (context, *context.rglob("*")):
        if path.is_dir() or path.stat().st_nlink == 1:
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _link(source: Path, target: Path) -> None:
    """A second name for the file where that is possible and all may read it, else a copy."""
    if source.stat().st_mode & 0o444 == 0o444:
        with suppress(OSError):  # another file system, or one without links
            target.hardlink_to(source)
            return
    shutil.copy(source, target)


def _java(version: str, role: str) -> Java:
    """An image's Java and jars; the image holds its own class-data archive."""
    if role == CLIENT:
        return Java("/opt/java/bin/java", f"{_JARS}:{_CLIENT_JAR}", home=client_image(version).name)
    return Java("/opt/java/bin/java", _JARS, home=bookkeeper_image(version).name)


PROGRAMS = Programs(MACHINE, _java, lambda: "/usr/local/bin/fencepost-proxy")
"""The programs of containers; ``home`` of a program is its image's name."""


def image_of(name: str, version: str, clients: frozenset[str]) -> str:
    """The image in which a server or client of a release runs."""
    if name == PROXY:
        return proxy_image().name
    return (client_image(version) if name in clients else bookkeeper_image(version)).name


def images_of(versions: list[str]) -> list[str]:
    """Every image that a run with these releases needs."""
    servers = [make(version).name for version in versions for make in (bookkeeper_image, client_image)]
    return [proxy_image().name, *servers]


def socket_path() -> str:
    """The path of the engine's socket; ``OSError`` when ``DOCKER_HOST`` names none on this machine."""
    host = os.environ.get("DOCKER_HOST") or f"{_UNIX}/var/run/docker.sock"
    if not host.startswith(_UNIX):
        raise OSError(f"DOCKER_HOST={host} is no socket of this machine")
    return host.removeprefix(_UNIX)


def ping(path: str) -> None:
    """Return when the engine at a socket answers; ``OSError`` when it does not in time, or is no engine."""
    with socket.socket(socket.AF_UNIX) as engine:
        engine.settimeout(_PING_TIMEOUT_S)
        engine.connect(path)
        engine.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        answer = engine.recv(4096).partition(b"\r\n")[0]
    if b" 200 " not in answer:
        raise OSError(answer.decode(errors="replace"))


@cache
def compose_command() -> tuple[str, ...]:
    """The command that starts Compose here, as the plugin (2.x) or as the program that Debian has (1.29).

    ``PrerequisiteError`` when Compose is missing.
    """
    for words in (("docker", "compose"), ("docker-compose",)):
        try:
            subprocess.run([*words, "version"], check=True, capture_output=True, timeout=_COMPOSE_TIMEOUT_S)
        except (OSError, subprocess.SubprocessError):
            continue
        return words
    raise PrerequisiteError(
        "Docker Compose is missing: neither `docker compose` nor `docker-compose` can be started",
        remedy="scripts/images --compose brings it",
    )
