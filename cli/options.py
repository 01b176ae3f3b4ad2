"""Options that several verbs share, and the types of their values."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from cli.completion import of_modes, of_releases
from harness.request import default_results

FILE = click.Path(path_type=Path, dir_okay=False)
"""A file to write, or to read when a verb says itself that there is none."""
PRESENT_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
PRESENT_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)

Decorated = TypeVar("Decorated", bound=Callable[..., object] | click.Command)
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")


class _Duration(click.ParamType[float]):
    """``90s``, ``5m``, ``2h``, or a plain number of seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        matched = _DURATION.fullmatch(str(value))
        seconds = float(matched[1]) * _UNITS[matched[2]] if matched else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is no duration above 0, such as 90s, 5m or 2h", param, ctx)
        return seconds


DURATION = _Duration()


def _parallel(_context: click.Context, _parameter: click.Parameter, text: str) -> int:
    """A number of runs; ``auto`` is as many as the machine can run."""
    if text == "auto":
        from harness.experiments.running import affordable

        return affordable()
    if not text.isdecimal() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is neither a number of runs nor auto")
    return int(text)


def release(about: str) -> Callable[[Decorated], Decorated]:
    """The option for a release of BookKeeper."""
    words = ("--bookkeeper", "version")
    return click.option(*words, metavar="VERSION", help=about, shell_complete=of_releases)


def chosen_version(version: str | None, jars: Path | None) -> str | None:
    """What ``--bookkeeper`` or ``--jars`` asks for; ``UsageError`` for both."""
    if jars is None:
        return version
    if version is not None:
        raise click.UsageError("--bookkeeper names a release, --jars a build of your own: give one of them")
    from cluster.releases.artifacts import adopt

    return adopt(jars)


def one_mode(about: str) -> Callable[[Decorated], Decorated]:
    """The option for one mode of a run."""
    return click.option("--mode", metavar="MODE", help=about, shell_complete=of_modes)


RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    default=default_results,
    help="Folder of stored runs; default: FENCEPOST_RESULTS or ./results.",
)
QUIET = click.option("--quiet", is_flag=True, help="Print only the last line.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
BOOKIE_CONF = click.option(
    "--bookie-conf", type=PRESENT_FILE, help="Your bookies' settings (bk_server.conf)."
)
CLIENT_CONF = click.option(
    "--client-conf", type=PRESENT_FILE, help="Your clients' settings, in the same form."
)
RELEASE = release("BookKeeper release, for example 4.16.4.")
JARS = click.option("--jars", type=PRESENT_FOLDER, help="Folder of jars: run your own build of BookKeeper.")
START_UNTIL = click.option(
    "--for", "total_s", type=DURATION, help="Start no run after this time: 90s, 10m, 8h."
)
MASTER = click.option(
    "--master", metavar="URL", help="Spark master for judging, spark://HOST:PORT; default: this machine."
)
PARALLEL = click.option(
    "--parallel",
    default="1",
    show_default=True,
    metavar="N|auto",
    callback=_parallel,
    help="Number of runs at a time; auto: one for each core, at most one for each 2 GiB of free memory.",
)
