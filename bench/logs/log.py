"""What judging logs costs: reading a history, judging it, and both against a plain pass over the data.

Each size runs in a separate process, so that peaks of memory are its own. Processor time is printed beside
wall time, because a busy machine disturbs it less. The plain passes are a count of the file's lines, and
the sum of all elements that were read.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from bench.logs.log_histories import Shape, serial, without
from checkers.log.checker import judge_log
from evidence.exchange.jepsen import jepsen_lines, read_jepsen
from evidence.findings import Verdict

_SEED = 7
_Result = TypeVar("_Result")


def log_bench(sizes: Sequence[int]) -> Iterator[str]:
    """Lines of the table, one block for each number of transactions."""
    for size in sizes:
        for what in ("columns", "file"):
            done = subprocess.run(
                [sys.executable, "-B", "-m", "bench.logs.log", what, str(size)],
                capture_output=True,
                text=True,
                check=True,
            )
            yield from done.stdout.splitlines()


def _columns(size: int) -> Iterator[str]:
    """Judge columns whose lists all have separate storage; then the same with one append lost."""
    given = serial(Shape(size), _SEED)
    before = _peak_gb()
    _, plain = _timed(lambda: int(given.elements.sum()))
    judgement, (wall, cpu) = _timed(lambda: judge_log(given))
    assert judgement.verdict is Verdict.VALID, judgement  # noqa: S101  # known truth
    mean = judgement.seen["read_elements"] / max(judgement.seen["reads"], 1)
    yield (
        f"{size:,} transactions, mean read {mean:.0f}: judged in {_cost(wall, cpu, plain[1])} the sum of all "
        f"elements, peak {_peak_gb():.2f} GB ({before:.2f} GB of them the history)"
    )
    long_read = int(np.argmax(given.length))  # its first element was appended long before, and read often
    lost = without(given, int(np.flatnonzero(given.element == given.list_of(long_read)[0])[0]))
    judgement, (wall, cpu) = _timed(lambda: judge_log(lost))
    assert judgement.verdict is Verdict.ANOMALY, judgement  # noqa: S101  # known truth
    yield (
        f"{size:,} transactions, one acknowledged append lost: {dict(judgement.counts)} in "
        f"{_cost(wall, cpu, plain[1])} the sum of all elements, peak {_peak_gb():.2f} GB"
    )


def _file(size: int) -> Iterator[str]:
    """Write the history as EDN, read and judge it."""
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        path = Path(folder) / "history.edn"
        with path.open("w", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in jepsen_lines(serial(Shape(size), _SEED)))
        before = _peak_gb()
        lines, plain = _timed(lambda: path.read_bytes().count(b"\n"))
        given, (wall, cpu) = _timed(lambda: read_jepsen(path))
        judgement, judged = _timed(lambda: judge_log(given))
        assert judgement.verdict is Verdict.VALID, judgement  # noqa: S101  # known truth
        yield (
            f"{size:,} transactions as EDN, {path.stat().st_size / 1e9:.2f} GB in {lines:,} lines: read in "
            f"{_cost(wall, cpu, plain[1])} a count of its lines; judged in {judged[1]:.1f} s of processor; "
            f"peak {_peak_gb():.2f} GB ({before:.2f} GB of making it)"
        )


def _cost(wall: float, cpu: float, plain: float) -> str:
    return f"{wall:.1f} s wall, {cpu:.1f} s of processor, {cpu / max(plain, 1e-9):.0f} times"


def _timed(act: Callable[[], _Result]) -> tuple[_Result, tuple[float, float]]:
    """What it returns, and its wall and processor time in seconds."""
    wall, cpu = time.monotonic(), time.process_time()
    result = act()
    return result, (time.monotonic() - wall, time.process_time() - cpu)


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    for line in (_columns if sys.argv[1] == "columns" else _file)(int(sys.argv[2])):
        print(line, flush=True)
