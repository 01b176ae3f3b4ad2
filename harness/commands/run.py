"""``fencepost run``: scenarios on real servers, judged and compared with what they say should come out."""

from __future__ import annotations

from pathlib import Path

import click

from harness.order import Order, default_results


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True)
@click.option("--mode", "modes", multiple=True, help="Only this mode (repeatable); default: all of the plan.")
@click.option("--seed", type=int, help="Repeat a run's random choices.")
@click.option("--times", type=click.IntRange(1), default=1, help="Run so often; the seed counts up.")
@click.option("--rounds", type=click.IntRange(1), help="Carry out the steps so often in one cluster.")
@click.option("--backend", default="local", show_default=True)
@click.option("--bookkeeper", "version", metavar="VERSION", help="BookKeeper's version, for example 4.16.4.")
@click.option("--bookie-conf", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--client-conf", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Replace a parameter of the plan."
)
@click.option("--keep", is_flag=True, help="Keep the bookies' directories.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=None,
    help="Default: FENCEPOST_RESULTS or ./results.",
)
@click.option("--quiet", is_flag=True, help="Only the last line.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
def command(
    scenarios: tuple[str, ...],
    modes: tuple[str, ...],
    seed: int | None,
    times: int,
    rounds: int | None,
    backend: str,
    version: str | None,
    bookie_conf: Path | None,
    client_conf: Path | None,
    settings: tuple[str, ...],
    keep: bool,
    results: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run SCENARIOS (names, or paths of YAML files) in their modes and judge each run."""
    from harness.series import run_series

    orders = [
        Order(
            scenario=scenario,
            modes=modes,
            seed=seed,
            version=version,
            backend=backend,
            bookie_conf=bookie_conf,
            client_conf=client_conf,
            keep=keep,
            results=results or default_results(),
            settings=tuple(_setting(text) for text in settings),
            rounds=rounds,
        )
        for scenario in scenarios
    ]
    return run_series(orders, times=times, quiet=quiet, as_json=as_json)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--set takes NAME=VALUE, not {text!r}")
    return name, value
