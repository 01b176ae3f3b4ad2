"""A process that runs parts of experiments for a parent: it records runs, or judges recorded ones.

``python -m harness.experiments.worker record|judge RESULTS`` takes one request a line on its standard input
and answers each with one line on its standard output. The parent kills it when it hangs; when the parent
itself is gone, the input closes and the worker shuts down gracefully.
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

from pydantic import TypeAdapter

from evidence.findings import Verdict
from evidence.folder import FoundRun, modes_of, new_run, point_latest
from evidence.seeding import seeded
from harness.experiments.outcomes import Status
from harness.experiments.series import exit_code
from harness.judging import Judge, judging
from harness.narrator import Narrator
from harness.preparing import prepare, prepared
from harness.provenance import cpu_s
from harness.request import RunRequest
from harness.run import judge_recorded, record_only
from harness.vocabulary import words
from plans.load import load_tree
from protocol.errors import FencepostError, IncapableError
from protocol.exit_codes import ExitCode
from reports.results import RunResult

_GRACE_S = 60
Tree = dict[str, Any]


def main(work: str, results: Path) -> None:
    """Serve requests until the input closes."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever else prints goes to standard error, and never between the answers.
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGINT may be ignored, as in background jobs
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, requests), daemon=True).start()
    results.mkdir(parents=True, exist_ok=True)

    def serve(answer: Callable[[Tree], Tree]) -> None:
        while line := requests.get():
            answers.write(json.dumps(answer(json.loads(line))) + "\n")
            answers.flush()

    if work == "record":
        serve(lambda request: _record(request, results))
    else:
        with judging(results) as judge:
            serve(lambda request: _judge(request, results, judge))


def _listen(source: TextIO, requests: queue.SimpleQueue[str]) -> None:
    for line in source:
        requests.put(line)
    requests.put("")
    _thread.interrupt_main(signal.SIGTERM)  # A run in progress is shut down gracefully.
    time.sleep(_GRACE_S)
    os._exit(1)


def _record(tree: Tree, results: Path) -> Tree:
    """The run's folder, processor time and wait for a core, and the error that ended it early, if any."""
    began_s = cpu_s()
    request = TypeAdapter(RunRequest).validate_python(tree["request"])
    path = tree["run"] and Path(tree["run"])
    answer: Tree = {}
    try:
        if tree["plan"] is None:
            ready = prepare(request)
        else:
            ready = prepared(request, load_tree(tree["plan"], words(), source="the plan of the request"))
        if path is None:
            path = new_run(results, ready.plan.name, ready.seed)
            point_latest(results, path)
        record_only(ready, path, Narrator(quiet=True))
    except FencepostError as error:
        came = Status.IMPOSSIBLE if isinstance(error, IncapableError) else Status.ERROR
        answer["error"] = {
            "came": came,
            "why": f"{error}",
            "error": type(error).__name__,
            "remedy": error.remedy,
            "exit_code": error.exit_code,
        }
    load = {"cpu_s": round(cpu_s() - began_s, 1), "cpu_pressure": _pressure(path)}
    return {**answer, **load, "folder": "" if path is None else str(path.relative_to(results))}


def _pressure(path: Path | None) -> float | None:
    """The greatest of the run's modes, None where it is not known."""
    loads = ((one.end() or {}).get("load", {}) for one in (modes_of(path) if path else ()))
    return max((load["cpu_pressure"] for load in loads if load.get("cpu_pressure") is not None), default=None)


def _judge(tree: Tree, results: Path, judge: Judge) -> Tree:
    """The outcome of the run in ``folder``; without a folder nothing, once the judge is warm and idle."""
    try:
        if "folder" not in tree:
            judge.wait_warm()
            return {}
        path = results / tree["folder"]
        told = _told(judge_recorded(FoundRun(path, modes_of(path)), judge, Narrator(quiet=True)))
    except FencepostError as error:
        told = {"came": Status.ERROR, "why": f"{error}", "error": type(error).__name__}
    return {**tree, **told}


def _told(result: RunResult) -> Tree:
    code, why = exit_code(result.modes)
    came = {ExitCode.AS_EXPECTED: Status.AS_EXPECTED, ExitCode.ANOMALY: Status.ANOMALY}.get(
        code, Status.UNKNOWN
    )
    mode = result.modes[0]
    judged = mode.verdict.judgements.items()
    return {
        "came": came,
        "why": "" if came is Status.AS_EXPECTED else why,
        "headline": mode.verdict.headline,
        "repeat": result.repeat,
        "acted": sum(sum(one.acts.values()) for one in seeded(mode.folder)),
        "broken": [name for name, judgement in judged if judgement.verdict is Verdict.ANOMALY],
    }


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except KeyboardInterrupt:  # the parent ends it, or Ctrl-C does
        sys.exit(128 + signal.SIGINT)
