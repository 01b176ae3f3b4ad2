"""A process that runs parts of experiments for a parent: it records runs, or judges recorded ones.

``python -m harness.experiments.worker record|judge RESULTS`` takes one order a line on its standard input and
answers each with one line on its standard output. The parent kills it when it hangs; when the parent itself
is gone, the input closes and the worker shuts down gracefully.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from evidence.folder import FoundRun, modes_of, new_run
from harness.experiments.outcomes import Came
from harness.judging import Judge, judging
from harness.narrator import Narrator
from harness.order import Order
from harness.preparing import prepare
from harness.results import RunResult
from harness.run import judge_recorded, record_only
from harness.series import exit_code
from protocol.errors import FencepostError, IncapableError
from protocol.exit_codes import ExitCode

_GRACE_S = 60
Tree = dict[str, Any]


def main(work: str, results: Path) -> None:
    """Serve orders until the input closes."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever else prints goes to standard error, and never between the answers.
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGINT may be ignored, as in background jobs
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, orders), daemon=True).start()
    results.mkdir(parents=True, exist_ok=True)

    def serve(answer: Callable[[Tree], Tree]) -> None:
        while line := orders.get():
            answers.write(json.dumps(answer(json.loads(line))) + "\n")
            answers.flush()

    if work == "record":
        serve(lambda order: _record(order, results))
    else:
        with judging(results) as judge:
            serve(lambda order: _judge(order, results, judge))


def _listen(source: TextIO, orders: queue.SimpleQueue[str]) -> None:
    for line in source:
        orders.put(line)
    orders.put("")
    _thread.interrupt_main(signal.SIGTERM)  # A run in progress is shut down gracefully.
    time.sleep(_GRACE_S)
    os._exit(1)


def _record(tree: Tree, results: Path) -> Tree:
    """The run's folder, and its outcome where it cannot be judged."""
    order = Order(
        scenario=tree["file"] or tree["scenario"],
        modes=(tree["mode"],),
        seed=tree["seed"],
        version=tree["version"],
        results=results,
        settings=tuple((name, value) for name, value in tree["settings"]),
        rounds=tree["rounds"],
        seed_defects=tuple(tree["defects"]),
    )
    folder = ""
    try:
        prepared = prepare(order)
        path = new_run(results, prepared.plan.name, prepared.seed)
        folder = str(path.relative_to(results))
        record_only(prepared, path, Narrator(quiet=True))
    except IncapableError as error:
        return {"came": Came.IMPOSSIBLE, "why": f"{error}", "folder": folder}
    except FencepostError as error:
        return {"came": Came.ERROR, "why": f"{error}", "folder": folder}
    return {"folder": folder}


def _judge(tree: Tree, results: Path, judge: Judge) -> Tree:
    """The outcome of the run in ``folder``; without a folder nothing, once the judge is warm and idle."""
    try:
        if "folder" not in tree:
            judge.wait_warm()
            return {}
        path = results / tree["folder"]
        told = _told(judge_recorded(FoundRun(path, modes_of(path)), judge, Narrator(quiet=True)))
    except FencepostError as error:
        told = {"came": Came.ERROR, "why": f"{error}"}
    return {**tree, **told}


def _told(result: RunResult) -> Tree:
    code, why = exit_code(result.modes)
    came = {ExitCode.AS_EXPECTED: Came.AS_EXPECTED, ExitCode.ANOMALY: Came.ANOMALY}.get(code, Came.UNKNOWN)
    return {
        "came": came,
        "why": "" if came is Came.AS_EXPECTED else why,
        "headline": result.modes[0].verdict.headline,
        "repeat": result.repeat,
    }


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
