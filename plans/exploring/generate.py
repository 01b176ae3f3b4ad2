"""Draws a whole plan from a seed (cluster, workload, schedule), as the tree of a plan file.

The same seed, profile, mode and offered faults give the same plan with every version of Python. Each
part has its own random stream, so that a new key in one part does not change the others. :func:`draw`
accepts any ``Random``, including Hypothesis's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from random import Random

from plans.cluster import quorums_of
from plans.exploring.faults import KINDS, DrawnFault, TargetPool
from plans.exploring.profile import THE_DEFAULT_RELEASE, ClusterChoices, Deviations, Profile
from plans.exploring.schedule import REPAIRING, Limit, draw_burst, elapsed, is_away, lanes, last_kills, quiet
from plans.exploring.seeds import Spread, between, pick, stream
from plans.exploring.workload import LOAD, OPENERS, Work, draw_work, quiet_ledgers
from plans.grammar.names import EACH, bookie_names
from plans.reading.document import Tree
from protocol.addresses import autorecovery_names
from protocol.modes import DB_STORAGE
from protocol.quorums import Quorums
from protocol.wording import counted

_MOST_ENTRIES = 2_000_000
_COLLECTING_MS = 2000
_STORAGE = "ledgerStorageClass"
_IMPATIENT = {"readEntryTimeoutSec": 2, "firstSpeculativeReadTimeout": 200}
"""A silent bookie must not cost 5 s for each answer, or 2 s before the next bookie is asked."""
_SPREAD = {"cluster": 0.618033988749895, "workload": 0.41421356237309515}
"""The parts whose first choice (quorums, load) differs between consecutive seeds; irrational steps."""
REQUIRED = ("durability", "closing", "order", "lac", "metadata")
"""Properties for which every generated plan gives evidence."""
COUNTING = (
    "servers",
    *(f"replicas/{kind}" for kind in ("never_repaired", "not_copied", "not_marked", "unmarked_unrepaired")),
)
"""What else is promised. A copy may lack without a defect: no audit looks for one that a link has dropped."""


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """The requirements of a generated plan.

    ``offered`` are the faults that this machine supports. ``beyond`` is the number of simultaneous copy
    losses to allow beyond what the mode promises to survive. ``mode`` and ``version`` override the profile's.
    """

    offered: Collection[str]
    mode: str | None = None
    version: str | None = None
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What is drawn before the steps, which rest on it."""

    profile: Profile
    mode: str
    cluster: Tree
    quorums: Quorums
    work: Work
    limit: Limit
    weights: Mapping[str, float]
    """Of the kinds of fault that the plan may have."""


def left_out(profile: Profile, offered: Collection[str]) -> list[str]:
    """The kinds of fault that the profile uses and this machine does not support."""
    return [name for name, weight in profile.faults.items() if weight and KINDS[name].needs not in offered]


def generate(profile: Profile, seed: int, options: GenerateOptions) -> Tree:
    """The plan of that seed, as a tree that :func:`plans.load.load_tree` reads."""

    def random(part: str) -> Random:
        name = f"explore/{part}"
        return Spread(seed, name, step=_SPREAD[part]) if part in _SPREAD else stream(seed, name)

    return draw(profile, random, options, origin=f"seed {seed}")


def draw(
    profile: Profile, randoms: Callable[[str], Random], options: GenerateOptions, *, origin: str
) -> Tree:
    """Draw each part of a plan from its own random stream, which ``randoms`` returns for its name."""
    drawn_mode = pick(randoms("mode"), profile.modes)
    mode = options.mode or drawn_mode
    cluster, quorums, disks = _cluster(randoms("cluster"), profile.cluster, options)
    if mode in REPAIRING and _STORAGE in cluster["bookie_conf"]:
        cluster["bookie_conf"][_STORAGE] = DB_STORAGE  # With another one no bookie starts after a crash.
    if profile.cluster.deviations is not None:
        _deviate(randoms("deviations"), profile.cluster.deviations, cluster)
    cluster["client_conf"] = {**_IMPATIENT, **cluster["client_conf"]}
    work = draw_work(
        randoms("workload"),
        profile.workload,
        quorums,
        bookies=cluster["bookies"],
        v2=cluster["client_conf"].get("useV2WireProtocol", False),
    )
    if work.name == "churn" or profile.workload.deleted_fraction:
        cluster["bookie_conf"].setdefault("gcWaitTime", _COLLECTING_MS)
    limit = Limit(mode, quorums.ack, beyond=options.beyond)
    weights = _weights(randoms("faults"), profile, options, disks=disks)
    drawn = _Drawn(profile, mode, cluster, quorums, work, limit, weights)
    return {
        "name": f"explore/{profile.name}",
        "source": {"document": "fencepost explore", "section": f"profile {profile.name}, {origin}"},
        "about": _about(drawn, origin),
        "cluster": cluster,
        "clients": list(work.clients),
        "modes": [mode],
        "required": list(REQUIRED),
        "counting": list(COUNTING),
        "control": {"nothing": "a search: that nothing was found proves nothing"},
        **({"allowance": {mode: {EACH: _MOST_ENTRIES}}} if options.beyond else {}),
        "steps": _steps(randoms("schedule"), drawn),
        "expect": {mode: ["holds"]},
    }


def _weights(random: Random, profile: Profile, options: GenerateOptions, *, disks: bool) -> dict[str, float]:
    """Of the kinds of fault that the cluster supports, a random part, at least one.

    Source: A. Groce et al., "Swarm Testing", ISSTA 2012. Plans that lack some kinds find more than plans that
    all have all of them: a kind may prevent what another one needs, and is rare where it has little weight.
    """
    lacking = set(left_out(profile, options.offered)) | (set() if disks else {"power_loss"})
    possible = {name: weight for name, weight in profile.faults.items() if weight and name not in lacking}
    kept = [
        name
        for name in possible
        if random.random() < profile.schedule.kinds_fraction or name == "power_loss"  # the disks are for it
    ]
    if possible and not kept:
        kept = [pick(random, list(possible))]
    return {name: possible[name] for name in kept}


def _cluster(random: Random, choices: ClusterChoices, options: GenerateOptions) -> tuple[Tree, Quorums, bool]:
    quorums = quorums_of(pick(random, choices.quorums))
    spare = pick(random, choices.spare_bookies)
    version = pick(random, choices.versions)
    bookie_conf = {name: pick(random, values) for name, values in choices.bookie_conf.items()}
    autorecovery = pick(random, choices.autorecovery)
    client_conf = {name: pick(random, values) for name, values in choices.client_conf.items()}
    disks = random.random() < choices.own_disks_fraction and "power_loss" in options.offered
    own = {"journal": pick(random, choices.journal_disk), "commit_s": pick(random, choices.commit_s)}
    version = options.version or version
    tree: Tree = {
        "bookies": quorums.ensemble + spare,
        **({} if version == THE_DEFAULT_RELEASE else {"version": version}),
        "bookie_conf": bookie_conf,
        "client_conf": client_conf,
        **({"autorecovery": autorecovery} if autorecovery else {}),
        **({"disks": own} if disks else {}),
    }
    return tree, quorums, disks


def _deviate(random: Random, choices: Deviations, cluster: Tree) -> None:
    """Add the drawn number of groups of settings, none of which contradicts a setting of the cluster."""
    groups = [
        *((cluster["bookie_conf"], group) for group in choices.bookie_conf),
        *((cluster["client_conf"], group) for group in choices.client_conf),
    ]
    missing = pick(random, choices.number)
    while missing and groups:
        conf, group = groups.pop(groups.index(pick(random, groups)))
        if all(conf.get(name, values[0]) in values for name, values in group.items()):
            conf |= {name: pick(random, values) for name, values in group.items() if name not in conf}
            missing -= 1


def _steps(random: Random, drawn: _Drawn) -> list[Tree]:
    choices, bookies = drawn.profile.schedule, bookie_names(drawn.cluster["bookies"])
    work, limit, weights = drawn.work, drawn.limit, drawn.weights
    repairing = tuple(autorecovery_names(drawn.cluster.get("autorecovery", 0)))
    pool = TargetPool(bookies, (*work.loading, *OPENERS), work.clients, repairing)
    steps: list[Tree] = [] if work.load is None else [{"load": work.load}]
    late: list[Tree] = []
    ledgers = 0
    for _ in range(pick(random, choices.bursts)):
        burst_s = round(between(random, *choices.burst_s), 1)
        quiet_ones = quiet_ledgers(
            random, drawn.profile.workload, drawn.quorums, first=ledgers + 1, burst_s=burst_s
        )
        ledgers += sum("create" in step for step in quiet_ones.begins)
        planned: list[DrawnFault] = []
        if weights:
            acts = quiet_ones.acts_by
            planned = draw_burst(random, choices, weights, pool, limit, burst_s=burst_s, acts=acts)
        calm_s = round(between(random, *choices.calm_s), 1)
        branches = [*quiet_ones.lanes, *lanes(planned), [elapsed(burst_s)]]
        steps += [*quiet_ones.begins, {"together": branches}, {"heal": {}}, quiet(), elapsed(calm_s)]
        limit.quiet()
        away = random.random() < choices.away_fraction
        steps += is_away(random, choices, bookies) if away and repairing and weights else []
        late += quiet_ones.late
    last = random.random() < choices.last_kills_fraction
    steps += [] if work.load is None else [{"end_load": {"as": LOAD}}]
    return [*steps, *(last_kills(bookies, limit) if last else []), *late]


def _about(drawn: _Drawn, origin: str) -> str:
    quorums = drawn.quorums
    shape = f"E{quorums.ensemble} WQ{quorums.write} AQ{quorums.ack} on {drawn.cluster['bookies']} bookies"
    return (
        f"Drawn from the profile {drawn.profile.name} by {origin}: {shape}, mode {drawn.mode}, "
        f"load {drawn.work.name}. "
        f"At most {counted(drawn.limit.most, 'bookie')} may have lost copies at a time."
    )
