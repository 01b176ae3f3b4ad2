"""``fencepost run``: scenarios on real servers, judged and compared with what they say should come out."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands.completion import of_scenarios
from harness.order import DEFAULT_BACKEND, Order, default_results


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True, shell_complete=of_scenarios)
@click.option("--mode", "modes", multiple=True, help="Only this mode (repeatable); default: all of the plan.")
@click.option("--seed", type=int, help="Repeat a run's random choices.")
@click.option("--times", type=click.IntRange(1), default=1, help="Run so often; the seed counts up.")
@click.option("--rounds", type=click.IntRange(1), help="Carry out the steps so often in one cluster.")
@click.option(
    "--backend",
    default=DEFAULT_BACKEND,
    show_default=True,
    metavar="NAME",
    help="What runs the servers: local (plain processes) or docker (containers).",
)
@click.option("--bookkeeper", "version", metavar="VERSION", help="BookKeeper's version, for example 4.16.4.")
@click.option(
    "--jars",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="BookKeeper from this folder of jars: a build of your own.",
)
@click.option("--bookie-conf", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--client-conf", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Replace a parameter of the plan."
)
@click.option(
    "--pause-on",
    type=click.Choice(["anomaly", "end"]),
    help="Leave the cluster up where something broke (or always), and say how to look inside.",
)
@click.option("--keep", is_flag=True, help="Keep the bookies' directories.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=None,
    help="Default: FENCEPOST_RESULTS or ./results.",
)
@click.option(
    "--master", metavar="URL", help="Spark's master that judges, spark://HOST:PORT; default: this machine."
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
    jars: Path | None,
    bookie_conf: Path | None,
    client_conf: Path | None,
    settings: tuple[str, ...],
    pause_on: str | None,
    keep: bool,
    results: Path | None,
    master: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run SCENARIOS (names, or paths of YAML files) in their modes and judge each run."""
    from harness.series import run_series

    if pause_on:
        from harness.pausing import require_terminal

        require_terminal()
    version = chosen_version(version, jars)
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
            pause_on=pause_on or "",
        )
        for scenario in scenarios
    ]
    return run_series(orders, times=times, master=master, quiet=quiet, as_json=as_json)


def chosen_version(version: str | None, jars: Path | None) -> str | None:
    """What ``--bookkeeper`` or ``--jars`` asks for; ``UsageError`` for both."""
    if jars is None:
        return version
    if version is not None:
        raise click.UsageError("--bookkeeper names a release, --jars a build of your own: give one of them")
    from cluster.builds import adopt

    return adopt(jars)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--set takes NAME=VALUE, not {text!r}")
    return name, value
