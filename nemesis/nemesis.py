"""The faults in force: each is injected, confirmed and healed here, and every phase recorded.

Independent of single faults: kinds are registered in :mod:`nemesis.registry`. Whole processes, disks and
links have at most one fault at a time, so that healing one never lifts another; only a fault that
supersedes the other (a kill of a paused process) may follow it. Rules on messages do not exclude each
other. Steps may run in parallel.

A fault that waits for a trigger is confirmed at the first query after it was triggered, at the latest
when it is healed. A fault that was never triggered stays unconfirmed in the record.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from random import Random

from cluster.interface import Cluster, ProcessState, Refusal
from nemesis.processes import Starting
from nemesis.registry import CountingFault, Fault, FaultContext, Proof, no_ledger
from plans.grammar.names import Nameable
from plans.grammar.steps import Start
from protocol.errors import FaultError, FencepostError, LinkError, UsageError

Record = Callable[[Mapping[str, object]], None]
LedgerOf = Callable[[str], int]
RandomOf = Callable[[str], Random]


class FaultState(Enum):
    """The state of a fault; only a fault in force may be healed."""

    INJECTING = auto()
    IN_FORCE = auto()
    HEALING = auto()


@dataclass(eq=False)
class InForce:
    """One fault and the context of its injection; ``healed`` is empty until it is healed.

    ``awaited`` is true while it waits for a trigger and no trigger was observed.
    """

    fault: Fault
    context: FaultContext
    claims: frozenset[str]
    healed: Proof = field(default_factory=dict)
    state: FaultState = FaultState.INJECTING
    awaited: bool = False

    @property
    def number(self) -> int:
        """Identifies it in the fault log."""
        return self.context.number

    @property
    def acting(self) -> Fault:
        """What is injected, confirmed and healed for it."""
        return self.fault.acting

    @property
    def target(self) -> str:
        """The target's name in the evidence."""
        return self.fault.target_name

    @property
    def name(self) -> str | None:
        """The name that the plan gave it, if any."""
        return given_name(self.fault)

    @property
    def text(self) -> str:
        """Its name and target; how often it acted if it counts that, or why healing undid nothing."""
        if "stays" in self.healed:
            return f"{self} ({self.healed['stays']})"
        acted = self.healed.get("acted")
        if acted is None:
            return str(self)
        times = {0: "never acted", 1: "acted once"}.get(acted, f"acted {acted} times")
        return f"{self} ({times})"

    def __str__(self) -> str:
        return str(self.fault)


def given_name(fault: Fault) -> str | None:
    """The name that a plan gives a fault with ``as``, None when it gives none."""
    return fault.name if isinstance(fault, Nameable) else None


class Nemesis:
    """All faults in force on one cluster; ``record`` takes each line of the fault log.

    ``ledger`` gives the id of a ledger by its name in the plan, ``random`` the run's random stream of
    a name, ``clock`` the monotonic time in ns.
    """

    def __init__(
        self,
        cluster: Cluster,
        record: Record,
        *,
        ledger: LedgerOf = no_ledger,
        random: RandomOf = Random,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._cluster = cluster
        self._record = record
        self._ledger = ledger
        self._random = random
        self._clock = clock
        self._lock = threading.Lock()
        self._numbered = 0
        self._faults: list[InForce] = []
        self._starting: list[str] = []  # targets of starts that have not ended yet

    def in_force(self) -> list[InForce]:
        """The faults that are in force or in change now, oldest first."""
        with self._lock:
            return list(self._faults)

    def inject(self, fault: Fault) -> InForce:
        """Inject one fault and confirm that it took effect; it stays in force until healed.

        A fault that waits for a trigger is confirmed later (:meth:`acted`, :meth:`heal`).
        ``UsageError`` when it is refused: it is not available, or its target has a fault. ``FaultError``
        when it failed or was not confirmed; it is healed then, or stays in force when even that failed.
        ``ContradictedError`` when it is in force, but its server did otherwise than it must.
        """
        entry = self._enter(fault)
        context = entry.context
        try:
            self._log(entry, "planned")
            context.injected = entry.acting.inject(context)
            self._log(entry, "injected", context.injected)
            entry.awaited = entry.acting.waits
            if not entry.awaited:
                self._log(entry, "confirmed", entry.acting.confirm(context))
            self._supersede(entry)
        except FencepostError as error:
            self._log(entry, "failed", {"error": str(error)})
            entry.state = FaultState.HEALING
            failure = FaultError(f"{entry} did not take effect: {error}", remedy=error.remedy)
            for healing in self._heal([entry]):
                failure.add_note(f"healing it failed as well: {healing}")
            raise failure from error
        finally:
            if entry.state is FaultState.INJECTING:
                entry.state = FaultState.IN_FORCE
        entry.acting.assert_as_planned(context)
        return entry

    def acted(self, name: str) -> int | None:
        """How often the fault of that name was triggered up to now; None when it is not in force.

        The first non-zero count confirms it. ``UsageError`` for a fault that does not count.
        """
        entry = next((one for one in self.in_force() if one.name == name), None)
        if entry is None or entry.state is not FaultState.IN_FORCE:
            return None
        acting = entry.acting
        if not isinstance(acting, CountingFault):
            raise UsageError(
                f"{entry} does not count what it does",
                remedy="only faults of messages and a hold of a link do",
            )
        try:
            proof = acting.acted(entry.context)
        except LinkError:
            if entry.state is not FaultState.IN_FORCE or entry not in self.in_force():
                return None  # Healed while it was asked.
            raise
        self._confirm_late(entry, proof)
        return int(proof["acted"])

    def heal(
        self, *, kind: str | None = None, target: str | None = None, name: str | None = None
    ) -> list[str]:
        """Heal the faults that match (all without arguments) and return them in the order of healing.

        In the order of :class:`nemesis.registry.HealOrder`, the newest first among equals. Continues after
        an error; ``FaultError`` then names every fault that is still in force.
        """

        def asked(entry: InForce) -> bool:
            return (
                kind in (None, entry.fault.kind)
                and target in (None, entry.target)
                and name in (None, entry.name)
            )

        return self._heal_all(self._take(asked))

    def start(self, step: Start) -> Refusal | None:
        """Start a process that is down, with other settings if given, until it is as the step expects.

        Heals what ended it, unless the boot refuses: then that stays in force, and how it refused is
        returned. Of several processes that one fault ended, the last start to end heals it. ``UsageError``
        when it is not down, ``FaultError`` when it refuses or does not become ready against the plan,
        ``ContradictedError`` when it becomes ready against the plan.
        """
        starting = Starting(self._cluster.process(step.target), step)
        with self._lock:
            self._starting.append(step.target)
        ended = self._take_ended(step.target)
        try:
            if ended:
                self._heal_all(ended, starting)
            else:
                booted = starting()
        except FaultError:
            if starting.refusal is None:
                raise
        finally:
            with self._lock:
                self._starting.remove(step.target)
        if starting.refusal is None and not ended:  # those beside it were still down when it began
            self._heal_all(self._take_ended(step.target), lambda: booted)
        starting.assert_refused()
        return starting.refusal

    def _assert_free(self, fault: Fault, claims: frozenset[str]) -> None:
        name = given_name(fault)
        for other in self._faults:
            if name is not None and other.name == name:
                raise UsageError(f"{other} has the name {name!r} already (fault {other.number})")
            shared = sorted(claims & other.claims)
            if shared and other.fault.kind not in fault.supersedes:
                raise UsageError(f"{shared[0]} is under {other} already (fault {other.number})")

    def close(self) -> None:
        """End what the faults still in force do in this process; heals and records nothing."""
        for entry in self.in_force():
            entry.acting.abandon(entry.context)

    def _enter(self, fault: Fault) -> InForce:
        try:
            fault.acting.assert_available(self._cluster)
            claims = fault.acting.claims(self._cluster)
            with self._lock:
                self._assert_free(fault, claims)
                self._numbered += 1
                context = FaultContext(self._cluster, self._numbered, self._ledger, self._random)
                entry = InForce(fault, context, claims)
                self._faults.append(entry)
        except UsageError as error:
            raise UsageError(f"{fault} cannot be injected: {error}", remedy=error.remedy) from error
        return entry

    def _supersede(self, entry: InForce) -> None:
        with self._lock:
            ended = [
                other
                for other in self._faults
                if other.fault.kind in entry.fault.supersedes and other.claims & entry.claims
            ]
            self._faults = [other for other in self._faults if other not in ended]
        for other in ended:
            self._log(other, "healed", {"ended_by": entry.number})

    def _take_ended(self, name: str) -> list[InForce]:
        """The faults that ended this process and all other targets of which were started again."""

        def back(other: str) -> bool:
            down = self._cluster.process(other).state is ProcessState.DOWN
            return not down and other not in self._starting

        def asked(entry: InForce) -> bool:
            ended = entry.fault.takes_down
            return name in ended and all(back(other) for other in ended if other != name)

        return self._take(asked)

    def _take(self, asked: Callable[[InForce], bool]) -> list[InForce]:
        """The requested faults in force, in the order of healing, reserved for this thread."""
        with self._lock:
            matching = [
                entry for entry in self._faults if entry.state is FaultState.IN_FORCE and asked(entry)
            ]
            for entry in matching:
                entry.state = FaultState.HEALING
        return sorted(matching, key=lambda entry: (entry.fault.heal_order, -entry.number))

    def _heal_all(self, entries: list[InForce], how: Callable[[], Proof] | None = None) -> list[str]:
        errors = self._heal(entries, how)
        if errors:
            raise FaultError("; ".join(map(str, errors)), remedy=errors[0].remedy) from errors[0]
        return [entry.text for entry in entries]

    def _heal(self, entries: list[InForce], how: Callable[[], Proof] | None = None) -> list[FaultError]:
        """Heal each entry, by ``how`` if given; what went wrong, each with its cause."""
        errors: list[FaultError] = []
        for entry in entries:
            began_ns = self._clock()
            try:
                proof = how() if how else entry.acting.heal(entry.context)
            except FencepostError as error:
                self._log(entry, "failed", {"began_ns": began_ns, "healing": str(error)})
                failure = FaultError(f"{entry} was not healed: {error}", remedy=error.remedy)
                failure.__cause__ = error
                errors.append(failure)
            else:
                self._confirm_late(entry, proof)
                self._log(entry, "healed", {"began_ns": began_ns, **proof})
                entry.healed = proof
                with self._lock:
                    self._faults.remove(entry)
            finally:
                entry.state = FaultState.IN_FORCE
        return errors

    def _confirm_late(self, entry: InForce, proof: Proof) -> None:
        """Confirm a fault that waited for a trigger when its proof shows that it was triggered."""
        if not proof.get("acted"):
            return
        with self._lock:
            awaited, entry.awaited = entry.awaited, False
        if awaited:
            self._log(entry, "confirmed", proof)

    def _log(self, entry: InForce, phase: str, proof: Proof | None = None) -> None:
        self._record(
            {
                "fault": entry.number,
                "kind": entry.fault.kind,
                "target": entry.target,
                "params": entry.fault.model_dump(mode="json", by_alias=True),
                "phase": phase,
                "at_ns": self._clock(),
                "proof": proof or {},
            }
        )
