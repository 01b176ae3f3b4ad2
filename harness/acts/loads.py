"""Acts of background load: begin a workload, end it, end all of them.

A load runs in a thread of the harness and drives clients; its operations are theirs.
"""

from __future__ import annotations

import threading
from typing import Any

from harness.acts.registry import Done, act
from harness.conditions import condition
from harness.stage import Load, Stage
from protocol.errors import FencepostError, NotReadyError, UsageError
from workloads.registry import WORKLOADS

_END_TIMEOUT_S = 120


@act("load")
def begin(stage: Stage, step: Any) -> Done:
    """Begin a workload under the plan's name for it."""
    name = step.name
    if name in stage.loads:
        raise UsageError(f"load {name!r} is running already", remedy="give the second load another name")
    workload = WORKLOADS[step.workload]
    load = Load(name, threading.Event(), threading.Thread(name=f"load-{name}", daemon=True))

    def work() -> None:
        try:
            totals = workload.run(
                step.params,
                stage.cluster,
                random=stage.random(f"load/{name}"),
                stop=load.stop,
                say=stage.narrator.event,
                opened=stage.ledgers.name,
            )
            load.totals.update(totals)
        except BaseException as error:  # noqa: BLE001  # re-raised when a step ends the load
            load.error = error

    load.thread = threading.Thread(target=work, name=f"load-{name}", daemon=True)
    stage.loads[name] = load
    load.thread.start()
    return Done(f"load {name} begins ({step.workload})")


@act("end_load")
def end(stage: Stage, step: Any) -> Done:
    """End one load and say what it did."""
    if step.load not in stage.loads:
        raise UsageError(
            f"no load {step.load!r} is running", remedy=f"running: {sorted(stage.loads) or 'none'}"
        )
    return Done(end_load(stage, step.load))


@condition("done")
def done(stage: Stage, step: Any) -> tuple[bool, str]:
    """The load has ended on its own, well or not; ``end_load`` returns how."""
    if step.load not in stage.loads:
        raise UsageError(f"no load {step.load!r} is running", remedy="wait for it before it is ended")
    load = stage.loads[step.load]
    return not load.thread.is_alive(), f"load {step.load} is running"


def end_load(stage: Stage, name: str) -> str:
    """Stop a load, wait for its thread, and raise what it raised."""
    load = stage.loads.pop(name)
    load.stop.set()
    load.thread.join(_END_TIMEOUT_S)
    if load.thread.is_alive():
        raise NotReadyError(
            f"load {name!r} did not end within {_END_TIMEOUT_S} s",
            remedy="see the clients' logs under servers/",
        )
    if load.error is not None:
        raise load.error
    totals = ", ".join(f"{value:,} {key}" for key, value in load.totals.items())
    return f"load {name} ends: {totals or 'nothing done'}"


def abandon_all(stage: Stage) -> None:
    """Stop every load and branch and wait for none: a run that ends early ends their clients anyway.

    A load that is not stopped would wait for its clients' next start, and the process for the load.
    """
    stage.ended_by = stage.ended_by or FencepostError("the run has ended early")
    for load in stage.loads.values():
        load.stop.set()
