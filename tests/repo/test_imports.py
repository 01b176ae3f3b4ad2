"""The rooms import one way only: what is below never learns what is above."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ARROWS = {
    "protocol": set(),
    "plans": {"protocol"},
    "evidence": {"protocol", "plans"},
    "cluster": {"protocol", "plans", "evidence"},
    "nemesis": {"protocol", "plans", "evidence", "cluster"},
    "workloads": {"protocol", "plans", "evidence", "cluster"},
    "checkers": {"protocol", "plans", "evidence"},
    "pipeline": {"protocol", "plans", "evidence", "checkers"},
    "harness": {
        "protocol",
        "plans",
        "evidence",
        "cluster",
        "nemesis",
        "workloads",
        "checkers",
        "pipeline",
    },
}
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
    """Line and top-level name of every import, also of those inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.lineno, node.module.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level > 0:
            yield node.lineno, "."


def wrong(folder: str, source: str) -> list[str]:
    """A sentence for each import that a module in ``folder`` (a room, or one in a room) must not have."""
    faults = []
    room = folder.partition("/")[0]
    for line, name in imported(source):
        if name in ARROWS and name != room and name not in ARROWS[room]:
            faults.append(f"line {line}: {room} must not import {name}")
        if name in ONLY_IN and ONLY_IN[name] not in (room, folder):
            faults.append(f"line {line}: only {ONLY_IN[name]} may import {name}")
        if name in {".", "tests", "scripts"}:
            faults.append(f"line {line}: imports are absolute, and never from tests or scripts")
    return faults


def test_every_import_follows_the_arrows(root: Path, modules: list[Path]) -> None:
    faults = []
    for path in modules:
        folder = str(path.relative_to(root).parent)
        if folder.partition("/")[0] in ARROWS:
            faults += [f"{path.relative_to(root)} {fault}" for fault in wrong(folder, path.read_text())]
    assert not faults, "\n".join(faults)


def test_no_room_is_forgotten(modules: list[Path], root: Path) -> None:
    assert {path.relative_to(root).parts[0] for path in modules} == {*ARROWS, "scripts"}


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("protocol", "import plans.models"),
        ("checkers", "from cluster.interface import Cluster"),
        ("checkers", "def late():\n    import pipeline"),
        ("nemesis", "import workloads"),
        ("harness", "from pyspark.sql import SparkSession"),
        ("plans", "from . import models"),
        ("cluster", "import docker"),
        ("cluster/local", "from testcontainers.compose import DockerCompose"),
    ],
)
def test_a_wrong_import_is_seen(room: str, source: str) -> None:
    assert wrong(room, source)


def test_the_right_imports_pass() -> None:
    assert not wrong("harness", "import pipeline, nemesis\nfrom checkers.contract import Checker")
    assert not wrong("cluster/docker", "import docker")
    assert not wrong("cluster/local", "import kazoo")
