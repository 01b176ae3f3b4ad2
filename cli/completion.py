"""``fencepost completion``: the script by which a shell completes verbs, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_FENCEPOST_COMPLETE"


def of_scenarios(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Names of scenarios that begin with ``begun``."""
    from plans.load import scenarios

    return [name for name in scenarios() if name.startswith(begun)]


def of_campaigns(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Names of campaigns that begin with ``begun``."""
    from plans.campaign import campaigns

    return [name for name in campaigns() if name.startswith(begun)]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script of SHELL, for instance: eval "$(fencepost completion bash)"."""
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101  # click offers only shells that it supports
    click.echo(script(context.find_root().command, {}, "fencepost", _VARIABLE).source())
    return 0
