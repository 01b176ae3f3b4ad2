"""Faults of processes: kill, stop, pause; of a bookie, of ZooKeeper, of a client.

Each fault checks that the process has the needed power (:mod:`cluster.interface`). The observer and the
proxy belong to the run itself and are never hit.
"""

from __future__ import annotations

import signal
from typing import Any

from pydantic import BaseModel, Field

from cluster.interface import CanKill, CanPause, CanStop, Cluster, Exit, Process, ProcessState, RecordsDisk
from cluster.operating import EndsWithSession
from nemesis.registry import FaultContext, HealOrder, Proof, register
from nemesis.starting import restart
from plans.names import Params, ServerName
from protocol.addresses import OBSERVER, PROXY, ZOOKEEPER, is_bookie
from protocol.errors import FaultError, UnplannedDeathError, UsageError

READY_TIMEOUT_S = 120.0


class Target(Params):
    """The target process, and how long its healing may take until it is ready."""

    target: ServerName
    ready_timeout_s: float = Field(default=READY_TIMEOUT_S, gt=0)


class StopTarget(Target):
    """The process to shut down, and how long that may take."""

    timeout_s: float = Field(default=60, gt=0)


class _ProcessFault:
    """The common part of kill, stop and pause: the needed power, and the target."""

    name: str
    power: type[Any]
    supersedes: frozenset[str] = frozenset()

    def available(self, params: Target, cluster: Cluster) -> str | None:
        if params.target in (OBSERVER, PROXY):
            return f"the {params.target} is never hit, the run's own record depends on it"
        try:
            process = cluster.process(params.target)
        except UsageError as error:
            return str(error)
        if not isinstance(process, self.power):
            return f"{params.target} has no {self.name} on this backend"
        return None

    def target(self, params: Target) -> str:
        return params.target

    def claims(self, params: Target, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # the protocol's
        return frozenset({params.target})

    def heal_order(self, params: Target) -> HealOrder:
        if params.target == ZOOKEEPER:
            return HealOrder.METADATA
        return HealOrder.BOOKIES if is_bookie(params.target) else HealOrder.CLIENTS


class _Ending(_ProcessFault):
    """Faults that end the process; healing is its next boot."""

    def takes_down(self, params: Target) -> tuple[str, ...]:
        return (params.target,)

    def heal(self, params: Target, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        process = cluster.process(params.target)
        if process.state is ProcessState.DOWN:
            return restart(process, timeout_s=params.ready_timeout_s)
        process.wait_ready(params.ready_timeout_s)
        return {"boot": process.boot, "ready": True}


def capture_disk(process: Process) -> None:
    """Have a dead process's disk recorded, where supported, while its files are as its death left them."""
    if isinstance(process, RecordsDisk):
        process.capture_disk()


class _Kill(_Ending):
    """SIGKILL: nothing is flushed, nothing is sent."""

    name = "kill"
    about = "end a process with SIGKILL"
    params: type[BaseModel] = Target
    power = CanKill
    supersedes = frozenset({"pause"})

    def inject(self, params: Target, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        process: Any = cluster.process(params.target)
        ended = process.kill()
        capture_disk(process)
        return _proof(ended)

    def confirm(self, params: Target, cluster: Cluster, injected: Proof) -> Proof:
        if injected["signal"] != signal.SIGKILL:
            raise FaultError(f"{params.target} ended otherwise than by SIGKILL: {_how(injected)}")
        return _confirmed_down(cluster.process(params.target), injected)


class _Stop(_Ending):
    name = "stop"
    about = "stop a process with SIGTERM and wait until it has ended"
    params: type[BaseModel] = StopTarget
    power = CanStop

    def inject(self, params: StopTarget, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        process: Any = cluster.process(params.target)
        return _proof(process.stop(params.timeout_s))

    def confirm(self, params: StopTarget, cluster: Cluster, injected: Proof) -> Proof:
        if injected["signal"] == signal.SIGKILL:
            raise FaultError(f"{params.target} was ended by SIGKILL, not in its own order")
        return _confirmed_down(cluster.process(params.target), injected)


class _Pause(_ProcessFault):
    """SIGSTOP: connections stay open, nothing is answered."""

    name = "pause"
    about = "pause a process with SIGSTOP until it is resumed"
    params: type[BaseModel] = Target
    power = CanPause

    def inject(self, params: Target, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        process: Any = cluster.process(params.target)
        process.pause()
        return {"boot": process.boot}

    def confirm(self, params: Target, cluster: Cluster, injected: Proof) -> Proof:
        process = cluster.process(params.target)
        if process.state is not ProcessState.PAUSED or process.boot != injected["boot"]:
            raise FaultError(f"{params.target} is {process.state} in boot {process.boot}, not paused")
        return {"boot": process.boot, "state": str(process.state)}

    def heal(self, params: Target, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        process: Any = cluster.process(params.target)
        if process.state is ProcessState.DOWN:
            raise FaultError(f"{params.target} died while it was paused")
        if process.state is ProcessState.PAUSED:
            process.resume()
        try:
            process.wait_ready(params.ready_timeout_s)
        except UnplannedDeathError:
            if not (isinstance(process, EndsWithSession) and process.session_ended()):
                raise
            return restart(cluster.process(params.target), timeout_s=params.ready_timeout_s)
        return {"boot": process.boot, "ready": True}


def _proof(ended: Exit) -> Proof:
    return {"boot": ended.boot, "code": ended.code, "signal": ended.signal, "exit_ns": ended.at_ns}


def _how(ended: Proof) -> str:
    return f"code {ended['code']}, signal {ended['signal']}"


def _confirmed_down(process: Process, injected: Proof) -> Proof:
    if process.state is not ProcessState.DOWN or process.boot != injected["boot"]:
        raise FaultError(
            f"boot {injected['boot']} of {process.name} ended ({_how(injected)}), "
            f"but it is {process.state} in boot {process.boot}"
        )
    return {"boot": process.boot, "state": str(process.state)}


register(_Kill())
register(_Stop())
register(_Pause())
