"""Build the jars of client and agent: Eclipse's compiler on the Java of every run, no JDK, no Maven.

usage: .venv/bin/python scripts/parts/client_jar.py

Fetches the compiler and the jars that the sources refer to (14 MB) into the cache, once,
checked against the locks. The same sources give the same bytes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import machine
from stamp import AGENT_JAR, CLIENT_JAR, ROOT

from cluster.releases import artifacts, checksums, maven
from cluster.releases.checksums import cache_root, exclusive
from protocol.errors import FencepostError
from protocol.java import java

SOURCES = ROOT / "client" / "src" / "main"
AGENT = ROOT / "agent" / "src" / "main"
_AGENT_CLASSES = Path("fencepost") / "agent"
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
_CLIENT_ENTRY = "Main-Class: fencepost.client.Main"
_TIMEOUT_S = 300


def main() -> int:
    """Build; the exit code, 1 with the compiler's words when the sources are wrong."""
    try:
        compiler, *jars = libraries()
        for target in (CLIENT_JAR, AGENT_JAR):
            target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CLIENT_JAR.parent) as scratch:
            classes, apart = Path(scratch) / "classes", Path(scratch) / "agent"
            compile_into(classes, compiler, jars)
            (apart / _AGENT_CLASSES).parent.mkdir(parents=True)
            (classes / _AGENT_CLASSES).rename(apart / _AGENT_CLASSES)
            _put(CLIENT_JAR, _CLIENT_ENTRY, classes, SOURCES / "resources")
            _put(AGENT_JAR, _agent_entry(jars), apart, AGENT / "resources")
    except FencepostError as error:
        return machine.error_exit(error)
    return 0


def _agent_entry(jars: list[Path]) -> str:
    """The agent's part of its manifest; Byte Buddy is copied beside it."""
    byte_buddy = next(jar for jar in jars if jar.name.startswith("byte-buddy-"))
    shutil.copyfile(byte_buddy, AGENT_JAR.with_name(byte_buddy.name))
    return f"Premain-Class: fencepost.agent.Agent\nClass-Path: {byte_buddy.name}"


def _put(target: Path, entry: str, *folders: Path) -> None:
    """Pack the folders into ``target``, in one step."""
    fresh = target.with_name(f".{target.name}.part")
    pack(fresh, entry, *folders)
    fresh.replace(target)


def libraries() -> list[Path]:
    """The compiler and the jars to compile against, fetched where they are not there yet."""
    locked = checksums.read_paths(artifacts.LOCKS / f"bookkeeper-{OLDEST}.sha256")
    sums = checksums.read_paths(artifacts.LOCKS / "ecj.sha256")
    sums |= checksums.read_paths(artifacts.LOCKS / "agent.sha256")
    sums |= {path: digest for path, digest in locked.items() if Path(path).name.startswith(NEEDED)}
    home = cache_root() / "compiler"
    with exclusive(home / "lock"):
        maven.fetch(sums, home)
    return [home / Path(path).name for path in sums]


def compile_into(classes: Path, compiler: Path, jars: list[Path]) -> None:
    """Compile client and agent at once; ``FencepostError`` with the compiler's words at any problem."""
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
    argv = [str(java()), *quick, "-jar", str(compiler)]
    argv += [*OPTIONS, "-cp", ":".join(map(str, jars)), "-d", str(classes)]
    argv += [str(SOURCES / "java"), str(AGENT / "java")]
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise FencepostError(f"client and agent do not compile:\n{done.stdout}")


def pack(jar: Path, entry: str, *folders: Path) -> None:
    """Write the files of all folders as one jar, sorted, with a fixed time; ``entry`` says how it starts."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as whole:
        _add(whole, "META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\n{entry}\n\n".encode())
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
