"""Container images: their names, and the folders that they are built from.

A build context is a folder below ``.build/images``: the Dockerfile and files of ``images/``, and what
set-up has fetched and built already (the checked jars of a release, the client's jar, the proxy). So
there is no second way to get a jar, and a build needs the network for the JRE only. Starts nothing and
calls no engine; ``scripts/images`` builds.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster import artifacts, checksums
from cluster.versions import DEFAULT_VERSION

CONTEXTS = artifacts.CHECKOUT / ".build" / "images"
SOURCES = artifacts.CHECKOUT / "images"
DIGEST_LABEL = "fencepost.made-from"
"""Label of an image: the digest of its context, by which an image that is out of date is seen."""

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
    """SHA-256 over names and contents of a context; of jars their sums speak, which the build compares."""
    total = hashlib.sha256()
    for path in _below(context):
        name = path.relative_to(context)
        total.update(f"\0{name}\0".encode())
        if name.parts[0] != _LIB:
            total.update(path.read_bytes())
    return total.hexdigest()


def _prepare_proxy(context: Path) -> None:
    program = artifacts.proxy_binary()
    shutil.rmtree(context, ignore_errors=True)
    _copy_tree(SOURCES / "proxy", context)
    _copy(program, context / program.name)
    _copy(SOURCES / "bookkeeper" / _OWN / "health", context / _OWN / "health")


def _prepare_bookkeeper(version: str, context: Path) -> None:
    servers = artifacts.class_path(version)
    client = artifacts.client_jar()
    shutil.rmtree(context, ignore_errors=True)
    _copy_tree(SOURCES / "bookkeeper", context)
    for jar in servers.jars:
        _link(jar, context / _LIB / jar.name)
    sums = context / _SUMS
    checksums.write_lock(sums, checksums.read_lock(servers.lock))
    sums.chmod(0o644)
    _copy(client, context / client.name)


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _copy_tree(source: Path, target: Path) -> None:
    for path in _below(source):
        _copy(path, target / path.relative_to(source))


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that every user of a container can read it, whatever this user's umask is."""
    _make_folder(target.parent)
    shutil.copyfile(source, target)
    target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)


def _link(source: Path, target: Path) -> None:
    """A second name for the file where that is possible and all may read it, else a copy."""
    _make_folder(target.parent)
    if source.stat().st_mode & 0o444 == 0o444:
        try:
            os.link(source, target)
        except OSError:  # another file system, or one without links
            pass
        else:
            return
    _copy(source, target)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True)
        folder.chmod(0o755)
