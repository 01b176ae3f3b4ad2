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
import signal
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from evidence.codes import ANSWERING, CONFIGURED, NEVER, RECORDED
from evidence.collect.histories import SegmentFile, tables_of
from evidence.raw.history import Segment
from evidence.schemas import FaultRow, ServerRow
from evidence.shapes import EventDetail, PlanStep, PlanTree, StepLine
from protocol.addresses import ADMIN, OBSERVER, ZOOKEEPER, is_autorecovery, link_name
from protocol.faults import AFTERMATH_S, EFFECTS, UNPLANNED, Loses, effects_of, unclean
from protocol.wording import counted


def faults_missing(plan: PlanTree, faults: Iterable[FaultRow]) -> Iterator[str]:
    """Faults, by kind and target, of which the log holds fewer than the steps injected; all were run."""
    logged: Counter[tuple[str, str]] = Counter()
    for row in faults:
        if row["injected_ns"] != NEVER:
            logged.update([(row["kind"], row["target"]), (row["kind"], "")])
    planned = Counter(_injected(plan.get("steps") or ()))
    for (kind, target), number in sorted(planned.items()):
        due, found = number * int(plan.get("rounds") or 1), logged[kind, target]
        if found < due:
            name = f"{kind} {target}".strip()
            yield f"faults: the plan injects `{name}` {due} times, the fault log holds {found}"


def _injected(steps: Iterable[PlanStep]) -> Iterator[tuple[str, str]]:
    """Kind and target of each fault that steps of a plan's tree inject; a ``roll`` ends each of its targets.

    The target is empty where the step names none (the metadata store).
    """
    for step in steps:
        for branch in step.get("together") or ():
            yield from _injected(branch)
        own = {name: params for name, params in step.items() if isinstance(params, Mapping)}
        yield from ((name, _target(params)) for name, params in own.items() if name in EFFECTS)
        if "roll" in step:
            how = step["roll"].get("how", "stop")
            yield from ((how, target) for target in step["roll"]["targets"])


def _target(params: Mapping[str, Any]) -> str:
    """What the fault log calls the target of these parameters."""
    if "from" in params:
        return link_name(params["from"], params["to"])
    return params.get("target") or ",".join(params.get("targets") or ())


def steps_missing(plan: PlanTree, steps: Iterable[StepLine]) -> Iterator[str]:
    """Fewer recorded steps than the plan has, all of which were run."""
    due = _number(plan.get("steps") or ()) * int(plan.get("rounds") or 1)
    done = sum("began_ns" in line for line in steps)
    if done < due:
        yield f"record: the plan has {counted(due, 'step')}, {done} are recorded"


def _number(steps: Iterable[PlanStep]) -> int:
    return sum(sum(map(_number, step["together"])) if "together" in step else 1 for step in steps)


def boots_incomplete(
    servers: Iterable[ServerRow], bookies: Collection[str], logs: Container[tuple[str, int]]
) -> Iterator[str]:
    """What a closed run, whose processes have all ended, lacks of a boot: its start, end, settings or log.

    Answers of a bookie without a start would be of no known boot. What a fault may take of a boot rests on
    its settings, which older releases recorded of none. Steps at boot are judged by logs.
    """
    events: dict[tuple[str, int], set[str]] = defaultdict(set)
    for row in servers:
        events[row["server"], row["boot"]].add(row["event"])
    for name in sorted(bookies):
        last = max((boot for server, boot in events if server == name), default=1)
        for boot in range(1, max(last, 1) + 1):
            if "started" not in events[name, boot]:
                yield f"servers: the start of {name} boot {boot} is not recorded"
    settings_recorded = any(CONFIGURED in seen for seen in events.values())
    for (name, boot), seen in events.items():
        if "started" not in seen:
            continue
        if "exit" not in seen:
            yield f"servers: the end of {name} boot {boot} is not recorded"
        if name in bookies and settings_recorded and CONFIGURED not in seen:
            yield f"servers: the settings of {name} boot {boot} are not recorded"
        if (name in bookies or is_autorecovery(name)) and (name, boot) not in logs:
            yield f"servers: the log of {name} boot {boot} is missing"


def ends_unexplained(
    servers: Sequence[ServerRow], faults: Sequence[FaultRow], steps: Sequence[StepLine]
) -> Iterator[str]:
    """Unclean ends of processes that no fault, unplanned death or start that may be refused accounts for.

    A SIGKILL that the harness did not send is an unplanned death, and nothing else accounts for it. The
    observer is stopped before the servers; what ends after it is the end of the run.
    """
    ends: list[tuple[ServerRow, EventDetail]] = [
        (row, json.loads(row["detail"])) for row in servers if row["event"] == "exit"
    ]
    starts = {(row["server"], row["boot"]): row for row in servers if row["event"] == "started"}
    ready = {(row["server"], row["boot"]): row["latest_ns"] for row in servers if row["event"] == ANSWERING}
    over_ns = max((row["latest_ns"] for row, _ in ends if row["server"] == OBSERVER), default=NEVER)
    for row, detail in ends:
        number, code = detail.get("signal"), detail.get("code")
        name, boot, at_ns = row["server"], row["boot"], row["latest_ns"]
        if name == ADMIN or at_ns > over_ns or not unclean(signal=number, code=code):
            continue
        start = starts.get((name, boot))
        from_outside = number == signal.SIGKILL and not detail.get("signalled", True)  # older ones: unknown
        causes = [fault for fault in faults if not from_outside or fault["kind"] == UNPLANNED]
        by_fault = any(_may_end(fault, name, boot, start, at_ns) for fault in causes)
        by_step = (
            start
            and not from_outside
            and ready.get((name, boot), NEVER) > at_ns
            and any(_may_refuse(step, start, at_ns) for step in steps)
        )
        if not (by_fault or by_step):
            how = f"signal {number}" if number is not None else f"code {code}"
            yield f"faults: {name} boot {boot} ended with {how}, and the fault log does not say why"


def _may_end(fault: FaultRow, name: str, boot: int, start: ServerRow | None, at_ns: int) -> bool:
    """Whether a fault may be why a process ended; a fault of the metadata store may end any bookie.

    A fault that ends its target does so once: when it is healed, the target is in another boot. Any other
    one may end its target for a while after, in a boot that it met.
    """
    targets = fault["target"].split(",")
    if fault["kind"] == UNPLANNED:
        died = json.loads(fault["proof"] or "{}").get("confirmed") or {}
        return fault["target"] == name and died.get("boot") in (None, boot)
    effects = effects_of(fault["kind"])
    if name in targets and effects.ends:
        return fault["planned_ns"] <= at_ns <= fault["healed_ns"]
    if not effects.latent and at_ns > fault["healed_ns"] + AFTERMATH_S * 10**9:
        return False
    met = fault["planned_ns"] <= at_ns and (start is None or start["earliest_ns"] <= fault["healed_ns"])
    return met and (name in targets or targets == [ZOOKEEPER])


def _may_refuse(step: StepLine, start: ServerRow, at_ns: int) -> bool:
    """Whether a step began this boot and let it end on its own then."""
    params = step.get("params") or {}
    allowed = step.get("step") == "start" and params.get("expect", "ready") != "ready"
    if not allowed or params.get("target") != start["server"]:
        return False
    began_ns, ended_ns = step.get("began_ns", NEVER), step.get("ended_ns", NEVER)
    limit_s = params.get("timeout_s") if params.get("wait") is False else None
    if isinstance(limit_s, int | float) and at_ns > ended_ns + limit_s * 10**9:
        return False
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


def histories_cut(found: Mapping[SegmentFile, Segment], servers: Iterable[ServerRow]) -> Iterator[str]:
    """Torn halves of a client that exited with 0, fewer slots or outcomes than a client reported, more ends.

    Clients of older releases did not count their outcomes, or reported nothing: where one of a run reported,
    each that exited with 0 did.
    """
    held: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for file, segment in found.items():
        held[file.client, file.boot].update(slots=segment.slots, torn=segment.torn, ended=segment.ended)
    ends = [row for row in servers if row["event"] in ("exit", RECORDED)]
    reported = {(row["server"], row["boot"]) for row in ends if row["event"] == RECORDED}
    for row in ends:
        boot, detail = (row["server"], row["boot"]), json.loads(row["detail"])
        name, counts = f"{tables_of(row['server'])}: {row['server']} boot {row['boot']}", held[boot]
        if row["event"] == RECORDED:
            slots, ended = detail.get("slots"), detail.get("ended", 0)
            if not (isinstance(slots, int) and slots <= counts["slots"]):
                yield f"{name} reported {slots} slots at its end, its files hold {counts['slots']}"
            elif ended > counts["ended"]:
                yield f"{name} reported {ended} outcomes at its end, its files hold {counts['ended']}"
            if again := detail.get("repeated"):
                yield (
                    f"{name} was told {again} more ends of operations that had ended, "
                    "and they are not recorded"
                )
        elif detail.get("code") == 0:
            if counts["torn"]:
                yield f"{name} exited with 0, and {counts['torn']} halves of its slots are torn"
            if counts["slots"] and reported and boot not in reported:
                yield f"{name} exited with 0, and what it reported at its end is not recorded"


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
        name, boot = row["server"], row["boot"]
        if row["event"] != "exit" or name not in bookies:
            continue
        detail = json.loads(row["detail"])
        if not unclean(signal=detail.get("signal"), code=detail.get("code")):
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
