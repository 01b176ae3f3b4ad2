"""What runs in Spark's Python workers: one task's function, its result or its error packed.

An error travels back as a sentence, so that the driver can say what failed without a traceback.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa


def answers(
    batches: Iterator[pa.RecordBatch], function: Callable[[Any], Any], packed: Sequence[bytes]
) -> Iterator[pa.RecordBatch]:
    """For each id in ``batches`` one row (id, answer): a pickled (ok, result or error text)."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield pa.RecordBatch.from_pydict(
                {
                    "id": pa.array([number], pa.int64()),
                    "answer": pa.array([_answer(function, packed[number])], pa.binary()),
                }
            )


def _answer(function: Callable[[Any], Any], task: bytes) -> bytes:
    try:
        return pickle.dumps((True, function(pickle.loads(task))))  # noqa: S301  # our own driver's
    except Exception as error:  # noqa: BLE001  # the driver raises it again as a JudgementError
        return pickle.dumps((False, f"{type(error).__name__}: {error}"))
