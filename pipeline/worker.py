"""What runs in Spark's Python workers: one task's function, its result or its error packed.

An error travels back as a sentence, so that the driver can say what failed without a traceback.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any


def answers(tasks: Iterator[bytes], function: Callable[[Any], Any]) -> Iterator[bytes]:
    """For each pickled task a pickled (ok, result or error text)."""
    return (_answer(function, task) for task in tasks)


def _answer(function: Callable[[Any], Any], task: bytes) -> bytes:
    try:
        return pickle.dumps((True, function(pickle.loads(task))))  # noqa: S301  # our own driver's
    except Exception as error:  # noqa: BLE001  # the driver raises it again as a JudgementError
        return pickle.dumps((False, f"{type(error).__name__}: {error}"))
