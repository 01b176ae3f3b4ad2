"""Acts of the nemesis: every registered fault by its name, and the healing verbs.

Only translates steps into orders to :class:`nemesis.active.Active`, which records each phase.
"""

from __future__ import annotations

from typing import Any

from harness.acts.registry import Done, act
from harness.stage import Stage
from protocol.errors import UsageError


def inject(name: str, stage: Stage, step: Any) -> Done:
    """Inject one fault and confirm that it took effect."""
    active = stage.faults.inject(name, step)
    return Done(f"{name} {active.target}")


@act("start")
def start(stage: Stage, step: Any) -> Done:
    """Start a server or client that a fault ended, and wait until it answers."""
    process = stage.cluster.process(step.target)
    stage.faults.start(step)
    return Done(f"start {step.target}: boot {process.boot} is ready")


@act("resume")
def resume(stage: Stage, step: Any) -> Done:
    """Continue a paused process."""
    stage.faults.heal(kind="pause", target=step.target)
    return Done(f"resume {step.target}")


@act("heal")
def heal(stage: Stage, step: Any) -> Done:
    """Undo the faults in force that match, newest first."""
    healed = stage.faults.heal(kind=step.kind, target=step.target)
    return Done(f"heal {', '.join(healed) if healed else 'nothing (no fault in force)'}")


@act("release")
def release(stage: Stage, step: Any) -> Done:
    """Undo the fault of that name; what it held goes on."""
    healed = stage.faults.heal(name=step.fault)
    if not healed:
        named = sorted(one.name for one in stage.faults.in_force() if one.name)
        raise UsageError(
            f"no fault named {step.fault!r} is in force (in force: {', '.join(named) or 'none with a name'})",
            remedy="inject it in an earlier step, and heal it once",
        )
    return Done(f"release {step.fault}: {', '.join(healed)}")
