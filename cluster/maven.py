"""Maven's command, for what needs it: releases without a lock, new locks, and the client's unit tests.

PATH's ``mvn``, else Maven as an archive from the repository, kept in the cache. Its settings and
its local repository are below the cache, too: nothing in ``~/.m2`` is read or written.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from cluster import central, checksums
from cluster.cache import cache_root, exclusive
from protocol.java import java

# Python has the argument from 3.11.4 on, and Debian 12 has 3.11.2; the archive is compared with its sum.
_FILTER: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
LOCK = Path(__file__).resolve().parent.parent / "locks" / "maven.sha256"
_MIRRORED = "<mirrors><mirror><id>fencepost</id><mirrorOf>*</mirrorOf><url>{url}</url></mirror></mirrors>"


def maven() -> list[str]:
    """The command line up to the options of the caller; Maven's JVM is the one of :func:`protocol.java.java`.

    ``PrerequisiteError`` when PATH has no ``mvn`` and the repository is out of reach. Maven
    takes a proxy from ``MAVEN_OPTS=-Dhttps.proxyHost=... -Dhttps.proxyPort=...``.
    """
    home = cache_root() / "maven"
    with exclusive(home / "lock"):
        command = shutil.which("mvn") or str(_fetched(home))
        settings = home / "settings.xml"
        settings.write_text(f"<settings>{_MIRRORED.format(url=central.repository())}</settings>\n")
    own = ["-s", str(settings), f"-Dmaven.repo.local={home / 'repository'}"]
    return ["env", "MAVEN_SKIP_RC=1", f"JAVA_HOME={java().parent.parent}", command, "-B", *own]


def _fetched(home: Path) -> Path:
    ((path, digest),) = checksums.read_paths(LOCK).items()
    archive = home / Path(path).name
    folder = home / archive.name.removesuffix("-bin.tar.gz")
    if not folder.is_dir():
        central.fetch({path: digest}, home)
        with tempfile.TemporaryDirectory(dir=home) as scratch, tarfile.open(archive) as packed:
            packed.extractall(scratch, **_FILTER)  # noqa: S202  # pinned by its sum
            (Path(scratch) / folder.name).rename(folder)
        archive.unlink()
    return folder / "bin" / "mvn"
