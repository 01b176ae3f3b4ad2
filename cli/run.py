"""``fencepost run``: scenarios on real servers, judged and compared with their expectations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cli.completion import of_cures, of_defects, of_modes, of_scenarios
from cli.options import (
    AS_JSON,
    BOOKIE_CONF,
    CLIENT_CONF,
    JARS,
    MASTER,
    PARALLEL,
    QUIET,
    RELEASE,
    RESULTS,
    chosen_version,
)
from evidence.folder import DEFAULT_BACKEND
from harness.request import RunRequest
from harness.verbs import typed
from protocol.exit_codes import ExitCode


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True, shell_complete=of_scenarios)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    metavar="MODE",
    help="Run only this mode: journal, nosync, unprotected or protected (repeatable); default: every mode of "
    "the plan, or that of --bookie-conf.",
    shell_complete=of_modes,
)
@click.option(
    "--seed", type=int, help="Seed of the random choices; default: a new one, printed with the run."
)
@click.option("--times", type=click.IntRange(1), default=1, help="Number of runs; each uses the next seed.")
@PARALLEL
@click.option("--rounds", type=click.IntRange(1), help="Number of times to run the steps in one cluster.")
@click.option(
    "--backend",
    default=DEFAULT_BACKEND,
    show_default=True,
    metavar="NAME",
    help="Backend of the servers: local (plain processes) or docker (containers).",
)
@RELEASE
@JARS
@BOOKIE_CONF
@CLIENT_CONF
@click.option(
    "--seed-defect",
    "seed_defects",
    multiple=True,
    metavar="NAME[,KEY=VALUE...]",
    shell_complete=of_defects,
    help="Seeded defect for the processes (repeatable); `fencepost list defects` has the names.",
)
@click.option(
    "--cure",
    "cures",
    multiple=True,
    shell_complete=of_cures,
    metavar="NAME",
    help="Cure for the cause of a finding (repeatable); `fencepost list cures` has the names.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of a parameter, a name under `vary` of the plan (repeatable).",
)
@click.option(
    "--pause-on",
    type=click.Choice(["anomaly", "end"]),
    help="Leave the cluster running after an anomaly (or at the end of any run), and say how to inspect it.",
)
@click.option("--dry-run", is_flag=True, help="Check and show what would run, and start nothing.")
@click.option("--keep", is_flag=True, help="Keep the bookies' directories after the run.")
@RESULTS
@MASTER
@QUIET
@AS_JSON
def command(
    scenarios: tuple[str, ...],
    times: int,
    parallel: int,
    version: str | None,
    jars: Path | None,
    settings: tuple[str, ...],
    pause_on: str | None,
    dry_run: bool,
    master: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Run SCENARIOS (names, or paths of YAML files) in each of their modes, and judge each run."""
    from harness.experiments.series import run_series

    if pause_on:
        if parallel > 1:
            raise click.UsageError("--pause-on pauses one run: leave out --parallel")
        if quiet or as_json:
            raise click.UsageError("--pause-on says how to inspect the cluster: leave out --quiet and --json")
        from harness.recording.pausing import require_terminal

        require_terminal()
    options |= {
        "version": chosen_version(version, jars),
        "settings": tuple(_setting(text) for text in settings),
        "pause_on": pause_on or "",
    }
    requests = [RunRequest(scenario, **options) for scenario in scenarios]
    if dry_run:
        from harness.preparing import introduction, prepare

        for prepared in [prepare(request) for request in requests]:
            for text, _ in introduction(prepared, prepared.request.results):
                click.echo(typed(text))
        return ExitCode.AS_EXPECTED
    return run_series(requests, times=times, parallel=parallel, master=master, quiet=quiet, as_json=as_json)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--set takes NAME=VALUE, not {text!r}")
    return name, value
