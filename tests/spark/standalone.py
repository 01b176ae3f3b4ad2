"""A real standalone cluster: the master and two workers that pyspark ships, elsewhere than the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.find_spark_home import _find_spark_home

from protocol.java import java, modules_of

_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_TIMEOUT_S = 180
_OF_FENCEPOST = ("fencepost", "__editable__", "_editable", "_fencepost", "pyspark", "py4j")


@dataclass
class Standalone:
    """A running cluster: its URL, and the folders that its workers work in."""

    url: str
    works: tuple[Path, ...]

    def executors(self) -> list[int]:
        """How many executors each worker has had."""
        return [len(list(work.glob("app-*/*"))) for work in self.works]


def environment(place: Path, *, without: Sequence[str] = ()) -> Path:
    """A virtual environment that has what this one has, but for Fencepost, Spark and ``without``."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (target,) = place.glob("lib/python*/site-packages")
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        name = package.name.lower()
        if not name.endswith(".pth") and not name.startswith((*_OF_FENCEPOST, *without)):
            (target / package.name).symlink_to(package)
    return place / "bin" / "python"


@contextmanager
def standalone(place: Path) -> Iterator[Standalone]:
    """A master and two workers of one core each; they are gone afterwards.

    Skips where Java is a mere runtime: Spark starts the JVMs of its workers with a module that it lacks.
    """
    if "jdk.incubator.vector" not in modules_of(java()):
        pytest.skip(f"Spark's workers need a JDK's module jdk.incubator.vector, which {java()} lacks")
    started: list[subprocess.Popen[bytes]] = []
    try:
        master = _start("Master", place / "master", ["--port", "0"], started)
        url = _await_line(master, _STARTED)
        works = tuple(place / f"worker{number}" for number in (1, 2))
        for work in works:
            options = ["--cores", "1", "--memory", "1g", "--work-dir", str(work), url]
            _await_line(
                _start("Worker", work, options, started), re.compile("Successfully registered with (master)")
            )
        yield Standalone(url, works)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(_TIMEOUT_S)


def _start(what: str, folder: Path, options: Sequence[str], started: list[subprocess.Popen[bytes]]) -> Path:
    """Start one in a separate folder; return its log."""
    folder.mkdir(parents=True)
    log = folder / "log"
    home = Path(_find_spark_home())
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what.lower()}.{what}"]
    with log.open("wb") as output:
        started.append(
            subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--webui-port", "0", *options],
                cwd=folder,
                env={
                    **kept,
                    "JAVA_HOME": str(java().parent.parent),
                    "SPARK_HOME": str(home),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
                stdout=output,
                stderr=output,
            )
        )
    return log


def _await_line(log: Path, words: re.Pattern[str]) -> str:
    deadline = time.monotonic() + _TIMEOUT_S
    pause = time.sleep
    while True:
        found = words.search(log.read_text(errors="replace"))
        if found:
            return found[1]
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        pause(0.1)
