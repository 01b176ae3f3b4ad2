"""What clients do in a generated plan: a background load, and quiet ledgers.

A quiet ledger gets few entries and then stays open and idle: its last entries are only in the memory
of bookies, and no later add carries their acknowledgement (LAC) to the bookies. The effect of a crash on
such a ledger shows when it is recovered, by a client or at the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from random import Random

from plans.cluster import quorum_keys
from plans.exploring.profile import NO_LOAD, WorkloadChoices
from plans.exploring.seeds import between, pick
from plans.exploring.strokes import weighted
from plans.reading.document import Tree
from protocol.quorums import Quorums

LOAD = "load1"
WRITER, OPENER = "idler", "opener"
"""Who writes quiet ledgers, and who recovers them; no fault ends these two."""
_RECOVER_S = 30
_ENTRIES_AGAIN = 5


@dataclass(frozen=True, slots=True)
class Work:
    """The load's step (None without a load) and the clients that it needs."""

    load: Tree | None
    loading: tuple[str, ...]

    @property
    def name(self) -> str:
        """The kind of load."""
        return NO_LOAD if self.load is None else str(self.load["workload"])

    @property
    def clients(self) -> tuple[str, ...]:
        """All clients of the plan."""
        return (*self.loading, WRITER, OPENER)


def draw_work(random: Random, choices: WorkloadChoices, quorums: Quorums, *, bookies: int, v2: bool) -> Work:
    """A load that fits the cluster's shape."""
    fitting = [(name, weight) for name, weight in choices.loads.items() if _fits(name, quorums, bookies, v2)]
    name = weighted(random, fitting) if any(weight for _, weight in fitting) else NO_LOAD
    writers = tuple(f"w{number}" for number in range(1, pick(random, choices.writers) + 1))
    rate, full = pick(random, choices.rate_per_s), pick(random, choices.entries_per_ledger)
    size = pick(random, choices.entry_bytes)
    if name == NO_LOAD:
        return Work(None, ())
    roles = _roles(name, writers)
    load = {
        "workload": name,
        "as": LOAD,
        **roles,
        **quorum_keys(quorums),
        "rate_per_s": rate,
        "entries_per_ledger": full,
        "entry_bytes": size,
    }
    named = (value if isinstance(value, list) else [value] for value in roles.values())
    return Work(load, tuple(dict.fromkeys(client for clients in named for client in clients)))


def _fits(name: str, quorums: Quorums, bookies: int, v2: bool) -> bool:
    if name == "striped":
        return quorums.write < quorums.ensemble < bookies
    return not (name == "forced" and v2)


def _roles(name: str, writers: tuple[str, ...]) -> Tree:
    if name == "recovery":
        return {"writers": list(writers), "recoverers": ["r1", "r2"]}
    if name == "failover":
        return {"writers": ["w1", "w2"]}
    deleter = {"deleter": "d1"} if name == "churn" else {}
    return {"writers": list(writers), "readers": ["r1"], "closer": "c1", **deleter}


def quiet_ledgers(
    random: Random, choices: WorkloadChoices, quorums: Quorums, *, first: int, burst_s: float
) -> tuple[list[Tree], list[Tree]]:
    """How a burst's quiet ledgers (from ``q<first>`` on) begin before it, and what is done to them in it.

    Every other one gets its entries before the faults begin, when nothing hinders.
    """
    begins: list[Tree] = []
    acts: list[tuple[float, Tree]] = []
    for number in range(first, first + pick(random, choices.quiet_ledgers)):
        ledger = f"q{number}"
        begins.append({"create": {"client": WRITER, "ledger": ledger, **quorum_keys(quorums)}})
        added, *later = _life(random, choices, ledger, burst_s)
        if (number - first) % 2:
            acts.append(added)
        else:
            begins.append({"append": added[1]["append"]})
        acts += later
    return begins, [act for _, act in sorted(acts, key=itemgetter(0))]


def _life(
    random: Random, choices: WorkloadChoices, ledger: str, burst_s: float
) -> Iterator[tuple[float, Tree]]:
    """The acts on one ledger, each with the exact time for which it was drawn."""
    added_s = between(random, 0, burst_s / 3)
    entries = {
        "entries": pick(random, choices.quiet_entries),
        "entry_bytes": pick(random, choices.entry_bytes),
    }
    recovered_s = between(random, added_s, burst_s)
    again_s = between(random, recovered_s, burst_s)
    recovered = random.random() < choices.recovered_fraction
    again = random.random() < choices.written_again_fraction
    writer = {"client": WRITER, "ledger": ledger}
    yield _act(added_s, "append", {**writer, **entries})
    if recovered:
        opener = {"client": OPENER, "ledger": ledger, "timeout_s": _RECOVER_S}
        yield _act(recovered_s, "recover", opener)
    if again:
        yield _act(again_s, "append", {**writer, "entries": _ENTRIES_AGAIN})


def _act(at_s: float, name: str, params: Tree) -> tuple[float, Tree]:
    """An act of a client that may end anyhow, because faults hinder it."""
    return at_s, {name: params, "at_s": round(at_s, 1), "outcome": "any"}
