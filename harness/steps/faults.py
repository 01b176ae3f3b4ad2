"""Steps of the nemesis: every registered fault by its name, and the healing verbs.

Only translates steps into orders to :class:`nemesis.nemesis.Nemesis`, which records each phase.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster.interface import Refusal, Store
from harness.conditions.answers import await_preboot_check
from harness.recording.context import RunContext
from harness.registry import Done, step
from nemesis.registry import FAULTS, Fault
from plans.cluster import BookieSettings
from plans.grammar.names import GivenFault, NewFault, Params, ServerName, StoreName, once
from plans.grammar.steps import Heal, Resume, Start, StartsServers
from plans.versions import Version
from protocol.addresses import ZOOKEEPER
from protocol.errors import UsageError


def inject(context: RunContext, fault: Fault) -> Done:
    """Inject one fault and confirm that it took effect."""
    return Done(str(context.nemesis.inject(fault)))


@step(Start)
def start(context: RunContext, step: Start) -> Done:
    process = context.cluster.process(step.target)
    refusal = _started(context, step)
    if refusal is not None:
        facts = {"boot": refusal.ended.boot, "code": refusal.ended.code, "signal": refusal.ended.signal}
        return Done(f"start {step.target}: {refusal}", facts={**facts, "told": list(refusal.log_lines)})
    return Done(f"start {step.target}: boot {process.boot} {'is ready' if step.wait else 'has begun'}")


class Roll(StartsServers):
    """Restart servers one after the other; each is ready and checked before the next.

    A rolling restart, or an upgrade or rollback with ``version``. ``timeout_s`` is for each server.
    """

    targets: Annotated[tuple[ServerName, ...], once("server")] = Field(min_length=1)
    how: Literal["stop", "kill"] = "stop"
    timeout_s: float = Field(default=120, gt=0)
    conf: BookieSettings = Field(default_factory=dict)
    version: Version | None = None

    def starts(self) -> tuple[Start, ...]:
        """The starts that it consists of, in their order."""
        return tuple(
            Start(target=target, timeout_s=self.timeout_s, conf=self.conf, version=self.version)
            for target in self.targets
        )


@step(Roll)
def roll(context: RunContext, step: Roll) -> Done:
    """Restart servers one after the other; each end is a separate fault in the record."""
    for each in step.starts():
        context.nemesis.inject(FAULTS[step.how].model_validate({"target": each.target}))
        _started(context, each)
    boots = (f"{target} (boot {context.cluster.process(target).boot})" for target in step.targets)
    return Done(f"roll by {step.how}: {', '.join(boots)}")


def _started(context: RunContext, step: Start) -> Refusal | None:
    """Start a process, and wait for its preboot check where the step does; how it refused, if it did."""
    refusal = context.nemesis.start(step)
    if refusal is None and step.wait and step.checked and step.target in context.cluster.bookies:
        await_preboot_check(context, step.target, step.timeout_s)
    return refusal


class Snapshot(Params):
    """Copy what a bookie or ZooKeeper has stored, under a name by which a fault can bring it back.

    The server may run or not. The faults ``corrupt`` and ``restore_metadata`` bring the copy back.
    """

    target: StoreName
    name: NewFault = Field(alias="as")


@step(Snapshot)
def snapshot(context: RunContext, step: Snapshot) -> Done:
    cluster = context.cluster
    store: Store = cluster.zookeeper if step.target == ZOOKEEPER else cluster.bookie(step.target)
    store.snapshot(step.name)
    return Done(f"snapshot of {step.target}, {store.state}, as {step.name}")


@step(Resume)
def resume(context: RunContext, step: Resume) -> Done:
    context.nemesis.heal(kind="pause", target=step.target)
    return Done(f"resume {step.target}")


@step(Heal)
def heal(context: RunContext, step: Heal) -> Done:
    healed = context.nemesis.heal(kind=step.kind, target=step.target)
    return Done(f"heal {', '.join(healed) if healed else 'nothing (no fault in force)'}")


class Release(Params):
    """End the fault named with ``as``; messages that it held continue."""

    fault: GivenFault


@step(Release)
def release(context: RunContext, step: Release) -> Done:
    healed = context.nemesis.heal(name=step.fault)
    if not healed:
        named = sorted(one.name for one in context.nemesis.in_force() if one.name)
        raise UsageError(
            f"no fault named {step.fault!r} is in force (in force: {', '.join(named) or 'none with a name'})",
            remedy="inject it in an earlier step, and heal it once",
        )
    return Done(f"release {step.fault}: {', '.join(healed)}")
