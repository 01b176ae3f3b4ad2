"""Build the client's jar: Eclipse's compiler on the Java that runs everything else, no JDK, no Maven.

usage: .venv/bin/python scripts/parts/client_jar.py

Fetches the compiler and the jars that the client's sources refer to (10 MB) into the cache, once,
checked against the locks. The same sources give the same bytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from stamp import CLIENT_JAR, ROOT

sys.path.insert(0, str(ROOT))
from cluster import artifacts, central, checksums
from cluster.cache import cache_root, exclusive
from protocol.errors import FencepostError
from protocol.java import java

SOURCES = ROOT / "client" / "src" / "main"
OLDEST = "4.14.7"
"""The oldest client under test: one jar is compiled against it and run with the jars of each release."""
NEEDED = (
    "bookkeeper-server-", "commons-configuration-", "jackson-core-", "jackson-databind-", "netty-buffer-",
    "netty-common-", "zookeeper-",
)  # fmt: skip
OPTIONS = [
    # A runtime has no description of older releases' classes, so no --release: Maven's build, which the
    # client's tests use, checks that nothing newer than 17 is called.
    "-source", "17", "-target", "17", "-g", "-encoding", "UTF-8", "-proc:none",
    "-enableJavadoc", "-failOnWarning",
]  # fmt: skip
_MANIFEST = "Manifest-Version: 1.0\nMain-Class: fencepost.client.Main\n\n"
_TIMEOUT_S = 300


def main() -> int:
    """Build; the exit code, 1 with the compiler's words when the sources are wrong."""
    try:
        compiler, *jars = libraries()
        CLIENT_JAR.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CLIENT_JAR.parent) as scratch:
            classes = Path(scratch) / "classes"
            compile_into(classes, compiler, jars)
            fresh = Path(scratch) / CLIENT_JAR.name
            pack(fresh, classes, SOURCES / "resources")
            fresh.replace(CLIENT_JAR)
    except FencepostError as error:
        sys.stderr.write(f"error: {error}\n{error.remedy}\n")
        return error.exit_code
    return 0


def libraries() -> list[Path]:
    """The compiler and the jars to compile against, fetched where they are not there yet."""
    locked = checksums.read_paths(artifacts.LOCKS / f"bookkeeper-{OLDEST}.sha256")
    sums = checksums.read_paths(artifacts.LOCKS / "ecj.sha256")
    sums |= {path: digest for path, digest in locked.items() if Path(path).name.startswith(NEEDED)}
    home = cache_root() / "compiler"
    with exclusive(home / "lock"):
        central.fetch(sums, home)
    return [home / Path(path).name for path in sums]


def compile_into(classes: Path, compiler: Path, jars: list[Path]) -> None:
    """Compile the client's sources; ``FencepostError`` with the compiler's words when it finds anything."""
    argv = [
        str(java()),
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-jar",
        str(compiler),
    ]
    argv += [*OPTIONS, "-cp", ":".join(map(str, jars)), "-d", str(classes), str(SOURCES / "java")]
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise FencepostError(f"the client does not compile:\n{done.stdout}")


def pack(jar: Path, *folders: Path) -> None:
    """Write the files of all folders as one jar, sorted, with a fixed time."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as whole:
        _add(whole, "META-INF/MANIFEST.MF", _MANIFEST.encode())
        files = {
            file.relative_to(folder).as_posix(): file
            for folder in folders
            for file in folder.rglob("*")
            if file.is_file()
        }
        for name, file in sorted(files.items()):
            _add(whole, name, file.read_bytes())


def _add(jar: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name)  # its time is 1980's first day
    entry.external_attr = 0o644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    jar.writestr(entry, content)


if __name__ == "__main__":
    sys.exit(main())
