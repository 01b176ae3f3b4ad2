"""``scripts/compare-elle``: the real Elle and our log checker on the same list-append histories.

Elle comes as elle-cli's standalone jar, which the user has: it is in no registry that this project fetches
from. Verdicts are compared, and the classes of what was found by their names.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from checkers.log.checker import judge_log
from checkers.log.models import STRONGEST
from evidence.exchange.jepsen import read_jepsen
from evidence.findings import Verdict
from protocol.errors import FencepostError, JudgementError, UsageError
from protocol.exit_codes import ExitCode

_VERDICTS = {True: Verdict.VALID, False: Verdict.ANOMALY}
_SHOWN = 200
WANTED = """\
take elle-cli's standalone jar (github.com/ligurio/elle-cli, from its releases, or built there with
`lein uberjar`), say where it is with --jar or ELLE_CLI_JAR; its present releases need Java 21 (--java)"""


@dataclass(frozen=True)
class Answer:
    """The answer of one checker: its verdict, the classes of what it found, and the seconds it took."""

    verdict: Verdict
    classes: frozenset[str]
    took_s: float


def ours(history: Path, model: str) -> Answer:
    """The judgement of our own checker, reading included."""
    began = time.monotonic()
    judgement = judge_log(read_jepsen(history), model=model)
    classes = frozenset(kind for kind, number in judgement.counts.items() if number)
    return Answer(judgement.verdict, classes, time.monotonic() - began)


def elles(history: Path, model: str, *, java: str, jar: Path, heap: str) -> Answer:
    """What Elle prints of it; ``JudgementError`` when it ends without saying anything that can be read."""
    began = time.monotonic()
    command = [java, f"-Xmx{heap}", "-jar", str(jar), "--model", "list-append", "--output", "json"]
    try:
        done = subprocess.run(
            [*command, "--consistency-models", model, str(history)],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"{java} cannot be started: {error.strerror}", remedy=WANTED) from error
    took_s = time.monotonic() - began
    answer = parse(done.stdout)
    if answer is None:
        output = (done.stderr.strip() or done.stdout.strip() or "nothing")[-_SHOWN:]
        raise JudgementError(
            f"Elle says nothing about {history} that can be read (exit {done.returncode}): {output}",
            remedy="try the same by hand: " + " ".join(command),
        )
    return Answer(*answer, took_s)


def parse(output: str) -> tuple[Verdict, frozenset[str]] | None:
    """Verdict and classes, in our names, of elle-cli's JSON; None where it is none."""
    try:
        tree = json.loads(output[output.index("{") :])
        valid = tree["valid?"]
    except (ValueError, KeyError, TypeError):
        return None
    classes = frozenset(our_name(str(name)) for name in tree.get("anomaly-types") or ())
    return _VERDICTS.get(valid, Verdict.UNKNOWN) if isinstance(valid, bool) else Verdict.UNKNOWN, classes


def our_name(name: str) -> str:
    """Elle tells items from predicates (``G-single-item``); all reads here are of items."""
    base = name.removeprefix(":")
    return base if base.startswith("G2-") else base.replace("-item", "")


def row(history: Path, mine: Answer, elle: Answer, agreed: str) -> str:
    """A line of the table."""
    line = f"{_text(mine)} | {_text(elle)} | {agreed} | {mine.took_s:.1f} | {elle.took_s:.1f}"
    return f"| {history.name} | {line} |"


def _text(result: Answer) -> str:
    return f"{result.verdict}: {', '.join(sorted(result.classes))}" if result.classes else str(result.verdict)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "histories", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@click.option(
    "--jar", envvar="ELLE_CLI_JAR", type=click.Path(path_type=Path), help="elle-cli's standalone jar."
)
@click.option("--java", default="java", show_default=True, help="The Java that runs it.")
@click.option("--heap", default="4g", show_default=True, help="How much memory it may take.")
@click.option("--model", default=STRONGEST, show_default=True, help="Consistency model.")
def compare(histories: Sequence[Path], jar: Path | None, java: str, heap: str, model: str) -> int:
    """Judge each of HISTORIES (list-append, EDN or JSON lines) by Elle and by Fencepost, and print a table.

    Exit codes: 0 all the same, 4 verdicts differ, 3 only classes differ, 2 without Elle.
    """
    if jar is None or not jar.is_file():
        missing = "no jar is given" if jar is None else f"there is no {jar}"
        raise UsageError(missing, remedy=WANTED)
    print("| history | Fencepost | Elle | | Fencepost, s | Elle, s |\n|---|---|---|---|---:|---:|")
    code = 0
    for history in histories:
        mine, elle = ours(history, model), elles(history, model, java=java, jar=jar, heap=heap)
        agreed = "same"
        if mine.verdict is not elle.verdict:
            agreed, code = "verdicts differ", ExitCode.ANOMALY
        elif mine.classes != elle.classes:
            agreed, code = "classes differ", code or ExitCode.UNKNOWN
        print(row(history, mine, elle, agreed), flush=True)
    return code


def main() -> None:
    """The entry point of the script."""
    try:
        sys.exit(compare.main(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except FencepostError as error:
        print(f"compare-elle: {error}", file=sys.stderr)
        if error.remedy:
            print(f"  next: {error.remedy}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
