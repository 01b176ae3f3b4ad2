"""The process in which a campaign's runs are carried out, one after the other on one Spark session.

``python -m harness.campaigns.worker RESULTS`` takes one order a line on its standard input and answers each
with one line on its standard output. The campaign ends it when a run hangs, and goes on with a new one; when
the campaign itself is gone, the input closes and the worker ends in order. Knows nothing of campaigns.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from evidence.folder import new_run
from harness.campaigns.outcomes import Came
from harness.judging import Judge, judging
from harness.narrator import Narrator
from harness.order import Order
from harness.preparing import prepare
from harness.results import RunResult
from harness.run import run
from harness.series import exit_code
from protocol.errors import FencepostError, IncapableError
from protocol.exit_codes import ExitCode

_GRACE_S = 60


def main(results: Path) -> None:
    """Serve orders until the input closes."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever else prints goes to standard error, and never between the answers.
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, orders), daemon=True).start()
    results.mkdir(parents=True, exist_ok=True)
    with judging(results) as judge:
        while line := orders.get():
            answers.write(json.dumps(_carry_out(json.loads(line), results, judge)) + "\n")
            answers.flush()


def _listen(source: TextIO, orders: queue.SimpleQueue[str]) -> None:
    for line in source:
        orders.put(line)
    orders.put("")
    _thread.interrupt_main()  # A run at work is ended in order.
    time.sleep(_GRACE_S)
    os._exit(1)


def _carry_out(tree: dict[str, Any], results: Path, judge: Judge) -> dict[str, Any]:
    order = Order(
        scenario=tree["file"] or tree["scenario"],
        modes=(tree["mode"],),
        seed=tree["seed"],
        version=tree["version"],
        results=results,
        settings=tuple((name, value) for name, value in tree["settings"]),
        rounds=tree["rounds"],
    )
    began = time.monotonic()
    folder = ""
    try:
        prepared = prepare(order)
        path = new_run(results, prepared.plan.name, prepared.seed)
        folder = str(path.relative_to(results))
        told = _told(run(prepared, judge, Narrator(quiet=True), path=path))
    except IncapableError as error:
        told = {"came": Came.IMPOSSIBLE, "why": f"{error}"}
    except FencepostError as error:
        told = {"came": Came.ERROR, "why": f"{error}"}
    return {**told, "folder": folder, "took_s": round(time.monotonic() - began, 1)}


def _told(result: RunResult) -> dict[str, Any]:
    code, why = exit_code(result.modes)
    came = Came.AS_EXPECTED if code == 0 else Came.ANOMALY if code == ExitCode.ANOMALY else Came.UNKNOWN
    return {
        "came": came,
        "why": "" if code == 0 else why,
        "headline": result.modes[0].verdict.headline,
        "repeat": result.repeat,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
