"""Steps of background load: begin a workload, end it, end all of them.

A load runs in a thread of the harness and drives clients; its operations are theirs.
"""

from __future__ import annotations

import threading
from concurrent.futures import wait

from pydantic import Field

from harness.recording.context import RunContext, RunningLoad, in_background
from harness.registry import Done, step
from plans.grammar.names import LoadName, Params
from plans.grammar.steps import Load
from protocol.errors import FencepostError, NotReadyError, UsageError
from workloads.registry import LoadContext, Workload

_END_TIMEOUT_S = 120


@step(Load)
def begin(context: RunContext, step: Load) -> Done:
    name = step.name
    if name in context.loads:
        raise UsageError(f"load {name!r} is running already", remedy="give the second load another name")
    if not isinstance(step, Workload):
        raise TypeError(f"{step.workload} is no workload")
    stop, say, opened = threading.Event(), context.narrator.event, context.ledgers.name
    load = LoadContext(step, context.cluster, context.plan.stream(f"load/{name}"), stop, say, opened)
    context.loads[name] = RunningLoad(stop, in_background(load.work, f"load-{name}"))
    return Done(f"load {name} begins ({step.workload})")


class EndLoad(Params):
    """Stop a workload and wait for its last outcomes."""

    load: LoadName = Field(alias="as")


@step(EndLoad)
def end(context: RunContext, step: EndLoad) -> Done:
    if step.load not in context.loads:
        raise UsageError(
            f"no load {step.load!r} is running", remedy=f"running: {sorted(context.loads) or 'none'}"
        )
    return Done(end_load(context, step.load))


def end_load(context: RunContext, name: str) -> str:
    """Stop a load, wait for its end, and raise what it raised."""
    load = context.loads.pop(name)
    load.stop.set()
    if not wait([load.totals], _END_TIMEOUT_S).done:
        raise NotReadyError(
            f"load {name!r} did not end within {_END_TIMEOUT_S} s",
            remedy="see the clients' logs under servers/",
        )
    totals = ", ".join(f"{value:,} {key}" for key, value in load.totals.result().items())
    return f"load {name} ends: {totals or 'nothing done'}"


def abandon_all(context: RunContext) -> None:
    """Stop every load and branch and wait for none: a run that ends early ends their clients anyway.

    A load that is not stopped would wait for its clients' next start, and the process for the load.
    """
    context.ended_by = context.ended_by or FencepostError("the run has ended early")
    for load in context.loads.values():
        load.stop.set()
