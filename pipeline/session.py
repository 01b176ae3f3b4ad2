"""The one Spark session of this process: started in the background, used for tasks, really ended.

A session runs a function over a list of small tasks, one Spark task each; what travels is paths
and facts, never rows. Independent of evidence and verdicts.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evidence.collection import CHECKOUT
from evidence.folder import left_scratch, scratch_name
from pipeline import worker
from pipeline.jvm import GatewayJvm, cause_of
from pipeline.workers import (
    check_folder,
    check_workers,
    code_zip,
    is_local,
    own_address,
    python_of,
    run_there,
)
from protocol.errors import JudgementError
from protocol.java import archive_options, java, remove_unread, write_base_archive

if TYPE_CHECKING:
    from pyspark import SparkContext

_JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
"""The JVM only hands out tasks: compiling it well costs more processor time than it saves."""
_KEEPING = {
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Workers make and drop large arrays: giving each back to the system takes a fifth of their time. They
multiply no matrices, and are forked from a process that must have no threads for that."""
_SCRATCH = ".spark-"
LOCAL = "local[*]"
"""The master that is all cores of this machine."""
_DUMP_TIMEOUT_S = 600
Task = TypeVar("Task")
Result = TypeVar("Result")


class Session:
    """Owns a Spark session; at most one in a process at a time.

    Entering it begins the start in the background. ``folder`` is where its scratch folder
    (``.spark-...``) is made and removed again, with what killed processes left there;
    ``archive`` a class-data archive (:func:`archive_in`) that shortens the start when it
    exists. ``master`` is this machine or a standalone master, whose workers are looked at
    (:mod:`pipeline.workers`) before they get work.
    """

    def __init__(
        self,
        folder: Path,
        *,
        master: str = LOCAL,
        archive: Path | None = None,
        java_options: Sequence[str] = (),
        stop_timeout_s: float = 120,
    ) -> None:
        self._scratch = folder / scratch_name(_SCRATCH)
        self._master = master
        temporary = f"-Djava.io.tmpdir={self._scratch}"
        self._java_options = [*_JAVA_OPTIONS, temporary, *java_options, *archive_options(archive)]
        self._stop_timeout_s = stop_timeout_s
        self._jvm: GatewayJvm | None = None
        self._context: SparkContext | None = None
        self._failure: JudgementError | None = None
        self._core_bytes = 0
        self._warming: threading.Thread | None = None
        self._closed = False

    def warm_up(self) -> None:
        """Begin to start the session and its Python workers in the background; returns at once."""
        if self._warming is None and not self._closed:
            self._warming = threading.Thread(target=self._start, name="spark-warm-up", daemon=True)
            self._warming.start()

    def wait(self) -> None:
        """Return when the session is warm and idle: from then on it takes no processor time.

        Raises ``JudgementError`` when it did not start.
        """
        self._ready()

    def _ready(self) -> SparkContext:
        self.warm_up()
        if self._warming is not None:
            self._warming.join()
        if self._failure is not None and not self._closed:
            raise self._failure
        if self._context is None or self._closed:
            raise JudgementError("the Spark session is closed")
        return self._context

    def map(self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        """``function`` of each task, in the order of ``tasks``, each in a separate Spark task.

        ``function`` must be importable by name in a worker; tasks and results must pickle.
        Raises ``JudgementError`` beginning with ``what`` when any task fails or a worker dies.
        """
        return _mapped(self._ready(), self._master, what, function, tasks) if tasks else []

    @property
    def cores(self) -> int:
        """How many tasks run at a time. Raises ``JudgementError`` when the session did not start."""
        return self._ready().defaultParallelism

    def free_bytes(self, driver_bytes: int) -> int:
        """Memory that is free for a job of which this process and the JVM take ``driver_bytes``.

        On a cluster each core has the least share of memory that workers reported when the session began.
        """
        import psutil

        free: int = psutil.virtual_memory().available
        if is_local(self._master) or free < driver_bytes:
            return free
        return driver_bytes + self._core_bytes * self.cores

    def share(self, folder: Path) -> None:
        """Make sure that every worker sees ``folder`` as this process does; nothing to do for local ones.

        Raises ``JudgementError`` with the worker's name when one does not.
        """
        context = self._ready()
        if not is_local(self._master):
            check_folder(context, self._master, folder)

    def close(self) -> None:
        """End the session and its JVM, remove the scratch folder; a second time does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._warming is not None:
            if self._warming.is_alive() and self._jvm is not None:
                self._jvm.kill()
            self._warming.join()
        if self._context is not None:
            _stop(self._context)
        if self._jvm is not None:
            _forget(self._context)
            self._jvm.close(self._stop_timeout_s)
        shutil.rmtree(self._scratch, ignore_errors=True)

    def __enter__(self) -> Session:
        self.warm_up()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        _silence_py4j()
        try:
            for left in (self._scratch, *left_scratch(self._scratch.parent, _SCRATCH)):
                shutil.rmtree(left, ignore_errors=True)
            self._scratch.mkdir(parents=True)
            address = own_address(self._master)
            self._jvm = GatewayJvm(
                self._settings(address), self._scratch, options=self._java_options, address=address
            )
            if self._closed:
                self._jvm.kill()
            self._context = context = self._jvm.connect()
            context.pythonExec = python_of(self._master)
            if not is_local(self._master):
                context.addPyFile(str(code_zip(self._scratch)))
                self._core_bytes = check_workers(context, self._master)
            _mapped(context, self._master, "warming up", worker.preload, [None] * context.defaultParallelism)
        except JudgementError as error:
            self._failure = error
        except Exception as error:  # noqa: BLE001  # raised in the thread that waits
            self._failure = JudgementError(
                f"Spark did not start: {cause_of(str(error))}",
                remedy=""
                if is_local(self._master)
                else f"is {self._master} the master's URL, and Spark's release there {version('pyspark')}?",
            )

    def _settings(self, address: str) -> dict[str, str]:
        ours = {
            "spark.executorEnv.PYTHONPATH": str(CHECKOUT),
            "spark.python.daemon.module": worker.__name__,  # a cluster's workers have our code only later
        }
        return {
            **(ours if is_local(self._master) else {}),
            **{f"spark.executorEnv.{name}": value for name, value in _KEEPING.items()},
            "spark.app.name": "fencepost",
            "spark.driver.bindAddress": address,
            "spark.driver.host": address,
            "spark.driver.memory": "1g",  # rows never pass through the JVM
            "spark.local.dir": str(self._scratch),
            "spark.log.level": "ERROR",
            "spark.master": self._master,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }


def _mapped(
    context: SparkContext,
    master: str,
    what: str,
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
) -> list[Result]:
    packed = [pickle.dumps(task) for task in tasks]

    def run(mine: Iterable[bytes]) -> Iterator[bytes]:
        from pipeline.worker import answers

        return answers(mine, function)

    def job() -> list[bytes]:
        # An RDD and no data frame: there is nothing to plan, and a task takes a third of the processor time.
        return context.parallelize(packed, len(packed)).mapPartitions(run).collect()

    try:
        answers = job() if is_local(master) else run_there(context, master, job)
    except JudgementError:
        raise
    except Exception as error:
        raise JudgementError(f"{what} failed: {cause_of(str(error)) or type(error).__name__}") from error
    results = []
    for answer in answers:
        ok, result = pickle.loads(answer)  # noqa: S301  # our own workers'
        if not ok:
            raise JudgementError(f"{what} failed: {result}")
        results.append(result)
    return results


def _silence_py4j() -> None:
    """Py4J logs every broken connection with its trace, some by the root logger; we raise what matters."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_not_py4j)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _stop(context: SparkContext) -> None:
    """Stop Spark; ``SparkContext.stop`` would wait a second for a connection that ends with the JVM."""
    with suppress(Exception):  # a JVM that died cannot shut down gracefully; its owner ends its process
        context._jsc.stop()
    context._jsc = None
    accumulators: Any = context._accumulatorServer
    accumulators.handle_error = lambda *_: None  # the end of that connection
    threading.Thread(target=accumulators.shutdown, daemon=True).start()


def _forget(ours: SparkContext | None) -> None:
    """Let pyspark start afresh in this process: it keeps its gateway for ever otherwise."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None and SparkContext._active_spark_context in (None, ours):
        with suppress(Exception):  # the JVM may be gone already
            SparkContext._gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None


def archive_in(folder: Path) -> Path:
    """Where the archive for this Spark and this JVM lies in ``folder``, whether it exists or not.

    Raises ``PrerequisiteError`` when there is no JVM.
    """
    spark = find_spec("pyspark")
    bound_to = [java(), Path(str(spark and spark.origin))]
    names = "".join(f"{path}{path.stat().st_mtime_ns}" for path in bound_to)
    return folder / f"spark-{hashlib.sha256(names.encode()).hexdigest()[:12]}.jsa"


def write_archive(folder: Path) -> Path:
    """Write the archive by running a session that notes every class it loads; return its path.

    Does nothing when it is there. Raises ``JudgementError`` when the JVM wrote none.
    """
    archive = archive_in(folder)
    if archive.exists():
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    write_base_archive()  # without it the JVM writes none
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh = Path(scratch) / archive.name
        dumping = [f"-XX:ArchiveClassesAtExit={fresh}"]
        with Session(Path(scratch), java_options=dumping, stop_timeout_s=_DUMP_TIMEOUT_S) as session:
            session.wait()
        if not fresh.exists():
            raise JudgementError(f"the JVM wrote no archive of its classes for {archive}")
        fresh.replace(archive)
    remove_unread(folder.glob("spark-*.jsa"))
    return archive
