"""What judging costs at size: raw to tables, tables to verdict, against a plain decode of the same files.

Each run is made by :mod:`bench.raw`, so its truth is known and every judge must find it. Each is
measured in a separate process with a session that was warmed up on a small one, so peaks of memory are
its own; rounds of collecting, judging, decode, the kernel without Spark and DuckDB go in turns. Processor
time is printed beside wall time and the ratios are of both, because a busy machine disturbs it less. Memory
is the proportional share (PSS) of this process and all below it: pages that forked workers share count once.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, TypeVar

import psutil
import pyarrow.parquet as pq

from bench.raw.folder import expected, found_of, make
from bench.raw.shape import Shape, huge, many
from checkers.judging.contract import Batch, RunFacts
from checkers.judging.judge import judge as judge_here
from cli.main import raise_interrupts
from evidence.collection import read_collection
from evidence.findings import RunVerdict
from evidence.folder import RunFolder
from pipeline.blocks import Bucket, batches
from pipeline.collect import collect
from pipeline.facts import run_facts
from pipeline.judge import MOST_ROWS, asked, batch_rows, driver_bytes, judge, needed_bytes, run_size
from pipeline.session import Session
from pipeline.tables import read_table
from protocol.errors import Interrupted, PrerequisiteError

_CHECKOUT = Path(__file__).resolve().parent.parent
_HOME = _CHECKOUT / ".build" / "bench"
"""A separate environment from ``locks/bench.txt``, for DuckDB."""
_EVERY_S = 0.5
Result = TypeVar("Result")
SHAPES: Mapping[str, Callable[..., Shape]] = {"many": many, "huge": huge}
_ABOUT = {"many": "many ledgers of 1,000 entries", "huge": "one ledger"}
_WARM = Shape(8, 1_000, together=8, census=True, frames=True)


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall and processor seconds of all processes together, and their peak of memory in GB."""

    wall_s: float
    cpu_s: float
    peak_gb: float


class _Answer(TypedDict):
    """What ``bench/sql.py`` prints: rows that begin with the kind of what was found, and what that took."""

    found: list[list[object]]
    wall_s: float
    cpu_s: float
    peak_gb: float


class _Order(TypedDict):
    """What one process measures."""

    size: int
    shape: str
    extras: Sequence[str]
    rounds: int
    duckdb: str
    folder: str


def judge_bench(
    sizes: Sequence[int],
    shapes: Sequence[str],
    extras: Sequence[str],
    *,
    rounds: int,
    duckdb: bool,
    scratch: Path,
) -> Iterator[str]:
    """Lines of the table, one block for each shape and size; ``extras``: the runs' ``census``, ``frames``."""
    asked = {"extras": extras, "rounds": rounds, "duckdb": str(_duckdb()) if duckdb else ""}
    for size in sizes:
        for shape in shapes:
            with tempfile.TemporaryDirectory(prefix="fencepost-bench-", dir=scratch) as folder:
                order = json.dumps({**asked, "size": size, "shape": shape, "folder": folder})
                child = [sys.executable, "-B", "-m", "bench.judging", order]
                with subprocess.Popen(child, stdout=subprocess.PIPE, text=True) as process:
                    try:
                        yield from (line.rstrip() for line in process.stdout or ())
                    except BaseException:
                        process.terminate()
                        process.wait()  # before its pipe is closed, into which it may be printing
                        raise
                if process.returncode:
                    raise subprocess.CalledProcessError(process.returncode, child)


def _measure(order: _Order) -> Iterator[str]:
    shape = SHAPES[order["shape"]](order["size"], **dict.fromkeys(order["extras"], True))
    place = Path(order["folder"])
    folder = make(place / "run", shape)
    raw = sum(path.stat().st_size for path in folder.raw_files())
    with _warm(place) as session:
        collection, first = _costing(lambda: collect(session, folder))
        collecting = [first]
        of_run = run_size(session.cores, folder, collection)
        wanted = batch_rows(of_run, free_bytes=session.free_bytes(driver_bytes(of_run)))
        need = needed_bytes(of_run, wanted, collected=True)
        rows = sum(collection.rows.values())
        files = sorted(folder.tables.rglob("*.parquet"))
        size = sum(path.stat().st_size for path in files)
        extras = f", with {' and '.join(order['extras'])}" if order["extras"] else ""
        yield (
            f"{order['size']:,} operations, {_ABOUT[order['shape']]}{extras}: {rows:,} rows, "
            f"{raw / 1e9:.2f} GB raw, {size / 1e9:.2f} GB in {len(files):,} Parquet files"
        )
        turns: dict[str, list[Cost]] = {"raw to Parquet": collecting}
        for turn in range(order["rounds"]):
            if turn:
                collecting.append(_costing(lambda: collect(session, folder))[1])
            for name, cost in _turn(session, folder, shape, files, order["duckdb"]):
                turns.setdefault(name, []).append(cost)
    for name, costs in turns.items():
        yield _line(name, costs)
    judging, decode = turns["Parquet to verdict"], turns["plain decode"]
    yield f"  judging / decode: {_ratio(judging, decode)}"
    yield f"  collecting / judging: {_ratio(collecting, judging)}"
    # Of the first judging: in later rounds this process still has what decode and kernel took.
    peak, reckoned = max(first.peak_gb, judging[0].peak_gb), need / 1e9
    yield f"  peak of driver, JVM and Python workers together: {peak:.2f} GB, reckoned {reckoned:.2f} GB"
    assert peak < reckoned, (peak, reckoned)  # noqa: S101  # what judging decides its slices by


def _turn(
    session: Session, folder: RunFolder, shape: Shape, files: Sequence[Path], duckdb: str
) -> Iterator[tuple[str, Cost]]:
    """One measurement of each kind; every judge must find what was planted."""
    verdict, cost = _costing(lambda: judge(session, folder))
    _assert_found(verdict, shape)
    yield "Parquet to verdict", cost
    # Every column of every file, on all cores.
    decode = _costing(lambda: [pq.read_table(path, partitioning=None).num_rows for path in files])
    yield "plain decode", decode[1]
    run = run_facts(folder, read_collection(folder))
    verdict, cost = _costing(lambda: judge_here(_Batches(folder, run), run))
    _assert_found(verdict, shape)
    yield "kernel without Spark, one process", cost
    if duckdb:
        answer = _ask(Path(duckdb), folder.tables)
        assert {kind for kind, *_ in answer["found"]} >= {"back", "damaged", "misplaced", "unread"}  # noqa: S101  # known truth
        yield "DuckDB, fewer questions", Cost(answer["wall_s"], answer["cpu_s"], answer["peak_gb"])


@dataclass(frozen=True)
class _Batches:
    """Those of a stored run, read again each time."""

    folder: RunFolder
    run: RunFacts

    def __iter__(self) -> Iterator[Batch]:
        tables = self.folder.tables
        yield Batch({"ledgers": read_table(tables, "ledgers")})
        for number in range(read_collection(self.folder).buckets):
            yield from batches(Bucket(tables, number), MOST_ROWS, asked(self.run))


def _assert_found(verdict: RunVerdict, shape: Shape) -> None:
    found = {found_of(finding) for one in verdict.judgements.values() for finding in one.findings}
    assert found == expected(shape), (found, expected(shape))  # noqa: S101  # known truth


def _duckdb() -> Path:
    """The interpreter that has DuckDB; made when it is not there. ``PrerequisiteError`` when that fails."""
    command = _HOME / "bin" / "python"
    there = command.is_file() and subprocess.run([command, "-c", "import duckdb"], capture_output=True)
    if not there or there.returncode:
        venv.create(_HOME, with_pip=True, clear=True)
        lock = str(_CHECKOUT / "locks" / "bench.txt")
        asked = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r", lock]
        done = subprocess.run([str(command), *asked], capture_output=True, text=True)
        if done.returncode:
            raise PrerequisiteError(
                f"DuckDB cannot be installed: {done.stderr.strip().splitlines()[-1:]}",
                remedy="give pip an index with DuckDB, or leave it out with --no-duckdb",
            )
    return command


def _ask(command: Path, tables: Path) -> _Answer:
    """What DuckDB found in the tables of a run and what that took, as ``bench/sql.py`` prints it."""
    script = Path(__file__).with_name("sql.py")
    done = subprocess.run([command, script, tables], capture_output=True, text=True, check=True)
    answer: _Answer = json.loads(done.stdout)
    return answer


@contextmanager
def _warm(place: Path) -> Iterator[Session]:
    with Session(place) as session:
        small = make(place / "warm", _WARM)
        for _ in range(2):
            collect(session, small)
            judge(session, small)
        shutil.rmtree(place / "warm")
        yield session


def _line(name: str, costs: Sequence[Cost]) -> str:
    wall, cpu = (statistics.median(getattr(cost, what) for cost in costs) for what in ("wall_s", "cpu_s"))
    peak = max(cost.peak_gb for cost in costs)
    return f"  {name + ':':36} {wall:7.2f} s wall, {cpu:7.2f} s of processor, peak {peak:.2f} GB"


def _ratio(these: Sequence[Cost], those: Sequence[Cost]) -> str:
    """The medians of wall and processor time in turns."""
    pairs = list(zip(these, those, strict=True))
    wall = statistics.median(one.wall_s / other.wall_s for one, other in pairs)
    cpu = statistics.median(one.cpu_s / max(other.cpu_s, 0.01) for one, other in pairs)
    return f"{wall:.1f} by wall time, {cpu:.1f} by processor time"


def _costing(act: Callable[[], Result]) -> tuple[Result, Cost]:
    """What ``act`` returns, and what it cost; looking at the memory costs nothing."""
    done, peak, looking_s = threading.Event(), [_memory_gb()], [0.0]
    before, used = _processor_times(), {}

    def sample() -> None:
        while not done.wait(_EVERY_S):
            peak.append(_memory_gb())
            used.update(_processor_times())
            looking_s[0] = time.thread_time()

    sampler = threading.Thread(target=sample, name="memory-sampler", daemon=True)
    wall = time.monotonic()
    sampler.start()
    try:
        result = act()
        wall = time.monotonic() - wall
        used.update(_processor_times())
    finally:
        done.set()
        sampler.join()
    cpu = sum(seconds - before.get(process, 0.0) for process, seconds in used.items()) - looking_s[0]
    return result, Cost(wall, cpu, max(peak))


def _processor_times() -> dict[psutil.Process, float]:
    """Processor seconds of each process of the tree until now, without its children.

    A process that ends counts as it was last seen: its parent need not count it (an idle worker of Spark's).
    """
    used = {}
    for process in _tree():
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used[process] = times.user + times.system
    return used


def _memory_gb() -> float:
    """Memory of the tree now."""
    total = 0
    for process in _tree():
        with suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / 1e9


def _tree() -> list[psutil.Process]:
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


if __name__ == "__main__":
    raise_interrupts()
    try:
        for text in _measure(json.loads(sys.argv[1])):
            print(text, flush=True)
    except Interrupted as error:
        sys.exit(error.exit_code)
