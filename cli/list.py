"""``fencepost list``: what there is to run, to break, to load, and what ran."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from cli.options import RESULTS
from harness.provenance import CHECKOUT
from harness.verbs import typed

if TYPE_CHECKING:
    from plans.models import Plan

_ENDLESS = 10_000


def _scenarios(_: Path) -> Iterator[str]:
    from cluster.releases.versions import DEFAULT_VERSION
    from harness.vocabulary import words
    from plans.load import find, load, scenarios

    measured = _measured()
    plans = {name: load(find(name), words()) for name in scenarios()}
    wide = max(map(len, plans))
    rows = [(f"{'scenario':{wide}} {'time':>6}", "story")]
    for name, plan in plans.items():
        release = plan.cluster.version or DEFAULT_VERSION
        times = [measured.get((name, mode, release)) for mode in plan.modes]
        time = "" if None in times else f"{sum(filter(None, times))} s"
        needs = f" ({', '.join(_needs(plan))})" if any(_needs(plan)) else ""
        rows.append((f"{name:{wide}} {time:>6}", f"{plan.title or plan.about}{needs}"))
    yield from _columns(rows)
    yield "time: all modes together, median on two cores (docs/series.md)"


def _columns(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Names and what they mean; a terminal gets lines of its width, a pipe one line for each name."""
    rows = list(rows)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _ENDLESS
    wide = max(len(name) for name, _ in rows)
    for name, text in rows:
        head = f"{name:{wide}}  "
        yield fill(text, width, initial_indent=head, subsequent_indent=" " * len(head))


def _needs(plan: Plan) -> Iterator[str]:
    """What a run takes beside the default release and an ordinary user."""
    from cluster.releases.versions import DEFAULT_VERSION
    from plans.grammar.rounds import every

    if plan.cluster.disks is not None:
        yield "needs root"
    steps = (getattr(step.params, "version", None) for step in every(plan.steps))
    asked = {plan.cluster.version, *plan.cluster.versions.values(), *steps}
    yield from (f"needs BookKeeper {release}" for release in sorted(filter(None, asked - {DEFAULT_VERSION})))


def _measured() -> dict[tuple[str, str, str], int]:
    """Median seconds of a run by scenario, mode and release, as the longest series measured them with V3."""
    rows = json.loads((CHECKOUT / "docs" / "series.json").read_text(encoding="utf-8"))
    return {
        (row["scenario"], row["mode"], row["release"]): round(statistics.median(row["took_s"]))
        for row in sorted(rows, key=itemgetter("of"))
        if (row["protocol"], row["unit"], row["settings"]) == ("V3", "runs", "") and row["took_s"]
    }


def _faults() -> Iterator[tuple[str, str]]:
    from harness.vocabulary import words
    from nemesis.registry import FAULTS
    from plans.grammar.names import purpose_of
    from plans.reading.mistakes import keys_of

    words()
    for name, fault in sorted(FAULTS.items()):
        reason = fault.unavailable_reason()
        here = f" (not on this machine: {reason})" if reason else ""
        yield name, f"{purpose_of(fault).rstrip('.')} ({', '.join(keys_of(fault))}){here}"


def _workloads() -> Iterator[tuple[str, str]]:
    from harness.vocabulary import words
    from plans.grammar.names import purpose_of
    from plans.grammar.steps import Load
    from plans.reading.mistakes import keys_of

    for name, workload in sorted(words().workloads.items()):
        own = [key for key in keys_of(workload) if key not in keys_of(Load)]
        yield name, f"{purpose_of(workload).rstrip('.')} ({', '.join(own)})"


def _admin() -> Iterator[tuple[str, str]]:
    from protocol.shell import COMMANDS

    for name, command in sorted(COMMANDS.items()):
        target = " (target, which must be down)" if command.needs_down else " (target)"
        yield name, command.about + (target if command.targeted else "")


def _modes() -> Iterator[tuple[str, str]]:
    from protocol.modes import MODES

    yield from ((mode.name, mode.about) for mode in MODES.values())


def _changes(kind: str) -> Iterator[tuple[str, str]]:
    from plans.defects import cures, defects

    for name, one in (cures() if kind == "cures" else defects()).items():
        yield name, f"{one.title} ({', '.join(one.findings or one.processes)}; {one.releases})"


def _versions(_: Path) -> Iterator[str]:
    from cluster.releases.artifacts import locked_versions
    from cluster.releases.versions import DEFAULT_VERSION, PUBLISHED

    notes = dict.fromkeys(locked_versions(), "") | {DEFAULT_VERSION: "  (default)"}
    for version in PUBLISHED:
        yield version + notes.get(version, "  (checksums are taken at its first use)")


def _runs(results: Path) -> Iterator[str]:
    from evidence.folder import every_run, read_json
    from protocol.errors import EvidenceError

    runs = every_run(results)
    if not runs:
        click.echo(f"no stored run below {results}; --results names another folder", err=True)
    for run in runs:
        try:
            tree = read_json(run / "verdict.json")
            met, modes = tree["met"], sorted(tree["modes"].items())
        except EvidenceError:
            yield f"{run.relative_to(results)}  not judged to its end: `fencepost check {run}`"
            continue
        verdicts = ", ".join(f"{mode} {shown['verdict']}" for mode, shown in modes)
        yield f"{run.relative_to(results)}  {'as expected' if met else 'NOT as expected'}: {verdicts}"


def _schema(_: Path) -> Iterator[str]:
    from harness.vocabulary import words
    from plans.reading.schema import json_schema

    yield json.dumps(json_schema(words()), indent=1)


_LISTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "scenarios": _scenarios,
    "faults": lambda _: _columns(_faults()),
    "workloads": lambda _: _columns(_workloads()),
    "admin": lambda _: _columns(_admin()),
    "modes": lambda _: _columns(_modes()),
    "versions": _versions,
    "defects": lambda _: _columns(_changes("defects")),
    "cures": lambda _: _columns(_changes("cures")),
    "runs": _runs,
    "schema": _schema,
}


@click.command("list")
@click.argument("what", type=click.Choice(list(_LISTS)), metavar="WHAT", required=False)
@RESULTS
def command(what: str | None, results: Path) -> int:
    """List WHAT: scenarios, faults, workloads, admin (commands), modes, versions (releases), defects, cures
    or runs; or print the schema (JSON Schema) of plans.
    """
    if what is None:
        raise click.UsageError(f"list what? {', '.join(_LISTS)}")
    try:
        for line in _LISTS[what](results):
            click.echo(line if what == "schema" else typed(line))
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123  # or Python complains at its end
    return 0
