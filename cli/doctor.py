"""``fencepost doctor``: what this machine lacks, and what a configuration ignores."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import BOOKIE_CONF, release
from harness.verbs import typed


@click.command("doctor")
@BOOKIE_CONF
@release("BookKeeper release to check the configuration against; default: 4.18.0.")
def command(bookie_conf: Path | None, version: str | None) -> int:
    """Check this machine (JDK, memory, disk, addresses and more), and with --bookie-conf a configuration."""
    from cluster.doctor import checks

    if version is not None and bookie_conf is None:
        raise click.UsageError("--bookkeeper needs --bookie-conf: doctor compares that file with the release")
    invalid = 0 if bookie_conf is None else _configuration(bookie_conf, version)
    found = checks()
    shown = found
    if bookie_conf is not None:
        shown = sorted((check for check in found if check.state != "ok"), key=lambda check: check.state)
        if shown:
            click.echo("this machine, for runs of Fencepost:")
    for check in shown:
        _line({"ok": "ok  ", "warn": "warn", "fail": "FAIL"}[check.state], f"{check.name}: {check.seen}")
        _line("    ", check.remedy if check.state != "ok" else "")
    if bookie_conf is not None:
        click.echo("next: docs/how-to/safe-configuration.md#settings-that-protect")
    return 2 if invalid or any(check.state == "fail" for check in found) else 0


def _configuration(path: Path, version: str | None) -> int:
    """Print what the file lacks, what is invalid first; the number of invalid values."""
    from cluster.advice import configuration_warnings
    from cluster.known_findings import of_parts
    from cluster.releases.versions import DEFAULT_VERSION
    from cluster.value_rules import refusals
    from cluster.value_types import mistyped, storage_meant
    from harness.request import properties_of
    from protocol.modes import STORAGE
    from protocol.wording import counted

    chosen = version or DEFAULT_VERSION
    conf = properties_of(path)
    invalid = [*mistyped(conf), *refusals(conf, chosen)]
    if STORAGE in conf and (meant := storage_meant(conf[STORAGE])):
        conf = {**conf, STORAGE: meant}
    warnings = configuration_warnings(conf, chosen)
    numbers = f"{counted(len(invalid), 'invalid value')}, {counted(len(warnings), 'warning')}"
    click.echo(f"{path} with BookKeeper {chosen}: {numbers}")
    for wrong in invalid:
        _line("FAIL", f"{wrong}; no bookie starts with it")
    for said, remedy in warnings:
        _line("warn", said)
        _line("    ", remedy)
    for line in of_parts(conf, chosen):
        _line("    ", line)
    return len(invalid)


def _line(mark: str, text: str) -> None:
    if text:
        click.echo(typed(f"{mark}  {text}"))
