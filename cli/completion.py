"""``fencepost completion``: the script by which a shell completes verbs, options and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_FENCEPOST_COMPLETE"


Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _of(names: Callable[[], Iterable[str]]) -> Complete:
    """Completion with the names that begin with what was typed; ``names`` imports what it needs."""
    return lambda _context, _parameter, begun: [name for name in names() if name.startswith(begun)]


def _scenarios() -> Iterable[str]:
    from plans.load import scenarios

    return scenarios()


def _campaigns() -> Iterable[str]:
    from plans.campaign import campaigns

    return campaigns()


def _modes() -> Iterable[str]:
    from protocol.modes import MODES

    return MODES


def _releases() -> Iterable[str]:
    from cluster.releases.versions import PUBLISHED

    return PUBLISHED


def _defects() -> Iterable[str]:
    from plans.defects import defects

    return defects()


def _cures() -> Iterable[str]:
    from plans.defects import cures

    return cures()


of_scenarios, of_campaigns, of_modes = _of(_scenarios), _of(_campaigns), _of(_modes)
of_releases, of_defects, of_cures = _of(_releases), _of(_defects), _of(_cures)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script of SHELL, for instance: eval "$(fencepost completion bash)"."""
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101  # click offers only shells that it supports
    click.echo(script(context.find_root().command, {}, "fencepost", _VARIABLE).source())
    return 0
