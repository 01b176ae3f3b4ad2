"""``fencepost doctor``: what this machine lacks, and what a configuration ignores."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import BOOKIE_CONF
from harness.verbs import typed


@click.command("doctor")
@BOOKIE_CONF
@click.option(
    "--bookkeeper",
    "version",
    metavar="VERSION",
    help="BookKeeper release to check the configuration against.",
)
def command(bookie_conf: Path | None, version: str | None) -> int:
    """Check this machine (JDK, memory, disk, addresses and more), and with --bookie-conf a configuration."""
    from cluster.advice import configuration_warnings
    from cluster.doctor import checks
    from cluster.known_findings import of_parts
    from cluster.releases.versions import DEFAULT_VERSION
    from cluster.value_rules import refused_values
    from cluster.value_types import invalid_values
    from harness.request import properties_of
    from protocol.wording import counted

    if version is not None and bookie_conf is None:
        raise click.UsageError("--bookkeeper goes with --bookie-conf, which it is compared with")
    marks = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}
    found, invalid = checks(), list[str]()
    for check in found:
        click.echo(f"{marks[check.state]}  {check.name}: {check.seen}")
        if check.state != "ok" and check.remedy:
            click.echo(typed(f"      {check.remedy}"))
    if bookie_conf is not None:
        chosen = version or DEFAULT_VERSION
        conf = properties_of(bookie_conf)
        warnings = configuration_warnings(conf, chosen)
        number = counted(len(warnings), "warning") if warnings else "no setting to warn of"
        click.echo(f"{bookie_conf} with BookKeeper {chosen}: {number}; findings that apply are below")
        for warning in warnings:
            click.echo(f"warn  {warning}")
        invalid = [*invalid_values(conf), *refused_values(conf, chosen)]
        for wrong in invalid:
            click.echo(f"FAIL  {bookie_conf}: {wrong}; no bookie starts with it")
        for line in of_parts(conf, chosen):
            click.echo(f"      {line}")
    return 2 if invalid or any(check.state == "fail" for check in found) else 0
