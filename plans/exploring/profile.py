"""A profile: what a generated plan is drawn from. A YAML file, read with the errors of plans.

One value of a list is drawn (a repeated value is twice as likely), any number of a range, one name
of weights. Nothing here draws.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from plans.cluster import QuorumsText
from plans.exploring.faults import KINDS
from plans.grammar.names import AnyMode, Params, Range
from plans.reading.document import parse_file
from plans.reading.mistakes import checked, modelled
from plans.reading.nearest import unknown
from plans.versions import parts

DEFAULT = Path(__file__).parent / "default.yaml"
THE_DEFAULT_RELEASE = "default"
NO_LOAD = "none"
LOADS = (NO_LOAD, "append", "recovery", "failover", "striped", "forced", "churn")

Release = Annotated[str, checked(lambda value: value == THE_DEFAULT_RELEASE or parts(value))]
Fraction = Annotated[float, Field(ge=0, le=1)]
SettingChoices = dict[str, Annotated[tuple[bool | int | float | str, ...], Field(min_length=1)]]
"""BookKeeper's name of a setting -> the values of which each cluster has one."""
Weights = dict[str, Annotated[float, Field(ge=0)]]


def _of(what: str, known: Collection[str]) -> AfterValidator:
    """Refuses weights of others than ``known``, and those by which none could be drawn."""

    def check(value: Weights) -> None:
        for name in value:
            if name not in known:
                raise ValueError(unknown(what, name, known))
        if not any(value.values()):
            raise ValueError(f"no {what} has a weight above 0, so none could be drawn")

    return checked(check)


class Deviations(Params):
    """Settings that differ from their default in few clusters: ``number`` of these groups are drawn for each.

    The settings of a group are drawn together. A group is left out when it has another value for a setting
    that the cluster has already.
    """

    number: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1)
    bookie_conf: tuple[SettingChoices, ...]
    client_conf: tuple[SettingChoices, ...]


class ClusterChoices(Params):
    """Shapes of clusters; a cluster has as many bookies as the ensemble and ``spare_bookies``.

    Only in ``own_disks_fraction`` of them the bookies have disks that can lose power. A journal on the
    same disk as the ledgers writes their data down with each of its syncs, so less is lost then.
    """

    quorums: tuple[QuorumsText, ...] = Field(min_length=1)
    spare_bookies: tuple[Annotated[int, Field(ge=0, le=3)], ...] = Field(min_length=1)
    versions: tuple[Release, ...] = Field(min_length=1)
    bookie_conf: SettingChoices
    autorecovery: tuple[Annotated[int, Field(ge=0, le=2)], ...] = Field(min_length=1)
    client_conf: SettingChoices
    own_disks_fraction: Fraction
    journal_disk: tuple[Literal["shared", "own"], ...] = Field(min_length=1)
    commit_s: tuple[Annotated[int, Field(ge=1, le=3600)], ...] = Field(min_length=1)
    deviations: Deviations | None = None


class WorkloadChoices(Params):
    """A background load, and open, idle ledgers: their last entries are in memory only."""

    loads: Annotated[Weights, _of("load", LOADS)]
    writers: tuple[Literal[1, 2], ...] = Field(min_length=1)
    rate_per_s: tuple[Annotated[float, Field(gt=0)], ...] = Field(min_length=1)
    entries_per_ledger: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1)
    entry_bytes: tuple[Annotated[int, Field(ge=64)], ...] = Field(min_length=1)
    quiet_ledgers: tuple[Annotated[int, Field(ge=1, le=20)], ...] = Field(min_length=1)
    quiet_entries: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1)
    recovered_fraction: Fraction
    recovered_twice_fraction: Fraction
    written_again_fraction: Fraction
    written_on_fraction: Fraction
    written_late_fraction: Fraction
    tailed_fraction: Fraction
    deleted_fraction: Fraction


class ScheduleChoices(Params):
    """Bursts of faults with calm between them. In ``last_kills_fraction`` of the plans, each bookie is
    killed once more at the end where the limit allows it. Each kind of fault is in ``kinds_fraction`` of
    the plans.

    Of the faults that let others wait for an answer, ``long_fraction`` lasts ``long_s``: longer than
    clients wait for an add, some longer than a session with ZooKeeper.

    ``aimed_fraction`` of the faults hit a client that acts, when it acts. In ``uneven_fraction`` of the
    bursts, one client's links are slow, each in another way. After ``away_fraction`` of those with
    autorecovery, a bookie is gone for ``away_s``.
    """

    bursts: tuple[Annotated[int, Field(ge=1, le=20)], ...] = Field(min_length=1)
    burst_s: Range
    calm_s: Range
    every_s: Range
    lasts_s: Range
    long_fraction: Fraction
    long_s: Range
    aimed_fraction: Fraction
    uneven_fraction: Fraction
    away_fraction: Fraction
    away_s: Range
    kinds_fraction: Fraction
    at_most_down: int = Field(ge=1)
    last_kills_fraction: Fraction


class Profile(Params):
    """The weights and limits from which ``explore`` draws plans."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    modes: tuple[AnyMode, ...] = Field(min_length=1)
    cluster: ClusterChoices
    workload: WorkloadChoices
    schedule: ScheduleChoices
    faults: Annotated[Weights, _of("fault", KINDS)]


def load_profile(path: Path = DEFAULT) -> Profile:
    """Read and check a profile; ``PlanError`` lists everything that is wrong with it."""
    return modelled(parse_file(path, "profile"), Profile)
