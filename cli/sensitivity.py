"""``fencepost sensitivity``: which seeded defects a campaign finds, and which it misses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cli.completion import of_campaigns
from cli.options import FILE, PARALLEL, QUIET, RESULTS, START_UNTIL, release


@click.command("sensitivity")
@click.option(
    "--campaign",
    "name",
    default="gate",
    show_default=True,
    metavar="NAME",
    shell_complete=of_campaigns,
    help="The campaign: `gate`, `nightly`, `explore`, another, or a YAML file.",
)
@click.option(
    "--defect",
    "names",
    multiple=True,
    metavar="NAME",
    help="A seeded defect to try (repeatable; default: all); `fencepost list defects` has the names.",
)
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="NAME",
    help="Run only this scenario of the campaign (repeatable).",
)
@release("BookKeeper release to run.")
@START_UNTIL
@click.option("--new", is_flag=True, help="Start a new table instead of continuing an unfinished one.")
@PARALLEL
@click.option("--markdown", type=FILE, help="Markdown file to write the table to.")
@RESULTS
@QUIET
def command(
    name: str,
    names: tuple[str, ...],
    scenarios: tuple[str, ...],
    version: str | None,
    results: Path,
    **options: Any,
) -> int:
    """Run a campaign with each seeded defect, one after the other, until a run shows an anomaly.

    Each run is stored when it ends, so that it can be killed and started again at any time. The table says
    for each defect: caught, noticed (unknown or an error only), missed, or never acted. Exit codes: 0 each
    defect was tried to its end, whatever was found; 1 a run ended early before its defect acted, and no other
    run caught the defect; 3 the time was up before, or this machine cannot try a defect.
    """
    from harness.campaigns.listing import units_of
    from harness.campaigns.sensitivity import Options, measure
    from plans.campaign import load_campaign
    from plans.defects import defects
    from plans.reading.nearest import unknown

    for wanted in names:
        if wanted not in defects():
            raise click.UsageError(
                unknown("seeded defect", wanted, defects(), listing="fencepost list defects")
            )
    campaign = load_campaign(name)
    place = results / "sensitivity" / campaign.name
    units = units_of(campaign.model_copy(update={"matrix": None}), plans=place / "plans", version=version)
    known = {unit.scenario for unit in units}
    for scenario in set(scenarios) - known:
        raise click.UsageError(unknown("scenario of the campaign", scenario, known))
    units = [unit for unit in units if not scenarios or unit.scenario in scenarios]
    about = f"the campaign {campaign.name}" + (f" ({', '.join(scenarios)})" if scenarios else "")
    run_s = campaign.limits.run_s
    chosen = names or tuple(defects())
    return measure(units, chosen, place, Options(**options), about=about, run_s=run_s)
