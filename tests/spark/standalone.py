"""A real standalone cluster: the master and two workers that pyspark ships, elsewhere than the checkout.

They belong to a keeper, which ends them and their executors with the tests, also with tests that are killed.
"""

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

from cluster.processes.keeper_client import KeeperClient
from cluster.processes.runner import Launch
from protocol.java import java, modules_of

_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile("Successfully registered with (master)")
_TIMEOUT_S = 180
_OF_FENCEPOST = ("fencepost", "__editable__", "_editable", "_fencepost", "pyspark", "py4j")


@dataclass
class Standalone:
    """A running cluster: its URL, and the folders that its workers work in."""

    url: str
    works: tuple[Path, ...]
    keeper: KeeperClient

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
    place.mkdir(exist_ok=True)
    with KeeperClient(place / "events.jsonl", log=place / "keeper.log") as keeper:
        url = _await_line(_start(keeper, "Master", place / "master", ["--port", "0"]), _STARTED)
        works = tuple(place / f"worker{number}" for number in (1, 2))
        for work in works:
            options = ["--cores", "1", "--memory", "1g", "--work-dir", str(work), url]
            _await_line(_start(keeper, "Worker", work, options), _REGISTERED)
        yield Standalone(url, works, keeper)


def _start(keeper: KeeperClient, what: str, folder: Path, options: Sequence[str]) -> Path:
    """Start one in a separate folder; return its log."""
    folder.mkdir()
    home = Path(_find_spark_home())
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what.lower()}.{what}"]
    argv = [*command, "--host", "127.0.0.1", "--webui-port", "0", *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
    env = {
        **kept,
        "JAVA_HOME": str(java().parent.parent),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    keeper.start(folder.name, 1, Launch(argv, env), folder=folder, log=folder / "log")
    return folder / "log"


def _await_line(log: Path, words: re.Pattern[str]) -> str:
    deadline = time.monotonic() + _TIMEOUT_S
    pause = time.sleep
    while True:
        found = words.search(log.read_text(errors="replace"))
        if found:
            return found[1]
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        pause(0.1)
