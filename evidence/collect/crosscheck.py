"""Consistency of the record: what one part of it says must be in another.

Each step of the plan is recorded, each fault step has its fault, each boot of a bookie its start and its
settings, each process that was started its end, each unclean end of a process is caused by a fault or an
unplanned death, each boot of a client that answered has a history, and that of a client that exited with 0
is whole: no half of a slot is torn, and it holds no fewer slots and outcomes than the client reported. Each
boot of a bookie or of autorecovery has its log, and each bookie that died and was started again a copy of
its disk. Returns only sentences on damage. The other modules of this package check single files and tables.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evidence.codes import ANSWERING, CONFIGURED, NEVER, RECORDED
from evidence.collect.histories import SegmentFile, tables_of
from evidence.schemas import FaultRow, ServerRow
from evidence.shapes import EventDetail, PlanStep, PlanTree, StepLine
from protocol.addresses import ADMIN, OBSERVER, ZOOKEEPER, is_autorecovery
from protocol.faults import EFFECTS, UNPLANNED, Loses, effects_of, unclean
from protocol.wording import counted


def faults_missing(plan: PlanTree, faults: Iterable[FaultRow]) -> Iterator[str]:
    """Kinds of which the fault log holds fewer than the steps of the plan injected; all steps were run."""
    logged = Counter(row["kind"] for row in faults if row["injected_ns"] != NEVER)
    planned = Counter(_injected(plan.get("steps") or ()))
    for kind, number in sorted(planned.items()):
        due = number * int(plan.get("rounds") or 1)
        if logged[kind] < due:
            yield f"faults: the plan injects `{kind}` {due} times, the fault log holds {logged[kind]}"


def _injected(steps: Iterable[PlanStep]) -> Iterator[str]:
    """The kind of each fault that steps of a plan's tree inject; a ``roll`` ends each of its targets."""
    for step in steps:
        for branch in step.get("together") or ():
            yield from _injected(branch)
        yield from (name for name in step if name in EFFECTS)
        if "roll" in step:
            yield from [step["roll"].get("how", "stop")] * len(step["roll"]["targets"])


def steps_missing(plan: PlanTree, steps: Iterable[StepLine]) -> Iterator[str]:
    """Fewer recorded steps than the plan has, all of which were run."""
    due = _number(plan.get("steps") or ()) * int(plan.get("rounds") or 1)
    done = sum("began_ns" in line for line in steps)
    if done < due:
        yield f"record: the plan has {counted(due, 'step')}, {done} are recorded"


def _number(steps: Iterable[PlanStep]) -> int:
    return sum(sum(map(_number, step["together"])) if "together" in step else 1 for step in steps)


def starts_missing(servers: Sequence[ServerRow], bookies: Iterable[str]) -> Iterator[str]:
    """Boots of bookies whose start is not recorded: their answers would be of no known boot."""
    boots = {(row["server"], row["boot"]) for row in servers}
    begun = {(row["server"], row["boot"]) for row in servers if row["event"] == "started"}
    for name in sorted(bookies):
        last = max((boot for server, boot in boots if server == name), default=1)
        for boot in range(1, max(last, 1) + 1):
            if (name, boot) not in begun:
                yield f"servers: the start of {name} boot {boot} is not recorded"


def settings_missing(servers: Sequence[ServerRow], bookies: Container[str]) -> Iterator[str]:
    """Boots of bookies whose settings are not recorded, where those of others are.

    What a fault may take of a boot rests on them. Older releases recorded none.
    """
    configured = {(row["server"], row["boot"]) for row in servers if row["event"] == CONFIGURED}
    for row in servers if configured else ():
        name, boot = row["server"], row["boot"]
        if row["event"] == "started" and name in bookies and (name, boot) not in configured:
            yield f"servers: the settings of {name} boot {boot} are not recorded"


def ends_missing(servers: Sequence[ServerRow]) -> Iterator[str]:
    """Boots whose end is not recorded; in a closed run all processes have ended."""
    ends = {(row["server"], row["boot"]) for row in servers if row["event"] == "exit"}
    for row in servers:
        if row["event"] == "started" and (row["server"], row["boot"]) not in ends:
            yield f"servers: the end of {row['server']} boot {row['boot']} is not recorded"


def ends_unexplained(
    servers: Sequence[ServerRow], faults: Sequence[FaultRow], steps: Sequence[StepLine]
) -> Iterator[str]:
    """Unclean ends of processes that no fault, unplanned death or start that may be refused accounts for.

    The observer is stopped before the servers; what ends after it is the end of the run.
    """
    ends: list[tuple[ServerRow, EventDetail]] = [
        (row, json.loads(row["detail"])) for row in servers if row["event"] == "exit"
    ]
    starts = {(row["server"], row["boot"]): row for row in servers if row["event"] == "started"}
    over_ns = max((row["latest_ns"] for row, _ in ends if row["server"] == OBSERVER), default=NEVER)
    for row, detail in ends:
        number, code = detail.get("signal"), detail.get("code")
        name, boot, at_ns = row["server"], row["boot"], row["latest_ns"]
        if name == ADMIN or at_ns > over_ns or not unclean(signal=number, code=code):
            continue
        by_fault = any(_may_end(fault, name, boot, at_ns) for fault in faults)
        start = starts.get((name, boot))
        if not by_fault and not (start and any(_may_refuse(step, start) for step in steps)):
            how = f"signal {number}" if number is not None else f"code {code}"
            yield f"faults: {name} boot {boot} ended with {how}, and the fault log does not say why"


def _may_end(fault: FaultRow, name: str, boot: int, at_ns: int) -> bool:
    """Whether a fault may be why a process ended; a fault of the metadata store may end any bookie.

    A fault that ends its target does so once: when it is healed, the target is in another boot.
    """
    targets = fault["target"].split(",")
    if fault["kind"] == UNPLANNED:
        died = json.loads(fault["proof"] or "{}").get("confirmed") or {}
        return fault["target"] == name and died.get("boot") in (None, boot)
    if name in targets and effects_of(fault["kind"]).ends:
        return fault["planned_ns"] <= at_ns <= fault["healed_ns"]
    return fault["planned_ns"] <= at_ns and (name in targets or targets == [ZOOKEEPER])


def _may_refuse(step: StepLine, start: ServerRow) -> bool:
    """Whether a step began this boot and let it end on its own."""
    params = step.get("params") or {}
    allowed = step.get("step") == "start" and params.get("expect", "ready") != "ready"
    if not allowed or params.get("target") != start["server"]:
        return False
    began_ns, ended_ns = step.get("began_ns", NEVER), step.get("ended_ns", NEVER)
    return began_ns <= start["latest_ns"] and start["earliest_ns"] <= ended_ns


def histories_missing(
    files: Iterable[SegmentFile], servers: Iterable[ServerRow], clients: Container[str]
) -> Iterator[str]:
    """Boots of clients that answered, which they do with a history only, and of which no file is left."""
    there = {(file.client, file.boot) for file in files}
    for row in servers:
        name, boot = row["server"], row["boot"]
        if row["event"] == ANSWERING and name in clients and (name, boot) not in there:
            yield f"{tables_of(name)}: no history of {name}, boot {boot}"


class Slots(NamedTuple):
    """How many slots of a history are used, have a torn half, and have an outcome."""

    used: int
    torn: int
    ended: int


def histories_cut(found: Mapping[SegmentFile, Slots], servers: Iterable[ServerRow]) -> Iterator[str]:
    """Torn halves of a client that exited with 0, and fewer slots or outcomes than a client reported.

    Clients of older releases did not count their outcomes, or reported nothing: where one of a run reported,
    each that exited with 0 did.
    """
    held: dict[tuple[str, int], Slots] = {}
    for file, slots in found.items():
        life = file.client, file.boot
        held[life] = Slots(*map(sum, zip(held.get(life, (0, 0, 0)), slots, strict=True)))
    reported = {(row["server"], row["boot"]) for row in servers if row["event"] == RECORDED}
    for row in servers:
        slots, detail = held.get((row["server"], row["boot"]), Slots(0, 0, 0)), json.loads(row["detail"])
        name = f"{tables_of(row['server'])}: {row['server']} boot {row['boot']}"
        quit_well = row["event"] == "exit" and detail.get("code") == 0
        if quit_well and slots.torn:
            yield f"{name} exited with 0, and {slots.torn} halves of its slots are torn"
        if quit_well and slots.used and reported and (row["server"], row["boot"]) not in reported:
            yield f"{name} exited with 0, and what it reported at its end is not recorded"
        if row["event"] != RECORDED:
            continue
        reported_slots, ended = detail.get("slots"), detail.get("ended", 0)
        if not (isinstance(reported_slots, int) and reported_slots <= slots.used):
            yield f"{name} reported {reported_slots} slots at its end, its files hold {slots.used}"
        elif ended > slots.ended:
            yield f"{name} reported {ended} outcomes at its end, its files hold {slots.ended}"


def logs_missing(
    servers: Iterable[ServerRow], bookies: Container[str], logs: Container[tuple[str, int]]
) -> Iterator[str]:
    """Boots of bookies and of autorecovery without a log, by which their steps at boot are judged."""
    for row in servers:
        name, boot = row["server"], row["boot"]
        logged = row["event"] == "started" and (name in bookies or is_autorecovery(name))
        if logged and (name, boot) not in logs:
            yield f"servers: the log of {name} boot {boot} is missing"


def copies_missing(
    servers: Sequence[ServerRow],
    faults: Sequence[FaultRow],
    bookies: Container[str],
    copied: Mapping[tuple[str, int], Sequence[str]],
) -> Iterator[str]:
    """Bookies that died and were started again of whose disk no copy, or not the whole copy, is there.

    ``copied`` gives for each copy (bookie, boot) the files that it lists and lacks. A disk that a fault still
    spoils when the bookie is started again is not copied.
    """
    for (name, boot), gone in sorted(copied.items()):
        yield from (f"holdings: {name}-{boot}: {file} is missing" for file in gone)
    started = [row for row in servers if row["event"] == "started"]
    for row in servers:
        name, boot, detail = row["server"], row["boot"], json.loads(row["detail"])
        died = row["event"] == "exit" and name in bookies
        if not died or not unclean(signal=detail.get("signal"), code=detail.get("code")):
            continue
        again = [one["latest_ns"] for one in started if one["server"] == name and one["boot"] > boot]
        if again and (name, boot) not in copied and not _spoiled(faults, name, min(again)):
            yield f"holdings: the copy of the disk of {name} boot {boot} is missing"


def _spoiled(faults: Iterable[FaultRow], name: str, at_ns: int) -> bool:
    """Whether a fault that changes the disk of this bookie was in force then."""
    return any(
        name in fault["target"].split(",")
        and effects_of(fault["kind"]).loses is Loses.STORED
        and fault["injected_ns"] <= at_ns <= fault["healed_ns"]
        for fault in faults
    )
