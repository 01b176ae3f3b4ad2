"""Processes: their faults (kill, stop, pause), and the start of a process that is down.

The observer and the proxy belong to the run itself and are never hit. A plan says whether it expects a boot
to become ready or to refuse. A boot that may refuse is declared to the process before it begins, so that its
end is no unplanned death.
"""

from __future__ import annotations

import math
import signal
from typing import ClassVar

from pydantic import Field

from cluster.interface import Cluster, Exit, Process, ProcessState, Refusal
from cluster.processes.boot_logs import log_text
from nemesis.registry import FaultContext, HealOrder, Proof, ServerFault, assert_still_down, register
from plans.grammar.steps import Start
from protocol.addresses import OBSERVER, PROXY, ZOOKEEPER, is_bookie, is_under_test
from protocol.errors import ContradictedError, FaultError, ServerError, UnplannedDeathError, UsageError
from protocol.faults import unclean

READY_TIMEOUT_S = 120.0


class ProcessFault(ServerFault):
    """A fault of one process; ``ready_timeout_s`` limits how long its healing waits for readiness."""

    ready_timeout_s: float = Field(default=READY_TIMEOUT_S, gt=0)

    def assert_available(self, cluster: Cluster) -> None:
        if self.target in (OBSERVER, PROXY):
            raise UsageError(f"the {self.target} is never hit, the run's own record depends on it")
        cluster.process(self.target)

    @property
    def occupies(self) -> frozenset[str]:
        return frozenset({self.target})

    @property
    def heal_order(self) -> HealOrder:
        if self.target == ZOOKEEPER:
            return HealOrder.METADATA
        return HealOrder.BOOKIES if is_bookie(self.target) else HealOrder.CLIENTS


class Ending(ProcessFault):
    """A fault that ends the process; healing is its next boot."""

    by_sigkill: ClassVar[bool]

    @property
    def takes_down(self) -> tuple[str, ...]:
        return (self.target,)

    def confirm(self, context: FaultContext) -> Proof:
        process, ended = context.cluster.process(self.target), context.injected
        if (ended["signal"] == signal.SIGKILL) is not self.by_sigkill:
            how = "otherwise than by SIGKILL" if self.by_sigkill else "by SIGKILL instead of its own shutdown"
            raise FaultError(f"{self.target} ended {how}: code {ended['code']}, signal {ended['signal']}")
        assert_still_down(process, ended["boot"])
        return {"boot": process.boot, "state": str(process.state)}

    def heal(self, context: FaultContext) -> Proof:
        process = context.cluster.process(self.target)
        if process.state is ProcessState.DOWN:
            return restart(process, timeout_s=self.ready_timeout_s)
        process.wait_ready(self.ready_timeout_s)
        return {"boot": process.boot, "ready": True}


@register
class Kill(Ending):
    """End a process with SIGKILL.

    Its next boot heals that, and may take ``ready_timeout_s``.
    """

    kind = "kill"
    supersedes = frozenset({"pause"})
    by_sigkill = True

    def inject(self, context: FaultContext) -> Proof:
        """Nothing is flushed, nothing is sent."""
        process = context.cluster.process(self.target)
        ended = process.kill()
        process.capture_disk()
        return _proof(ended)


@register
class Stop(Ending):
    """Stop a process with SIGTERM and wait until it has ended.

    The shutdown may take ``timeout_s``. Its next boot heals that, and may take ``ready_timeout_s``. A bookie
    or autorecovery that crashes meanwhile deviates from the plan, unless a fault lets it end on its own.
    """

    kind = "stop"
    by_sigkill = False
    timeout_s: float = Field(default=60, gt=0)

    def inject(self, context: FaultContext) -> Proof:
        return _proof(context.cluster.process(self.target).stop(self.timeout_s))

    def assert_as_planned(self, context: FaultContext) -> None:
        process, boot = context.cluster.process(self.target), context.injected["boot"]
        ended = process.ended(boot, 0)
        if not is_under_test(self.target) or ended is None or process.excused(ended):
            return
        if unclean(signal=ended.signal, code=ended.code):
            raise ContradictedError(
                f"{self.target} (boot {boot}) crashed while it was stopped, with {ended.how}"
                f"{log_text(process.log)}"
            )


@register
class Pause(ProcessFault):
    """Pause a process with SIGSTOP until it is resumed.

    A server that ends then because its session with ZooKeeper expired meanwhile is started again.
    """

    kind = "pause"

    def inject(self, context: FaultContext) -> Proof:
        """Connections stay open, nothing is answered."""
        process = context.cluster.process(self.target)
        process.pause()
        return {"boot": process.boot}

    def confirm(self, context: FaultContext) -> Proof:
        process = context.cluster.process(self.target)
        if process.state is not ProcessState.PAUSED or process.boot != context.injected["boot"]:
            raise FaultError(f"{self.target} is {process.state} in boot {process.boot}, not paused")
        return {"boot": process.boot, "state": str(process.state)}

    def heal(self, context: FaultContext) -> Proof:
        """Resume it; if its ZooKeeper session expired meanwhile and it ended for that, start it."""
        process = context.cluster.process(self.target)
        if process.state is ProcessState.DOWN:
            raise FaultError(f"{self.target} died while it was paused")
        if process.state is ProcessState.PAUSED:
            process.resume()
        try:
            process.wait_ready(self.ready_timeout_s)
        except UnplannedDeathError:
            if not process.session_ended():
                raise
            return restart(process, timeout_s=self.ready_timeout_s)
        return {"boot": process.boot, "ready": True}


def _proof(ended: Exit) -> Proof:
    return {"boot": ended.boot, "code": ended.code, "signal": ended.signal, "exit_ns": ended.at_ns}


def restart(process: Process, *, timeout_s: float) -> Proof:
    """Start a process that is down and wait until it is ready; facts of the new boot.

    ``UsageError`` when it is not down, ``NotReadyError`` when it does not become ready.
    """
    _must_be_down(process)
    process.start()
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
            # A start that does not wait does not learn either when the boot is ready.
            process.allow_refusal(math.inf if step.wait else step.timeout_s)
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
                remedy="write `expect: any` on the step if it may do either",
            )

    def _await(self) -> None:
        try:
            self._process.wait_ready(self._step.timeout_s)
        except ServerError as error:
            refusal = self._process.refusal()
            if self._step.expect == "ready" or refusal is None or not self._process.excused(refusal.ended):
                raise
            self.refusal = refusal
            raise FaultError(str(refusal)) from error


def _must_be_down(process: Process) -> None:
    if process.state is not ProcessState.DOWN:
        raise UsageError(f"{process.name} cannot be started, it is {process.state}")
