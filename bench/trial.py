"""``scripts/bench mutation`` and ``valid``: the trial of the checkers, which lives with their tests.

No room may import from ``tests``, so the trial is a separate program (``tests/histories/trial``), and
this hands it the words of the command line.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

_PROGRAM = "tests.histories.trial"
_HANDED_ON = {"ignore_unknown_options": True, "help_option_names": []}


def _run(verb: str, words: tuple[str, ...]) -> int:
    root = Path(__file__).resolve().parent.parent
    return subprocess.run([sys.executable, "-m", _PROGRAM, verb, *words], cwd=root, check=False).returncode


@click.command(context_settings=_HANDED_ON)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def mutation(words: tuple[str, ...]) -> None:
    """Doctor lawful histories: how many illegal mutants the checkers catch (exit code 1 below 100 %)."""
    raise SystemExit(_run("mutation", words))


@click.command(context_settings=_HANDED_ON)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def valid(words: tuple[str, ...]) -> None:
    """Judge 10,000 generated and simulated valid histories: none may have an anomaly (else exit code 1)."""
    raise SystemExit(_run("valid", words))
