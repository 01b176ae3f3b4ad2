"""Figures in a property's judgement, compared with the bounds that a plan states.

Uses neither evidence nor verdicts: the figures are passed by property and name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plans.expectations import Expectation, Measures

Figures = Mapping[str, Mapping[str, int]]
"""Property -> name of a figure -> its value in this run."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure and its bounds; ``value`` is None where the judgement does not contain it."""

    entry: Measures
    value: int | None

    @property
    def outside(self) -> bool:
        """Whether the figure is known and not within its bounds."""
        low, high = self.entry.at_least, self.entry.at_most
        return self.value is not None and not (
            (low is None or low <= self.value) and (high is None or self.value <= high)
        )

    @property
    def met(self) -> bool:
        """Whether the figure is known and within its bounds."""
        return self.value is not None and not self.outside

    @property
    def text(self) -> str:
        """The figure, its value and its bounds, as a phrase."""
        bounds = {"at least": self.entry.at_least, "at most": self.entry.at_most}
        wanted = " and ".join(f"{word} {bound:,}" for word, bound in bounds.items() if bound is not None)
        value = "not known" if self.value is None else f"{self.value:,}"
        return f"{self.entry.figure} of {self.entry.property} is {value}, the plan expects {wanted}"

    @property
    def reason(self) -> str:
        """One sentence: as expected, or what the document says."""
        return f"as expected: {self.text}" if self.met else f"{self.text} ({self.entry.document})"


def measured(entries: Iterable[Expectation], figures: Figures) -> tuple[Measured, ...]:
    """Each ``measures`` among ``entries`` with its figure."""
    return tuple(
        Measured(entry, figures.get(entry.property, {}).get(entry.figure))
        for entry in entries
        if isinstance(entry, Measures)
    )
