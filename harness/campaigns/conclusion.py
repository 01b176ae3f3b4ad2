"""The result of a campaign, of which its reports are made: its decision, what changed, what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from checkers.facts.wording import counted
from harness.campaigns.matrix import Measured
from harness.experiments.experiment import Outcome, Status, counts
from plans.campaign import Campaign
from protocol.exit_codes import ExitCode
from reports.text import BUSY

_CODES = (
    (Status.ANOMALY, ExitCode.ANOMALY),
    (Status.ERROR, ExitCode.HARNESS),
    (Status.HUNG, ExitCode.HARNESS),
    (Status.UNKNOWN, ExitCode.UNKNOWN),
)


@dataclass(frozen=True)
class Change:
    """One unit with another outcome than the night before; ``before`` is None where it was not run then.

    A unit's key names its plan, so that a changed plan is another unit.
    """

    now: Outcome
    before: Status | None

    @property
    def worse(self) -> bool:
        """Whether it is not as expected now, and was before or was not run."""
        return self.now.came is not Status.AS_EXPECTED and self.before in (None, Status.AS_EXPECTED)


def changes(now: Sequence[Outcome], before: Sequence[Outcome]) -> list[Change]:
    """Every unit of ``now`` with another outcome, the worst first; new units only when they failed."""
    known = {one.key: one.came for one in before}
    found = [
        Change(one, known.get(one.key))
        for one in now
        if one.came is not known.get(one.key, Status.AS_EXPECTED)
    ]
    return sorted(found, key=lambda change: (not change.worse, list(Status).index(change.now.came)))


def decision(
    outcomes: Sequence[Outcome], *, left: int, unfinished_fails: bool, unknown_warns: bool = False
) -> tuple[ExitCode, str]:
    """The exit code and why; ``left`` runs were not started because the time was over.

    Unknown is never a pass, unless the user chose to be only warned; nor is a campaign in which nothing
    ran.
    """
    found = counts(outcomes)
    for came, code in _CODES:
        if came in found and not (came is Status.UNKNOWN and unknown_warns):
            first = next(one for one in outcomes if one.came is came)
            said = "not proven" if came is Status.UNKNOWN else came.value
            return code, f"{counted(found[came], 'run')} {said}; first {first.name}: {first.why}"
    if left and unfinished_fails:
        return ExitCode.UNKNOWN, f"not proven: {counted(left, 'run')} not started in time"
    if Status.AS_EXPECTED not in found:
        return ExitCode.UNKNOWN, "not proven: no run reached its end"
    return ExitCode.AS_EXPECTED, "as expected"


@dataclass(frozen=True)
class Group:
    """The runs of one scenario on one release in one mode, which are its ``key``."""

    key: tuple[str, str, str]
    outcomes: Sequence[Outcome]

    @property
    def as_expected(self) -> str:
        """``2 of 3``."""
        fine = sum(one.came is Status.AS_EXPECTED for one in self.outcomes)
        return f"{fine} of {len(self.outcomes)}"

    @property
    def took_s(self) -> float:
        """Seconds that a run took, the mean."""
        return sum(one.took_s for one in self.outcomes) / len(self.outcomes)


@dataclass(frozen=True)
class Conclusion:
    """``decided`` is why the exit code is what it is, ``left`` counts runs that there was no time for."""

    campaign: Campaign
    outcomes: Sequence[Outcome]
    changed: Sequence[Change]
    left: int
    decided: str
    cells: Sequence[Measured] = ()

    @property
    def title(self) -> str:
        """The campaign's name and its decision."""
        return f"Campaign {self.campaign.name}: {self.decided}"

    @property
    def counted(self) -> str:
        """Number of runs by outcome, and of runs that were not started."""
        told = [f"{number} {came}" for came, number in counts(self.outcomes).items()]
        unfinished = f"; {counted(self.left, 'run')} not started in time" if self.left else ""
        return f"{counted(len(self.outcomes), 'run')}: {', '.join(told) or 'none'}{unfinished}."

    @property
    def load(self) -> list[str]:
        """What the runs took of the processor, and how many ran while the machine was busy."""
        spent = [one.cpu_s for one in self.outcomes if one.cpu_s is not None]
        if not spent:
            return []
        of = "" if len(spent) == len(self.outcomes) else f" of {len(spent)} of {len(self.outcomes)} runs"
        lines = [f"Processor time{of}: {sum(spent):.0f} s in all, {median(spent):.1f} s for a run (median)."]
        busy = sum((one.cpu_pressure or 0) > BUSY for one in self.outcomes)
        waited = f"processes waited for a core more than {BUSY * 100:.0f} % of the time"
        if all(one.cpu_pressure is None for one in self.outcomes):
            lines += ["How long processes waited for a core is unknown on this machine."]
        elif busy:
            lines += [f"{busy} of {counted(len(self.outcomes), 'run')} had a busy machine: {waited}."]
        return lines

    @property
    def failed(self) -> list[Outcome]:
        """What is to be looked at, the worst first."""
        order = list(Status)
        found = [one for one in self.outcomes if one.came is not Status.AS_EXPECTED]
        return sorted(found, key=lambda one: order.index(one.came))

    @property
    def groups(self) -> list[Group]:
        """Every scenario, release and mode, sorted."""
        found: dict[tuple[str, str, str], list[Outcome]] = {}
        for one in self.outcomes:
            found.setdefault((one.scenario, one.version, one.mode), []).append(one)
        return [Group(key, outcomes) for key, outcomes in sorted(found.items())]
