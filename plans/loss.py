"""What a `kill` of a bookie takes with it: ``cluster: {loss: power}`` makes each one a loss of power.

The same schedule can so be compared at both levels (BP-46, "Detecting Data Loss On Boot"). The steps are
replaced before anything else reads the plan, so that a resolved plan says what was really done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plans.document import Document, Path, Problem
from protocol.addresses import is_bookie

POWER = "power"


def apply(document: Document) -> tuple[Document, list[Problem]]:
    """The document with the kills of bookies replaced where it asks for that, and what cannot be."""
    tree = document.tree
    cluster = tree.get("cluster")
    if not isinstance(cluster, dict) or cluster.get("loss") != POWER:
        return document, []
    steps = tree.get("steps", [])
    problems = [
        Problem(
            (*path, "kill", "target"),
            f"with `loss: {POWER}` a `kill` names its bookie; a schedule can have `power_loss` instead",
        )
        for path, target in _killed(steps, ("steps",))
        if target == "any-bookie"
    ]
    replaced = {**tree, "cluster": {**cluster, "disks": cluster.get("disks", {})}, "steps": _by_power(steps)}
    return Document(document.source, replaced, document.keys, document.values), problems


def _killed(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _killed(item, (*path, index))
    elif isinstance(value, dict):
        if isinstance(value.get("kill"), dict):
            yield path, value["kill"].get("target")
        for key, inner in value.items():
            yield from _killed(inner, (*path, key))


def _by_power(value: Any) -> Any:
    if isinstance(value, list):
        return [_by_power(item) for item in value]
    if not isinstance(value, dict):
        return value
    return dict(
        _power_loss(inner) if key == "kill" else (key, _by_power(inner)) for key, inner in value.items()
    )


def _power_loss(kill: Any) -> tuple[str, Any]:
    target = kill.get("target") if isinstance(kill, dict) else None
    if not isinstance(target, str) or not is_bookie(target):
        return "kill", kill
    others = {key: value for key, value in kill.items() if key != "target"}
    return "power_loss", {"targets": [target], "level": POWER, **others}
