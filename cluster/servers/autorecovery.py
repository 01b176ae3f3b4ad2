"""Autorecovery: an auditor that stands for election, and a replication worker.

BookKeeper's ``AutoRecoveryMain``. It has no port. It is ready when it has voted, has logged that all its
parts started, an auditor is elected, and the auditor's first check of all ledgers is over: a late check
would find the plan's first ledgers while they are written, and would have them recovered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cluster.configuration import autorecovery_properties
from cluster.metadata import RepairRecords
from cluster.processes.process import Process, Rung
from cluster.processes.runner import BOOKIE as ROLE
from cluster.processes.runner import Exit, Launch
from cluster.processes.site import JavaProgram, Site
from evidence.collect.logs import log_events
from protocol.addresses import autorecovery_number
from protocol.errors import ServerError

_PERIOD = "auditorPeriodicCheckInterval"
MAIN = "org.apache.bookkeeper.replication.AutoRecoveryMain"


class AutoRecovery(Process):
    """One such process; it reaches ZooKeeper and the bookies through separate links."""

    def __init__(self, name: str, site: Site, records: RepairRecords) -> None:
        super().__init__(name, site, site.spec.autorecovery_layers())
        self._records = records
        self._number = autorecovery_number(name)
        self._former: frozenset[str] = frozenset()  # votes of earlier boots that may still be there

    def session_ended(self) -> bool:
        """Whether the last boot ended on its own with exit code 0, as it does without a session."""
        refusal = self.refusal()
        return refusal is not None and refusal.ended.code == 0

    def unplanned(self) -> list[Exit]:
        """Deaths that the harness did not cause; except its own exit after its ZooKeeper session expired."""
        return [ended for ended in super().unplanned() if ended.code != 0]

    def _launch(self, boot: int) -> Launch:
        if boot > 1:
            self._settle_votes()
        properties = autorecovery_properties(
            self.name, self._layers, zookeeper=self._site.zookeeper(self._number)
        )
        program = JavaProgram(MAIN, self.version, self.folder, boot, ROLE)
        arguments = ["--conf", self._write_conf(boot, properties)]
        return self._site.launch(program, arguments, source=self._number)

    def _settle_votes(self) -> None:
        try:
            if self._was_killed() and self._site.spec.forget_registrations:
                for vote in self._votes():
                    self._records.forget(vote)
            self._former = self._votes()
        except ServerError:  # ZooKeeper is away: votes of earlier boots stay until it is back
            self._former = frozenset()

    def _votes(self) -> frozenset[str]:
        return frozenset(vote for vote, name in self._records.votes().items() if name == self.name)

    def _rungs(self) -> Sequence[Rung]:
        return (
            ("candidate", lambda: _patiently(lambda: bool(self._votes() - self._former))),
            ("working", self._working),
            ("audited", lambda: _patiently(lambda: self._records.auditor() is not None)),
            ("checked", lambda: not self._checks() or _patiently(self._records.checked)),
        )

    def _working(self) -> bool:
        found = log_events(self.name, self.boot, self.log)
        return any(event.event == "component_started" for event in found)

    def _checks(self) -> bool:
        """Whether it checks all ledgers as auditor; with a period of 0 there is not even a first check."""
        return self._layers.plan.get(_PERIOD) != "0"


def _patiently(asked: Callable[[], bool]) -> bool:
    """ZooKeeper's answer; False while it does not answer, because the ladder has its own time-out."""
    try:
        return asked()
    except ServerError:
        return False
