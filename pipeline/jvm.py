"""Spark's JVM as a process that we own: how it is started, found, and really ended.

The JVM reads its standard input and exits at its end, so a killed harness leaves none behind.
Everything it writes (temporary files, logs, sockets' addresses) lies in one scratch folder.
Independent of sessions and jobs.
"""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
import threading
import time
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.errors import JudgementError
from protocol.java import java, modules_of

if TYPE_CHECKING:
    from pyspark import SparkContext

_START_TIMEOUT_S = 600
_ERROR = re.compile(r"(Caused by: )?([\w.$]+\.)?\w*(Error|Exception)\b.*: ")
_CONNECTING = threading.Lock()


class GatewayJvm:
    """One gateway JVM, started at once with ``settings`` (Spark properties), and its connection.

    ``options`` are the JVM's, added to the options that Spark needs; ``address`` is this
    machine's, by which workers reach it.
    """

    def __init__(
        self, settings: Mapping[str, str], scratch: Path, *, options: Sequence[str], address: str
    ) -> None:
        self._address = scratch / "gateway"
        self._log = scratch / "spark.log"
        self._process = _start(command(settings, java(), options), scratch, self._log, address)

    def connect(self) -> SparkContext:
        """Spark's context by the JVM's own settings, once it is running.

        Raises ``JudgementError`` with the last line of its log when it does not come up.
        """
        from pyspark import SparkContext

        deadline = time.monotonic() + _START_TIMEOUT_S
        # Spark offers no descriptor to wait on: the file appears, whole, by a rename.
        while not self._address.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise JudgementError(
                    f"Spark's JVM did not start: {self._last_words() or 'it said nothing'}",
                    remedy="`fencepost doctor` checks Java and memory",
                )
            time.sleep(0.02)
        # As the JVM writes them: an int, a length, that many bytes, big-endian.
        content = self._address.read_bytes()
        port, size = struct.unpack_from(">ii", content)
        secret = content[8 : 8 + size].decode()
        self._address.unlink()
        # pyspark takes a running JVM by environment only.
        with _CONNECTING:
            os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
            try:
                return SparkContext()
            finally:
                del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]

    def close(self, timeout_s: float) -> None:
        """End the JVM in order and return when it is gone; killed if that takes longer."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the JVM at once, its Python workers with it, and return when it is gone."""
        if self._process.poll() is None:
            # It leads its own process group.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _last_words(self) -> str:
        """The last error in its log in one line, or an empty text."""
        with suppress(OSError):
            return cause_of(self._log.read_text(errors="replace"))
        return ""


def cause_of(text: str) -> str:
    """The last line of ``text`` that names an error, else the last one that is not in a stack trace."""
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")
    ]
    errors = [line.removeprefix("Caused by: ") for line in lines if _ERROR.match(line)]
    return (errors or lines or [""])[-1]


def module_options(jar: Path) -> list[str]:
    """The JVM options that Spark's launcher gives every JVM, from the constants of its class in ``jar``."""
    with zipfile.ZipFile(jar) as classes:
        code = classes.read("org/apache/spark/launcher/JavaModuleOptions.class")
    # A text constant is the tag 1, a length of two bytes, and the text; the next one begins with its tag.
    return [text.decode() for text in re.findall(rb"\x01\x00.(-[ -~]+)", code, re.DOTALL)]


def command(settings: Mapping[str, str], java: Path, options: Sequence[str]) -> list[str]:
    """The command line of Spark's JVM, as Spark's launcher writes it, without the launcher's own JVM.

    The launcher also demands a module that a mere runtime lacks (vectorised linear algebra, unused here);
    it is added where there is one.
    """
    spark = _home()
    (launcher,) = (spark / "jars").glob("spark-launcher_*.jar")
    # Its classes are in another jar too, and must come first.
    (logging,) = (spark / "jars").glob("slf4j-api-*.jar")
    path = [os.environ.get("SPARK_CONF_DIR", f"{spark}/conf"), str(logging), f"{spark}/jars/*"]
    path += [os.environ[name] for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if name in os.environ]
    modules = modules_of(java)
    needed = [
        option
        for option in module_options(launcher)
        if not option.startswith("--add-modules=") or option.partition("=")[2] in modules
    ]
    argv = [str(java), "-cp", os.pathsep.join(path), f"-Xmx{settings['spark.driver.memory']}"]
    argv += [*options, *needed, "org.apache.spark.deploy.SparkSubmit"]
    for name, value in sorted(settings.items()):
        argv += ["--conf", f"{name}={value}"]
    return [*argv, "pyspark-shell"]


def _home() -> Path:
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


def _start(argv: Sequence[str], scratch: Path, log: Path, address: str) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",  # as Spark's own script sets it
        "SPARK_CONNECT_MODE": "0",
        "SPARK_HOME": str(_home()),
        "SPARK_LOCAL_IP": address,
        "SPARK_LOCAL_DIRS": str(scratch),
        "TMPDIR": str(scratch),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(scratch / "gateway"),
    }
    with log.open("ab") as output:
        return subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            # Ctrl-C is the harness's to handle; it ends this process in its own order.
            start_new_session=True,
        )
