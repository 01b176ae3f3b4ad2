"""The command line: names of verbs, exit codes, and the one place where errors become text.

Verbs live in :mod:`cli`, one a file, and are imported only when called: ``--help``
stays fast. This module must import nothing heavy.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from harness.verbs import VERBS, typed
from protocol.errors import FULL, FencepostError, Interrupted, of_machine
from protocol.exit_codes import ExitCode

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


class _Verbs(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in VERBS:
            return None
        command = importlib.import_module(f"cli.{name}").command
        assert isinstance(command, click.Command)  # noqa: S101  # narrows the type for the checker
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"no command {args[0]!r}; there are {', '.join(VERBS)}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost")
def fencepost() -> None:
    """Test on real servers whether Apache BookKeeper keeps every entry that it acknowledged.

    Exit codes: 0 as expected, 1 a failure of the harness or the machine, 2 usage or a missing prerequisite,
    3 unknown, 4 an anomaly that was not expected, 130 interrupted by Ctrl-C, 143 by SIGTERM.
    """


def main() -> NoReturn:
    """The entry point of the ``fencepost`` command; always ends with one of the exit codes."""
    raise_interrupts()
    # Images of Python set it: each of our processes would then compile all libraries again, for two seconds.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    code = _run()
    for number in _INTERRUPTS:
        signal.signal(number, signal.SIG_DFL)  # all work is done: end without a traceback from now on
    sys.exit(code)


def raise_interrupts() -> None:
    """Let Ctrl-C and SIGTERM raise ``Interrupted``, which ends everything in order."""
    for number in _INTERRUPTS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # which background jobs of a shell inherit
            signal.signal(number, _interrupt)


def _run() -> int:
    if not (Path(__file__).resolve().parent.parent / "pyproject.toml").is_file():
        print("fencepost: runs only from a checkout; use scripts/setup there", file=sys.stderr)
        return ExitCode.USAGE
    try:
        code = fencepost.main(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        return _interrupted(error if isinstance(error, Interrupted) else error.__cause__)
    except click.ClickException as error:
        print(typed(f"fencepost: {error.format_message()}"), file=sys.stderr)
        if isinstance(error, click.UsageError) and error.ctx is not None:
            print(f"  next: `{error.ctx.command_path} --help` lists what it takes", file=sys.stderr)
        return ExitCode.USAGE
    except FencepostError as error:
        print(typed(f"fencepost: {error}"), file=sys.stderr)
        if error.remedy:
            print(typed(f"  next: {error.remedy}"), file=sys.stderr)
        return error.exit_code
    except Exception as error:  # noqa: BLE001  # the last frame: a defect of Fencepost is exit 1, with its trace
        if "FENCEPOST_DEBUG" in os.environ:
            traceback.print_exc()
        for line in _unforeseen(error):
            print(line, file=sys.stderr)
        return ExitCode.HARNESS


def _unforeseen(error: Exception) -> tuple[str, str]:
    """The lines for an error that no code expected: an unusable file, no space, or a defect of Fencepost."""
    if isinstance(error, OSError) and (error.filename or error.errno in FULL):
        known = of_machine(error)
        return f"fencepost: {known}", f"  next: {known.remedy}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return (
        f"fencepost: internal error at {where}: {type(error).__name__}: {error}",
        "  next: set FENCEPOST_DEBUG=1 for the full trace and report it",
    )


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)


def _interrupted(cause: BaseException | None) -> int:
    """Print the one line and return the exit code; click wraps what interrupted it in its own ``Abort``."""
    interrupted = cause if isinstance(cause, Interrupted) else Interrupted(signal.SIGINT)
    print(f"fencepost: {interrupted}", file=sys.stderr)
    return interrupted.exit_code
