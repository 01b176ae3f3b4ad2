"""Autorecovery: a process that ended on its own although nothing in the run explains it.

``AutoRecoveryMain`` exits with code 0 whatever ended it. It shuts itself down, as it should, when it has lost
its session with ZooKeeper, and its log says so. It also ends when its worker or its auditor has died
(``AutoRecoveryDeathWatcher``, 4.14 to 4.18), and nothing is repaired from then on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checkers.facts.alterations import injected
from checkers.judging.contract import Event, RunFacts
from checkers.servers.evidence import LOG_READ, events_by_boot
from checkers.servers.rules import Broken
from evidence.schemas import FaultRow
from protocol.addresses import ZOOKEEPER, is_autorecovery
from protocol.faults import AFTERMATH_S, effects_of

REPAIR_ENDED = "repair_ended"


def repair_ended(run: RunFacts) -> Iterator[Broken]:
    """Each end with code 0 for which no step waits, without a lost session or a fault that may cause one.

    Each step that waits for an end is about one: as many of the first are excused. A fault does not explain
    a worker that died by an exception.
    """
    ends = [end for end in run.events("exit") if is_autorecovery(end.server) and _orderly(end)]
    for end in ends:
        before = sum(one.server == end.server and one.boot < end.boot for one in ends)
        if before < run.may_end.get(end.server, 0):
            continue
        log = run.memo(events_by_boot)[end.server, end.boot]
        first = {name: events[0] for name, events in log.items()}
        lost, died = first.get("session_lost"), first.get("worker_died")
        if died and (lost is None or died.latest_ns < lost.earliest_ns):
            proof = f"an uncaught exception had ended its worker by {run.time_text(died.latest_ns)}"
        elif lost or LOG_READ not in first or any(_explains(fault, end) for fault in injected(run)):
            continue
        else:
            proof = f"its log shows no lost session, and no fault of {end.server} or ZooKeeper was near"
        name = f"{end.server} boot {end.boot}"
        ended = f"{name} ended with code 0 at {run.time_text(end.latest_ns)}, and no step asked for that"
        yield Broken(f"{name} ended on its own, and repaired nothing from then on", (ended, proof))


def _orderly(end: Event) -> bool:
    return (end.detail.get("signal"), end.detail.get("code")) == (None, 0)


def _explains(fault: FaultRow, end: Event) -> bool:
    """Whether a fault of this process, of ZooKeeper or of a link of theirs may be why it ended."""
    named = {end.server, ZOOKEEPER}.intersection(re.split("[,-]", fault["target"]))
    after_ns = 0 if effects_of(fault["kind"]).ends and end.server in named else AFTERMATH_S * 10**9
    return bool(named) and fault["injected_ns"] <= end.latest_ns <= fault["healed_ns"] + after_ns
