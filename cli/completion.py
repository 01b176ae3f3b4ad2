"""``fencepost completion``: the script by which a shell completes verbs, options and names."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_FENCEPOST_COMPLETE"
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _of(place: str) -> Complete:
    """Completion with the names at ``module:name`` that begin with what was typed; imported only then."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        found = resolve_name(place)
        names = found() if callable(found) else found
        return [name for name in names if name.startswith(begun)]

    return complete


of_scenarios, of_campaigns = _of("plans.load:scenarios"), _of("plans.campaign:campaigns")
of_modes, of_releases = _of("protocol.modes:MODES"), _of("cluster.releases.versions:PUBLISHED")
of_defects, of_cures = _of("plans.defects:defects"), _of("plans.defects:cures")


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script of SHELL, for instance: eval "$(fencepost completion bash)"."""
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101  # click offers only shells that it supports
    click.echo(script(context.find_root().command, {}, "fencepost", _VARIABLE).source())
    return 0
