"""The page of the command line, from the declarations that also make ``--help``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cli.main import fencepost
from harness.verbs import VERBS
from reports.marks import WIDTH, cell, table, wrapped

_CODE = "    "


def command_line() -> Iterator[str]:
    """The lines of the page: a section for each verb, with its usage and a table of its options."""
    yield "# Command line"
    yield ""
    yield "Every command of `fencepost` with its options. [Commands](commands.md) has examples by task,"
    yield "and the exit codes."
    group = click.Context(fencepost, info_name="fencepost")
    for verb in VERBS:
        command = fencepost.get_command(group, verb)
        if command is not None:
            yield from _section(command, click.Context(command, info_name=verb, parent=group))


def _section(command: click.Command, context: click.Context) -> Iterator[str]:
    yield from ("", f"## {context.info_name}", "", *_usage(command, context), "")
    yield from wrapped(" ".join((command.help or "").split("\f")[0].split()))
    yield ""
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if options:
        yield from table(("option", "meaning"), (_row(one, context) for one in options))


def _usage(command: click.Command, context: click.Context) -> list[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    if len(usage) + len(_CODE) > WIDTH:
        usage = usage.replace("|", " | ")
    return [_CODE + line for line in wrapped(usage, indent=_CODE, width=WIDTH - len(_CODE))]


def _row(option: click.Option, context: click.Context) -> tuple[str, str]:
    record = option.get_help_record(context)
    words, meaning = record or (", ".join(option.opts), option.help or "")
    return f"`{cell(words)}`", cell(meaning)
