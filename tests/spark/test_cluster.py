"""A real standalone cluster whose workers have no Fencepost gives the same verdict, byte for byte."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.raw.folder import make
from bench.raw.shape import Shape
from evidence.collection import FOLDERS
from evidence.folder import RunFolder
from pipeline.collect import collect
from pipeline.judge import judge
from pipeline.session import Session
from tests.spark.standalone import Standalone, environment, standalone

ROOT = Path(__file__).resolve().parents[2]
SHAPE = Shape(1, 70_000, census=True, frames=True)
"""Enough for several segments, tasks and buckets."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def check(folder: Path, master: str, python: Path) -> tuple[int, str]:
    """``fencepost check --master``: exit code and all that it said."""
    asked = ["check", str(folder), "--quiet", "--master", master, "--results", str(folder.parent)]
    done = subprocess.run(
        [sys.executable, "-c", "from cli.main import main; main()", *asked],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_PYTHON": str(python)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_cluster_without_fencepost_gives_the_verdict_of_this_machine(
    session: Session, cluster: Standalone, tmp_path: Path
) -> None:
    python = environment(tmp_path / "elsewhere")
    for folder in FOLDERS:
        known = subprocess.run([python, "-I", "-c", f"import {folder}"], cwd=tmp_path, capture_output=True)
        assert known.returncode != 0, folder
    there = make(tmp_path / "run", SHAPE)
    here = RunFolder(shutil.copytree(there.path, tmp_path / "copy" / "protected"))
    collect(session, here)
    judge(session, here)
    code, text = check(there.path, cluster.url, python)
    assert code == 4, text  # The planted loss is an anomaly.
    assert there.verdict_json.read_bytes() == here.verdict_json.read_bytes()
    assert min(cluster.executors()) >= 1
    assert not [path.name for path in there.path.iterdir() if path.name.startswith(".")]


def test_what_workers_lack_is_named_before_they_get_work(cluster: Standalone, tmp_path: Path) -> None:
    folder = make(tmp_path / "run", Shape(1, 1_000))
    bare = environment(tmp_path / "bare", without=("numpy",))
    for python, message in (
        (bare, "has no numpy, the driver numpy "),
        (tmp_path / "nowhere" / "python", "the workers have no such Python"),
    ):
        code, text = check(folder.path, cluster.url, python)
        assert (code, message in text) == (1, True), text
    assert not folder.verdict_json.exists()


def test_a_cluster_that_goes_away_is_an_error(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from pipeline import workers\n"
        "from pipeline.session import Session; from protocol.errors import JudgementError\n"
        "with Session(Path(sys.argv[1]), master=sys.argv[2]) as session:\n"
        "    session.wait()\n"
        "    workers._PATIENCE_S = 2\n"
        "    print('ready', flush=True)\n"
        "    try: session.map('sleeping', time.sleep, [3600, 3600])\n"
        "    except JudgementError as error: print(error)"
    )
    with standalone(tmp_path / "cluster") as cluster:
        driver = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "driver"), cluster.url],
            cwd=ROOT,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=subprocess.PIPE,
            text=True,
        )
        with driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "ready\n"
            for work in cluster.works:
                cluster.keeper.signal(work.name, signal.SIGKILL)
            text = driver.stdout.read()
        assert f"no worker of {cluster.url} has taken a task in 2 s" in text
    assert list((tmp_path / "driver").iterdir()) == []
