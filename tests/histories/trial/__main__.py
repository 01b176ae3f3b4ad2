"""The trial of the checkers, on its own: ``scripts/bench mutation`` and ``scripts/bench valid`` start it."""

from __future__ import annotations

import click

from tests.histories.mutations.every import OPERATORS
from tests.histories.trial import mutation as scoring
from tests.histories.trial import valid as validity

FAILED = 1


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def trial() -> None:
    """Try the checkers on doctored and on valid histories."""


@trial.command()
@click.option(
    "--mutants",
    type=click.IntRange(1),
    default=40,
    show_default=True,
    help="Illegal mutants of each operator.",
)
@click.option("--operator", "names", type=click.Choice(list(OPERATORS)), multiple=True, help="Only these.")
@click.option("--seed", "seeds", type=int, multiple=True, help="Only these seeds.")
def mutation(mutants: int, names: tuple[str, ...], seeds: tuple[int, ...]) -> None:
    """Doctor lawful histories; every illegal mutant has to be caught, by the right findings."""
    tried = list(scoring.tallies(mutants, names, seeds or None))
    for line in scoring.lines(tried):
        click.echo(line)
    missing = [] if names or seeds else scoring.unreached(tried)
    if missing:
        click.echo(f"no operator reaches {', '.join(missing)}")
    wrong = any(tally.wrong for tally in tried) if seeds else not scoring.full(tried)
    raise SystemExit(FAILED if wrong or missing else 0)


@trial.command()
@click.option("--histories", type=click.IntRange(1), default=10_000, show_default=True)
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True)
def valid(histories: int, first_seed: int) -> None:
    """Judge generated and simulated valid histories; none may have an anomaly."""
    results = list(validity.clean(histories, first_seed=first_seed))
    for line in validity.lines(results):
        click.echo(line)
    raise SystemExit(FAILED if any(one.flagged for one in results) else 0)


if __name__ == "__main__":
    trial(prog_name="scripts/bench")
