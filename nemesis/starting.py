"""Starting a process that is down: until it is ready, until it has refused, or not waiting at all.

A plan says which of these it expects. A boot that may refuse is declared to the process before it
begins, so that its end is no unplanned death. Handles one process, and no fault.
"""

from __future__ import annotations

from collections.abc import Mapping

from cluster.interface import Process, ProcessState, Refusal
from nemesis.registry import Proof
from plans.steps import Start
from protocol.errors import ContradictedError, FaultError, ServerError, UsageError


def restart(
    process: Process, *, timeout_s: float, conf: Mapping[str, str] | None = None, version: str | None = None
) -> Proof:
    """Start a process that is down and wait until it is ready; facts of the new boot.

    ``UsageError`` when it is not down, ``NotReadyError`` when it does not become ready.
    """
    _must_be_down(process)
    process.start(conf=conf or None, version=version)
    process.wait_ready(timeout_s)
    return {"boot": process.boot, "ready": True}


class Starting:
    """One start requested by a plan; called once. ``refusal`` holds how the boot ended, if it did."""

    def __init__(self, process: Process, step: Start) -> None:
        self._process = process
        self._step = step
        self.refusal: Refusal | None = None

    def __call__(self) -> Proof:
        """Start the boot and wait for what the plan expects; facts of the boot.

        ``FaultError`` when it refused, whether that was expected or not (see ``refusal``); ``NotReadyError``
        when it neither refused nor became ready in time.
        """
        process, step = self._process, self._step
        _must_be_down(process)
        if step.expect != "ready":
            process.allow_refusal()
        process.start(conf=step.conf or None, version=step.version)
        if not step.wait:
            return {"boot": process.boot, "ready": False}
        self._await()
        return {"boot": process.boot, "ready": True}

    def assert_refused(self) -> None:
        """Raise ``ContradictedError`` when it became ready although the plan expects it to refuse.

        Separate from the boot, which has healed the fault that ended the process before.
        """
        step, process = self._step, self._process
        if step.expect == "refuses" and step.wait and self.refusal is None:
            raise ContradictedError(
                f"{process.name} became ready in boot {process.boot}, but the plan expects it to refuse",
                remedy="say `expect: any` on the step if it may do either",
            )

    def _await(self) -> None:
        try:
            self._process.wait_ready(self._step.timeout_s)
        except ServerError as error:
            if self._step.expect != "ready":
                self.refusal = self._process.refusal()
            if self.refusal is None:
                raise
            raise FaultError(str(self.refusal)) from error


def _must_be_down(process: Process) -> None:
    if process.state is not ProcessState.DOWN:
        raise UsageError(f"{process.name} cannot be started, it is {process.state}")
