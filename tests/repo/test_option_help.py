"""Every option of every verb says what it does, and every verb what it is for."""

from __future__ import annotations

import click
import pytest

from cli.main import fencepost
from harness.verbs import VERBS


def command_of(verb: str) -> click.Command:
    command = fencepost.get_command(click.Context(fencepost), verb)
    assert command is not None
    return command


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_a_help_text(verb: str) -> None:
    options = [one for one in command_of(verb).params if isinstance(one, click.Option)]
    assert [one.opts for one in options if not (one.help or "").endswith(".")] == []
    assert command_of(verb).help
