"""The folders import one way only, as the table of docs/architecture.md says."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

_BELOW = {"protocol", "plans", "evidence", "cluster", "nemesis", "workloads", "checkers", "pipeline"}
"""What everything above the reports may import."""
ARROWS = {
    "protocol": set(),
    "plans": {"protocol"},
    "evidence": {"protocol", "plans"},
    "cluster": {"protocol", "plans", "evidence"},
    "nemesis": {"protocol", "plans", "evidence", "cluster"},
    "workloads": {"protocol", "plans", "evidence", "cluster"},
    "checkers": {"protocol", "plans", "evidence"},
    "pipeline": {"protocol", "plans", "evidence", "checkers"},
    "reports": {"protocol", "plans", "evidence", "checkers", "pipeline"},
    "harness": {*_BELOW, "reports"},
    "search": {*_BELOW, "reports", "harness"},
    "cli": {*_BELOW, "reports", "harness", "search"},
    "bench": {*_BELOW, "reports", "harness", "search", "cli"},
}
PARTS = {
    ("reports", "checkers"): {"checkers.judging.verdict", "checkers.facts.wording"},
    ("reports", "pipeline"): {"pipeline.trends"},
}
"""Arrows that lead only to these modules: what names findings, and the rows of trends."""
ONLY_IN = {
    "pyspark": "pipeline",
    "py4j": "pipeline",
    "toxiproxy": "cluster",
    "kazoo": "cluster",
    "docker": "cluster/docker",
    "testcontainers": "cluster/docker",
    "rocksdict": "evidence",
}


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of the module of every import, also of those inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, (node.module or ".") if node.level == 0 else "."


def wrong(folder: str, source: str) -> list[str]:
    """A sentence for each import that a module in ``folder`` (a package, or part of one) must not have."""
    faults = []
    package = folder.partition("/")[0]
    for line, module in imported(source):
        name = module.split(".")[0]
        if name in ARROWS and name != package and name not in ARROWS[package]:
            faults.append(f"line {line}: {package} must not import {name}")
        if module not in PARTS.get((package, name), {module}):
            faults.append(f"line {line}: {package} must not import {module}, only {PARTS[package, name]}")
        if name in ONLY_IN and ONLY_IN[name] not in (package, folder):
            faults.append(f"line {line}: only {ONLY_IN[name]} may import {name}")
        if name in {"", "tests", "scripts"}:
            faults.append(f"line {line}: imports are absolute, and never from tests or scripts")
    return faults


def circle(modules: Mapping[str, str]) -> list[str]:
    """The first circle of imports among modules (dotted name -> source), empty when there is none."""
    graph = {}
    for name, source in modules.items():
        found = {one for node in ast.walk(ast.parse(source)) for one in _targets(node)}
        graph[name] = {one for one in found if one in modules and one != name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _targets(node: ast.AST) -> Iterator[str]:
    """What an import may name: the module, and what is taken out of it, which may be a module too."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_import_follows_the_arrows(root: Path, modules: list[Path]) -> None:
    faults = []
    for path in modules:
        folder = str(path.relative_to(root).parent)
        if folder.partition("/")[0] in ARROWS:
            faults += [f"{path.relative_to(root)} {fault}" for fault in wrong(folder, path.read_text())]
    assert not faults, "\n".join(faults)


def judging_in(source: str) -> set[str]:
    """What a source imports from ``harness.judging``."""
    targets = {one for node in ast.walk(ast.parse(source)) for one in _targets(node)}
    return {one for one in targets if one.startswith("harness.judging.")}


def test_what_records_a_run_knows_no_more_of_judging_than_its_judge(root: Path) -> None:
    for folder in ("recording", "steps", "conditions"):
        for path in (root / "harness" / folder).glob("*.py"):
            assert judging_in(path.read_text()) <= {"harness.judging.Judge"}, path


def test_an_import_from_judging_is_seen() -> None:
    assert judging_in("from harness.judging import CONTRADICTED") == {"harness.judging.CONTRADICTED"}


def test_no_modules_import_each_other_in_a_circle(root: Path, modules: list[Path]) -> None:
    sources = {
        ".".join(path.relative_to(root).with_suffix("").parts): path.read_text()
        for path in modules
        if path.relative_to(root).parts[0] in ARROWS
    }
    assert not circle(sources)


def test_a_circle_is_seen() -> None:
    sources = {"plans.a": "import plans.b", "plans.b": "def late():\n    from plans import c", "plans.c": ""}
    assert not circle(sources)
    assert circle({**sources, "plans.c": "from plans.a import one"})


def test_no_package_is_forgotten(modules: list[Path], root: Path) -> None:
    assert {path.relative_to(root).parts[0] for path in modules} == {*ARROWS, "scripts"}


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("protocol", "import plans.models"),
        ("checkers", "from cluster.interface import Cluster"),
        ("checkers", "def late():\n    import pipeline"),
        ("nemesis", "import workloads"),
        ("harness", "from pyspark.sql import SparkSession"),
        ("plans", "from . import models"),
        ("reports", "from harness.request import RunRequest"),
        ("reports", "from checkers.judging.checker import Checker"),
        ("reports", "import pipeline.session"),
        ("harness", "from search.status import StatusLines"),
        ("search", "import cli"),
        ("cli", "from bench import rows"),
        ("cluster", "import docker"),
        ("cluster/local", "from testcontainers.compose import DockerCompose"),
    ],
)
def test_a_wrong_import_is_seen(package: str, source: str) -> None:
    assert wrong(package, source)


def test_the_right_imports_pass() -> None:
    assert not wrong("harness", "import pipeline, nemesis\nfrom checkers.judging.checker import Checker")
    assert not wrong("reports/explain", "from checkers.judging.verdict import severity")
    assert not wrong("reports/explain", "import pipeline.trends")
    assert not wrong("search", "from reports.text import verdict_lines\nimport harness.run")
    assert not wrong("cluster/docker", "import docker")
    assert not wrong("cluster/local", "import kazoo")
