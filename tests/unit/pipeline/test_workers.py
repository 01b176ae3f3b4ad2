"""What workers are asked, in this process: the folder they see, their packages, and the code they get."""

from __future__ import annotations

import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from evidence.collection import CHECKOUT, FOLDERS
from pipeline import worker, workers
from pipeline.workers import PACKAGES, check_folder, check_workers, code_zip, is_local, own_address
from protocol.errors import JudgementError

MASTER = "spark://127.0.0.1:7077"


@pytest.fixture(autouse=True)
def executors(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many a cluster has; a test changes the number. Waiting is short."""
    number = [1]
    monkeypatch.setattr(workers, "_executors", lambda _: number[0])
    for name, value in (("_SETTLED_S", 0.3), ("_LOOKING_S", 0.02)):
        monkeypatch.setattr(workers, name, value)
    return number


TASKS = """
import sys

class OnlyKnown:
    def find_spec(self, name, path=None, target=None):
        known = sys.stdlib_module_names | set(sys.argv[1:])
        if name.partition(".")[0] not in known and not name.startswith("_sysconfigdata"):
            raise ImportError(name)

sys.meta_path.insert(0, OnlyKnown())
import pipeline.decoding, pipeline.judge
"""


def test_tasks_import_only_packages_that_workers_are_asked_for() -> None:
    subprocess.run([sys.executable, "-c", TASKS, *PACKAGES, *FOLDERS], cwd=CHECKOUT, check=True)


class Context:
    """A cluster of as many workers as answers are given."""

    def __init__(self, *answers: Any, cores: Iterable[int] = ()) -> None:
        self.answers, self.cores, self.tasks, self.cancelled = answers, iter(cores), 0, False

    @property
    def defaultParallelism(self) -> int:  # noqa: N802  # Spark's name
        return next(self.cores, 4)

    def parallelize(self, _: Any, tasks: int) -> Context:
        self.tasks = tasks
        return self

    def cancelAllJobs(self) -> None:  # noqa: N802  # Spark's name
        self.cancelled = True

    def mapPartitions(self, function: Any) -> Context:  # noqa: N802  # Spark's name
        if not self.answers:
            self.answers = tuple(function(iter(())))
        return self

    def collect(self) -> list[Any]:
        if isinstance(self.answers[0], Exception):
            raise self.answers[0]
        return list(self.answers)


def test_workers_like_this_process_are_accepted(tmp_path: Path) -> None:
    check_workers(Context(), MASTER)
    check_folder(Context(), MASTER, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_workers_that_join_later_are_asked_too() -> None:
    growing = Context(cores=[2, 2, 3])
    check_workers(growing, MASTER)
    assert growing.tasks == 4


def test_a_cluster_without_a_worker_is_named(executors: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    executors[0] = 0
    monkeypatch.setattr(workers, "_PATIENCE_S", 0.1)
    with pytest.raises(JudgementError, match=f"no worker of {MASTER} has taken a task") as raised:
        check_workers(Context(), MASTER)
    assert "look at the master's page" in raised.value.remedy


def test_a_job_ends_when_its_cluster_has_gone_away(
    executors: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_PATIENCE_S", 0.1)
    context: Any = Context()
    assert workers.run_there(context, MASTER, lambda: [1]) == [1]
    running, over = threading.Event(), threading.Event()

    def job() -> None:
        executors[0] = 0
        running.set()
        over.wait()

    with pytest.raises(JudgementError, match="has taken a task"):
        workers.run_there(context, MASTER, job)
    assert running.is_set() and context.cancelled
    over.set()


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (("3.9.1", {}), "runs Python 3.9.1, the driver"),
        ((sys.version.split()[0], {"numpy": "1.0"}), "has numpy 1.0, the driver numpy"),
        ((sys.version.split()[0], {"pyarrow": ""}), "has no pyarrow, the driver pyarrow"),
    ],
)
def test_a_worker_that_differs_is_named(results: tuple[str, dict[str, str]], message: str) -> None:
    python, packages = results
    other = worker.about(PACKAGES)._replace(host="w2", python=python)
    other = other._replace(packages={**other.packages, **packages})
    with pytest.raises(JudgementError, match=f"^worker w2 .*{message}") as raised:
        check_workers(Context(worker.about(PACKAGES), other), MASTER)
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "of another version"),
        ('Cannot run program "python9": error=2', "no such Python"),
        ("Caused by: java.lang.IllegalStateException: odd", "odd"),
    ],
)
def test_workers_that_run_nothing_are_named(error: str, message: str) -> None:
    with pytest.raises(JudgementError, match=message):
        check_workers(Context(RuntimeError(error)), MASTER)


def test_a_folder_that_a_worker_does_not_see_or_sees_otherwise_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("ours")
    assert worker.sees(str(tmp_path), "token", "ours")[1] == ""
    assert worker.sees(str(tmp_path), "token", "others")[1] == "sees another folder under that path"
    assert "No such file" in worker.sees(str(tmp_path / "nowhere"), "token", "ours")[1]
    with pytest.raises(JudgementError, match="worker w2 cannot use it") as raised:
        check_folder(Context(("w2", "cannot use it")), MASTER, tmp_path)
    assert "--results must name a folder" in raised.value.remedy
    with pytest.raises(JudgementError, match="what workers write there is not seen here"):
        check_folder(Context(("w2", "")), MASTER, tmp_path)


def test_the_code_travels_whole_and_alone(tmp_path: Path) -> None:
    path = code_zip(tmp_path)
    first = path.read_bytes()
    assert code_zip(tmp_path).read_bytes() == first
    assert "pipeline/worker.py" in zipfile.ZipFile(path).namelist()
    modules = ", ".join(f"pipeline.{name}" for name in ("decoding", "blocks", "judge", "worker"))
    script = f"import sys; sys.path.insert(0, {str(path)!r}); import {modules}; print(pipeline.__file__)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert str(path) in done.stdout, done.stderr


def test_masters_are_told_apart() -> None:
    assert [is_local(one) for one in ("local", "local[*]", MASTER)] == [True, True, False]
    assert own_address(MASTER) == own_address("local[2]") == "127.0.0.1"
    for other in ("yarn", "k8s://https://host:443", "local-cluster[2,1,1024]", "spark://"):
        with pytest.raises(JudgementError, match="judging cannot use the master") as raised:
            own_address(other)
        assert "spark://HOST:PORT" in raised.value.remedy
