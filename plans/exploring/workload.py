"""What clients do in a generated plan: a background load, and quiet ledgers.

A quiet ledger gets few entries and then stays open and idle: its last entries are only in the memory
of bookies, and no later add carries their acknowledgement (LAC) to the bookies. The effect of a crash on
such a ledger shows when it is recovered, by a client or at the end of the run. Some are not quiet: their
writer goes on, so that adds are in flight whatever happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from random import Random

from plans.cluster import quorum_keys
from plans.exploring.faults import weighted
from plans.exploring.profile import NO_LOAD, WorkloadChoices
from plans.exploring.seeds import between, pick
from plans.reading.document import Tree
from protocol.quorums import Quorums

LOAD = "load1"
WRITER = "idler"
"""Who writes quiet ledgers; no fault ends it, because its handles would be gone."""
OPENERS = OPENER, READER = "opener", "reader"
"""Who recovers quiet ledgers. The second one follows some, and recovers some that the first recovers."""
_RECOVER_S = 30
_ENTRIES_AGAIN = 5
_ON_PER_S = 20
_SECOND_S = 1


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
        return (*self.loading, WRITER, *OPENERS)


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


@dataclass(frozen=True, slots=True)
class QuietLedgers:
    """What is done before a burst, by each client in it (with the times), and at the end of the plan."""

    begins: list[Tree]
    acts: list[tuple[float, Tree]]
    late: list[Tree]

    @property
    def acts_by(self) -> list[tuple[float, str]]:
        """The times of the acts in the burst, and who acts."""
        return [(at_s, _client(act)) for at_s, act in self.acts]

    @property
    def lanes(self) -> list[list[Tree]]:
        """The acts of each client in their order: one client that waits does not delay the others."""
        acts = [act for _, act in sorted(self.acts, key=itemgetter(0))]
        lanes = [[act for act in acts if _client(act) == client] for client in (WRITER, *OPENERS)]
        return [lane for lane in lanes if lane]


def quiet_ledgers(
    random: Random, choices: WorkloadChoices, quorums: Quorums, *, first: int, burst_s: float
) -> QuietLedgers:
    """The quiet ledgers of a burst, from ``q<first>`` on.

    Every other one gets its entries before the faults begin, when nothing hinders.
    """
    drawn = QuietLedgers([], [], [])
    for number in range(first, first + pick(random, choices.quiet_ledgers)):
        ledger = f"q{number}"
        writer = {"client": WRITER, "ledger": ledger}
        drawn.begins.append({"create": {**writer, **quorum_keys(quorums)}})
        if random.random() < choices.tailed_fraction:
            reader = {"client": READER, "ledger": ledger}
            drawn.begins.extend(({"open": reader}, {"tail": reader}))
        added, *later = _life(random, choices, quorums, ledger, burst_s)
        if (number - first) % 2:
            drawn.acts.append(added)
        else:
            drawn.begins.append({"append": added[1]["append"]})
        drawn.acts.extend(later)
        if random.random() < choices.written_late_fraction and not any("delete" in act for _, act in later):
            drawn.late.append({"append": {**writer, "entries": _ENTRIES_AGAIN}, "outcome": "any"})
    return drawn


def _life(
    random: Random, choices: WorkloadChoices, quorums: Quorums, ledger: str, burst_s: float
) -> Iterator[tuple[float, Tree]]:
    """The acts on one ledger, each with the exact time for which it was drawn."""
    added_s = between(random, 0, burst_s / 3)
    entries = {
        "entries": pick(random, choices.quiet_entries),
        "entry_bytes": pick(random, choices.entry_bytes),
    }
    recovered_s = between(random, added_s, burst_s)
    again_s = between(random, recovered_s, burst_s)
    second_s = min(burst_s, recovered_s + between(random, 0, _SECOND_S))
    deleted, recovered, twice, again, on = (
        random.random() < fraction
        for fraction in (
            choices.deleted_fraction,
            choices.recovered_fraction,
            choices.recovered_twice_fraction,
            choices.written_again_fraction,
            choices.written_on_fraction,
        )
    )
    writer = {"client": WRITER, "ledger": ledger}
    yield _act(added_s, "append", {**writer, **entries})
    if deleted:
        yield _act(recovered_s, "delete", {"client": OPENER, "ledger": ledger})
        return
    if on:
        yield _act(added_s, "append", {**writer, **_going_on(quorums, burst_s - added_s)})
    if recovered:
        opened = {"ledger": ledger, "timeout_s": _RECOVER_S}
        yield _act(recovered_s, "recover", {"client": OPENER, **opened})
        if twice:
            yield _act(second_s, "recover", {"client": READER, **opened})
    if again:
        yield _act(again_s, "append", {**writer, "entries": _ENTRIES_AGAIN})


def _going_on(quorums: Quorums, lasts_s: float) -> Tree:
    """Slow adds. With E > WQ only one is in flight: more meet docs/findings/ensemble-change-in-flight.md."""
    one = {} if quorums.ensemble == quorums.write else {"outstanding": 1}
    return {"entries": int(lasts_s * _ON_PER_S) + 1, "rate_per_s": _ON_PER_S, **one, "background": True}


def _act(at_s: float, name: str, params: Tree) -> tuple[float, Tree]:
    """An act of a client that may end anyhow, because faults hinder it."""
    return at_s, {name: params, "at_s": round(at_s, 1), "outcome": "any"}


def _client(act: Tree) -> str:
    return next(str(params["client"]) for params in act.values() if isinstance(params, dict))
