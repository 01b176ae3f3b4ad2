"""A campaign's report in Markdown, for a job's summary page, and as annotations of a CI service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.campaigns.conclusion import Conclusion, Group
from harness.campaigns.differences import Change
from harness.campaigns.matrix import table
from harness.experiments.outcomes import Outcome, Status

_LEVELS = {Status.ANOMALY: "error", Status.ERROR: "error", Status.HUNG: "error", Status.UNKNOWN: "error"}


def markdown(told: Conclusion) -> str:
    """The whole page: what was decided, what is to be done, what changed, and a line for each scenario."""
    lines = [f"# {told.title}", ""]
    if told.campaign.about:
        lines += [told.campaign.about, ""]
    lines += [" ".join([told.counted, *told.load]), ""]
    lines += [*_failures(told.failed), *_changes(told.changed), *_scenarios(told.groups)]
    if told.cells:
        lines += ["", *table(told.cells)]
    return "\n".join(lines).rstrip() + "\n"


def notices(outcomes: Sequence[Outcome], *, unknown_warns: bool) -> Iterator[str]:
    """Workflow commands for what is to be done, one a line, each at the scenario's file."""
    for one in outcomes:
        level = _LEVELS.get(one.came)
        if level is None:
            continue
        if one.came is Status.UNKNOWN and unknown_warns:
            level = "warning"
        file = f"scenarios/{one.scenario}.yaml"
        yield f"::{level} file={file},title={_property(one.name)}::{_data(f'{one.came}: {one.why}')}"


def _failures(failed: Sequence[Outcome]) -> Iterator[str]:
    if not failed:
        return
    yield from ("## To be looked at", "", "| run | result | why | repeat it |", "|---|---|---|---|")
    for one in failed:
        repeat = f"`{one.repeat}`" if one.repeat else ""
        yield f"| {one.name} | {one.came} | {_cell(one.why)} | {repeat} |"
    yield ""


def _changes(changed: Sequence[Change]) -> Iterator[str]:
    if not changed:
        return
    yield from ("## Since the last time", "", "| run | before | now |", "|---|---|---|")
    for one in changed:
        yield f"| {one.now.name} | {one.before or 'not run'} | {one.now.came} |"
    yield ""


def _scenarios(groups: Sequence[Group]) -> Iterator[str]:
    if not groups:
        return
    yield from (
        "## Scenarios",
        "",
        "| scenario | release | mode | as expected | seconds |",
        "|---|---|---|---|---|",
    )
    for one in groups:
        fine = f"{one.fine} of {len(one.outcomes)}"
        yield f"| {one.scenario} | {one.version} | {one.mode} | {fine} | {one.took_s:.1f} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
