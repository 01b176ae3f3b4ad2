"""``fencepost list``: what there is to run, to break, to load, and what ran."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from harness.commands.options import RESULTS
from harness.order import default_results
from harness.verbs import typed


def _scenarios(_: Path) -> Iterator[str]:
    from harness.vocabulary import loads, words
    from plans.load import find, load, scenarios

    for name in scenarios():
        plan = load(find(name), words(), workloads=loads())
        yield f"{name:24} {plan.source.document}, {plan.source.section}; modes {', '.join(plan.modes)}"


def _faults(_: Path) -> Iterator[str]:
    from harness.vocabulary import words
    from nemesis.registry import FAULTS, NeedsMachine

    words()
    for name, fault in sorted(FAULTS.items()):
        any_fault: Any = fault
        reason = any_fault.lacking() if isinstance(any_fault, NeedsMachine) else None
        here = f"  (not on this machine: {reason})" if reason else ""
        yield f"{name:12} {fault.about}  ({', '.join(_keys(fault.params))}){here}"


def _workloads(_: Path) -> Iterator[str]:
    from harness.vocabulary import words
    from workloads.registry import WORKLOADS

    words()
    for name, workload in sorted(WORKLOADS.items()):
        yield f"{name:12} {workload.about}  ({', '.join(_keys(workload.params))})"


def _admin(_: Path) -> Iterator[str]:
    from protocol.shell import COMMANDS

    for name, command in sorted(COMMANDS.items()):
        target = (
            f"  (target{', which must be down' if command.needs == 'down' else ''})"
            if command.targeted
            else ""
        )
        yield f"{name:22} {command.about}{target}"


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
    from evidence.folder import every_run, read_json

    for run in every_run(results):
        if not (run / "verdict.json").exists():
            yield f"{run.relative_to(results)}  not judged to its end: `fencepost check {run}`"
            continue
        tree = read_json(run / "verdict.json")
        told = ", ".join(f"{mode} {said['verdict']}" for mode, said in sorted(tree["modes"].items()))
        yield f"{run.relative_to(results)}  {'as expected' if tree['met'] else 'NOT as expected'}: {told}"


def _schema(_: Path) -> Iterator[str]:
    import json

    from harness.vocabulary import loads, words
    from plans.schema import json_schema

    yield json.dumps(json_schema(words(), workloads=loads()), indent=1)


_LISTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "scenarios": _scenarios,
    "faults": _faults,
    "workloads": _workloads,
    "admin": _admin,
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
@RESULTS
def command(what: str, results: Path | None) -> int:
    """List what there is to run, to break and to order, and what ran; or print the JSON Schema of plans."""
    for line in _LISTS[what](results or default_results()):
        click.echo(line if what == "schema" else typed(line))
    return 0
