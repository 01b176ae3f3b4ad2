"""``fencepost list``: what there is to run, to break, to load, and what ran."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from harness.order import default_results


def _scenarios(_: Path) -> Iterator[str]:
    from harness.vocabulary import loads, words
    from plans.load import find, load, scenarios

    for name in scenarios():
        plan = load(find(name), words(), workloads=loads())
        yield f"{name:24} {plan.source.document}, {plan.source.section}; modes {', '.join(plan.modes)}"


def _faults(_: Path) -> Iterator[str]:
    from harness.vocabulary import words
    from nemesis.registry import FAULTS

    words()
    for name, fault in sorted(FAULTS.items()):
        yield f"{name:12} {fault.about}  ({', '.join(_keys(fault.params))})"


def _workloads(_: Path) -> Iterator[str]:
    from harness.vocabulary import words
    from workloads.registry import WORKLOADS

    words()
    for name, workload in sorted(WORKLOADS.items()):
        yield f"{name:12} {workload.about}  ({', '.join(_keys(workload.params))})"


def _modes(_: Path) -> Iterator[str]:
    from protocol.modes import MODES

    for mode in MODES.values():
        yield f"{mode.name:12} {mode.about}"


def _versions(_: Path) -> Iterator[str]:
    from cluster.artifacts import locked_versions
    from cluster.versions import DEFAULT_VERSION

    for version in locked_versions():
        yield f"{version}{'  (default)' if version == DEFAULT_VERSION else ''}"


def _runs(results: Path) -> Iterator[str]:
    from evidence.folder import modes_of, read_json

    for verdict in sorted(results.glob("*/*/*/verdict.json")) + sorted(results.glob("*/*/verdict.json")):
        run = verdict.parent
        if "modes" not in (tree := read_json(verdict)):
            continue
        told = ", ".join(f"{mode} {said['verdict']}" for mode, said in sorted(tree["modes"].items()))
        yield f"{run.relative_to(results)}  {'as expected' if tree['met'] else 'NOT as expected'}: {told}"
    for run in sorted(path for path in results.glob("*/*/*") if modes_of(path)):
        if not (run / "verdict.json").exists():
            yield f"{run.relative_to(results)}  not judged to its end: `fencepost check {run}`"


def _schema(_: Path) -> Iterator[str]:
    import json

    from harness.vocabulary import loads, words
    from plans.schema import json_schema

    yield json.dumps(json_schema(words(), workloads=loads()), indent=1)


_LISTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "scenarios": _scenarios,
    "faults": _faults,
    "workloads": _workloads,
    "modes": _modes,
    "versions": _versions,
    "runs": _runs,
    "schema": _schema,
}


def _keys(params: type) -> list[str]:
    fields = getattr(params, "model_fields", {})
    return [field.alias or name for name, field in fields.items()]


@click.command("list")
@click.argument("what", type=click.Choice(list(_LISTS)))
@click.option("--results", type=click.Path(path_type=Path), default=None)
def command(what: str, results: Path | None) -> int:
    """List scenarios, faults, workloads, modes, versions or runs, or print the JSON Schema of plans."""
    for line in _LISTS[what](results or default_results()):
        click.echo(line)
    return 0
