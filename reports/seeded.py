"""The first lines of each report of a run of a modified BookKeeper, so that no release is blamed for it."""

from __future__ import annotations

from evidence.folder import RunFolder
from evidence.seeding import MOST_REPORTED, Seeded, seeded
from plans.defects import NONE, ordered

_MODIFIED = "MODIFIED BookKeeper, not a release"
_UNCHANGED = "Unchanged BookKeeper with the agent"


def announced(order: str) -> str:
    """The first line about an order, before anything has run."""
    change = ordered(order)
    return _UNCHANGED if change is NONE else f"{_MODIFIED}: {change.kind} {order}"


def seeded_lines(folder: RunFolder) -> list[str]:
    """One line for each defect and cure of the run, with how often it acted; none for a release as it is."""
    return [f"{announced(one.order)} {acts_phrase(one)}" for one in seeded(folder)]


def acts_phrase(one: Seeded) -> str:
    """How often a defect or cure acted, by process, as the logs of the run report it."""
    if one.name == NONE.name:
        return f"(loaded in {one.installed or 'no'} boots)"
    acted = {process: count for process, count in sorted(one.acts.items()) if count}
    if acted:
        each = ", ".join(f"{process} {_count(count)}" for process, count in acted.items())
        return f"acted ({each})"
    if not one.installed:
        return "was not installed in any process whose log is here; the run says nothing about it"
    return "never acted; the run says nothing about it"


def _count(count: int) -> str:
    return f"{count} times" if count < MOST_REPORTED else f"{count} times or more"
