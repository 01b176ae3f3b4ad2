"""The result of a campaign, in the order of its reports, which are made of this. Data only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from checkers.facts.wording import counted
from harness.campaigns.differences import Change
from harness.campaigns.matrix import Measured
from harness.experiments.outcomes import Outcome, Status, counts
from plans.campaign import Campaign
from reports.text import BUSY


@dataclass(frozen=True)
class Group:
    """The runs of one scenario on one release in one mode."""

    scenario: str
    version: str
    mode: str
    outcomes: Sequence[Outcome]

    @property
    def fine(self) -> int:
        """Number of runs that were as expected."""
        return sum(one.came is Status.AS_EXPECTED for one in self.outcomes)

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
        return [Group(*key, outcomes) for key, outcomes in sorted(found.items())]
