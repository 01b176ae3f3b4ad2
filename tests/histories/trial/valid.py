"""Valid histories by the thousand, generated and simulated: every anomaly here is a false one.

Each source is right in another way: lawful histories are put together so that they are, the
simulator's bookies have journals and lose nothing, the store of logs is serial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from bench.logs.log_histories import Shape, serial
from checkers.judging.judge import judge
from checkers.log.checker import judge_log
from evidence.findings import Verdict
from tests.histories.lawful import lawful
from tests.histories.mutations.boots import lawful_boot
from tests.histories.mutations.disks import two_deaths
from tests.histories.mutations.endings import repaired
from tests.histories.mutations.registry import judged
from tests.histories.network import DROP, DUPLICATE, HOLD, Rule
from tests.histories.simulator import simulated
from tests.histories.story import chunk, kinds_found

BUSY = {"contest": 1.0, "crashes": 4}
RUNS: Mapping[str, dict[str, object]] = {
    "plain": {},
    "contested": BUSY,
    "fencing dropped": {**BUSY, "fences_dropped": 0.4},
    "late and twice": {**BUSY, "rules": (Rule(HOLD, chance=0.1), Rule(DUPLICATE, chance=0.2))},
    "answers dropped": {**BUSY, "rules": (Rule(DROP, answers=True, chance=0.1),)},
    "old protocol": {**BUSY, "old_protocol": True, "rules": (Rule(DUPLICATE, chance=0.2),)},
    "deferred": {"contest": 1.0, "late": True, "crashes": 0},
    "striped": {**BUSY, "shape": (5, 3, 2), "bookies": 7},
    "ack quorum of one": {**BUSY, "shape": (4, 2, 1)},
    "all of three": {**BUSY, "shape": (3, 3, 3)},
    "versions unseen": {**BUSY, "coalesced": True},
    "copies collected": {**BUSY, "collects": True},
    "limbo, one crash": {"losses": True, "limbo": True, "crashes": 1, "flushes": False},
}
SMALL = Shape(200, processes=5, open_logs=4, appends_to_a_log=12)
Judged = tuple[frozenset[str], str, int]
"""What was found, the verdict, and how many rows there were."""


def of_simulation(seed: int) -> Judged:
    """One simulated run; the variants take turns."""
    names = list(RUNS)
    simulation = simulated(seed, **RUNS[names[seed % len(names)]])
    history = simulation.history()
    verdict = judge([chunk(history)], simulation.facts())
    return kinds_found(verdict), verdict.verdict.value, len(history)


def of_generator(seed: int) -> Judged:
    """One lawful history, of one client or another's making."""
    case = lawful(Random(seed))
    verdict = judge([chunk(case.history)], case.run)
    return kinds_found(verdict), verdict.verdict.value, len(case.history)


def of_cases(seed: int) -> Judged:
    """The lawful cases that operators start from; losses that the plan allows for are none."""
    of, only = ((two_deaths, ()), (repaired, ("replicas", "availability")), (lawful_boot, ("servers",)))[
        seed % 3
    ]
    case = of(Random(seed))
    signs, verdict = judged(case.history, case.run, only=only)
    found = frozenset(sign.name for sign in signs) if verdict is Verdict.ANOMALY else frozenset[str]()
    return found, verdict.value, len(case.history)


def of_logs(seed: int) -> Judged:
    """One history of a serial store of logs."""
    given = serial(SMALL, seed)
    judgement = judge_log(given)
    found = frozenset(f"log/{one.kind}" for one in judgement.findings)
    return found, judgement.verdict.value, len(given)


SOURCES: Mapping[str, tuple[Callable[[int], Judged], float]] = {
    "simulated runs": (of_simulation, 0.4),
    "generated histories": (of_generator, 0.4),
    "lawful cases of the operators": (of_cases, 0.1),
    "histories of logs": (of_logs, 0.1),
}
"""A source's name -> one history of a seed, judged, and its share of all."""


@dataclass
class Clean:
    """The results of one source's histories; ``flagged`` are (seed, findings)."""

    source: str
    histories: int = 0
    rows: int = 0
    valid: int = 0
    flagged: list[tuple[int, frozenset[str]]] = field(default_factory=list)

    def add(self, seed: int, judged: Judged) -> None:
        found, verdict, rows = judged
        self.histories += 1
        self.rows += rows
        self.valid += verdict == "valid"
        if found:
            self.flagged.append((seed, found))


def clean(number: int, *, first_seed: int = 0) -> Iterator[Clean]:
    """Judge a number of valid histories of all sources."""
    for source, (one, share) in SOURCES.items():
        result = Clean(source)
        for seed in range(first_seed, first_seed + max(1, round(number * share))):
            result.add(seed, one(seed))
        yield result


def lines(results: list[Clean]) -> Iterator[str]:
    """The table, then each false anomaly with its seed, then the sum."""
    yield "| source | histories | rows | flagged | verdict valid | verdict unknown |"
    yield "|---|---:|---:|---:|---:|---:|"
    for one in results:
        unknown = one.histories - one.valid - len(one.flagged)
        yield (
            f"| {one.source} | {one.histories:,} | {one.rows:,} | {len(one.flagged)} | "
            f"{one.valid:,} | {unknown:,} |"
        )
    yield ""
    for one in results:
        for seed, found in one.flagged:
            yield f"flagged: {one.source}, seed {seed}: {', '.join(sorted(found))}"
    flagged, histories = sum(len(one.flagged) for one in results), sum(one.histories for one in results)
    yield f"{flagged:,} of {histories:,} valid histories were flagged"
