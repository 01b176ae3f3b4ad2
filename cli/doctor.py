"""``fencepost doctor``: what this machine lacks, and what a configuration ignores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import BOOKIE_CONF, CLIENT_CONF, release
from harness.verbs import typed

if TYPE_CHECKING:
    from cluster.known_findings import Advice


@click.command("doctor")
@BOOKIE_CONF
@CLIENT_CONF
@release("BookKeeper release to check the configuration against; default: 4.18.0.")
def command(bookie_conf: Path | None, client_conf: Path | None, version: str | None) -> int:
    """Check this machine (JDK, memory, disk, addresses and more), and settings of bookies and clients."""
    from cluster.doctor import checks

    configured = bookie_conf is not None or client_conf is not None
    if version is not None and not configured:
        raise click.UsageError(
            "--bookkeeper needs --bookie-conf or --client-conf: doctor compares that file with the release"
        )
    invalid = _settings(bookie_conf, client_conf, version) if configured else 0
    found = checks()
    shown = found
    if configured:
        shown = sorted((check for check in found if check.state != "ok"), key=lambda check: check.state)
        if shown:
            click.echo("this machine, for runs of Fencepost:")
    for check in shown:
        _line({"ok": "ok  ", "warn": "warn", "fail": "FAIL"}[check.state], f"{check.name}: {check.seen}")
        _line("    ", check.remedy if check.state != "ok" else "")
    if configured:
        click.echo("next: docs/how-to/safe-configuration.md#settings-that-protect")
    return 2 if invalid or any(check.state == "fail" for check in found) else 0


def _settings(bookie_conf: Path | None, client_conf: Path | None, version: str | None) -> int:
    """Print what the files lack, and what they do not decide; the number of invalid values."""
    from cluster.known_findings import undecided
    from cluster.releases.versions import DEFAULT_VERSION
    from harness.request import properties_of

    chosen = version or DEFAULT_VERSION
    bookie, client = (None if path is None else properties_of(path) for path in (bookie_conf, client_conf))
    invalid = 0
    if bookie is not None:
        invalid += _of_bookies(f"{bookie_conf}", bookie, chosen)
    if client is not None:
        invalid += _of_clients(f"{client_conf}", client, chosen, bookie)
    _line("    ", undecided(chosen, bookie=bookie is not None, client=client is not None))
    if client is None:
        _line("    ", "settings of clients were not checked: name their file with --client-conf")
    if bookie is None:
        _line("    ", "settings of bookies were not checked: name their file with --bookie-conf")
    return invalid


def _of_bookies(name: str, conf: Mapping[str, str], version: str) -> int:
    from cluster.advice import configuration_warnings
    from cluster.known_findings import of_parts
    from cluster.value_rules import refusals
    from cluster.value_types import mistyped, storage_meant
    from protocol.modes import STORAGE

    invalid = [f"{wrong}; no bookie starts with it" for wrong in (*mistyped(conf), *refusals(conf, version))]
    if STORAGE in conf and (meant := storage_meant(conf[STORAGE])):
        conf = {**conf, STORAGE: meant}
    return _print(name, version, invalid, configuration_warnings(conf, version), of_parts(conf, version))


def _of_clients(name: str, conf: Mapping[str, str], version: str, bookie: Mapping[str, str] | None) -> int:
    from cluster.advice import client_warnings
    from cluster.known_findings import of_client_parts
    from cluster.value_types import mistyped_of_client

    invalid = [f"{wrong}; no client accepts it" for wrong in mistyped_of_client(conf)]
    parts = of_client_parts(conf, version, bookie)
    return _print(name, version, invalid, client_warnings(conf, version), parts)


def _print(
    name: str, version: str, invalid: list[str], warnings: list[Advice], findings: Iterable[str]
) -> int:
    """Print one file's invalid values, warnings and findings; the number of invalid values."""
    from protocol.wording import counted

    numbers = f"{counted(len(invalid), 'invalid value')}, {counted(len(warnings), 'warning')}"
    click.echo(f"{name} with BookKeeper {version}: {numbers}")
    for wrong in invalid:
        _line("FAIL", wrong)
    for said, remedy in warnings:
        _line("warn", said)
        _line("    ", remedy)
    for line in findings:
        _line("    ", line)
    return len(invalid)


def _line(mark: str, text: str) -> None:
    if text:
        click.echo(typed(f"{mark}  {text}"))
