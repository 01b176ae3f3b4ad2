"""The agent on BookKeeper's own classes: every declared defect fits, and anything else is refused."""

from __future__ import annotations

import json
import subprocess

import pytest

from cluster import artifacts
from plans.defects import defects
from protocol.errors import PrerequisiteError
from protocol.java import java

REFUSED = 3


def loaded(*orders: str, types: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """A JVM with these defects and the default release that loads ``types`` and ends."""
    if not artifacts.is_cached():
        pytest.skip("the jars of the default release are not fetched")
    try:
        jar = artifacts.agent_jar()
    except PrerequisiteError as error:
        pytest.skip(str(error))
    agents = [f"-javaagent:{jar}={order}" for order in orders]
    flags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m"]
    argv = [str(java()), *flags, *agents, "-cp", artifacts.class_path().class_path, "fencepost.agent.Check"]
    return subprocess.run([*argv, *types], capture_output=True, text=True, timeout=300, check=False)


def said(done: subprocess.CompletedProcess[str]) -> list[dict[str, str]]:
    mark = "fencepost-agent "
    return [json.loads(line.removeprefix(mark)) for line in done.stderr.splitlines() if line.startswith(mark)]


def test_every_defect_changes_its_class_of_the_default_release() -> None:
    done = loaded(*defects(), types=tuple(one.type for one in defects().values()))
    assert done.returncode == 0, done.stderr
    changed = {one["defect"]: one["type"] for one in said(done) if one["event"] == "changed"}
    assert changed == {name: one.type for name, one in defects().items()}


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("no-such-defect", "no defect has this name"),
        ("fence-ignored,sometimes=1", "a trigger has no key sometimes"),
        ("fence-ignored,every=x", "a trigger's value is no number"),
        ("fence-ignored,every=0", "every is at least 1"),
    ],
)
def test_what_the_agent_cannot_do_ends_the_process(order: str, reason: str) -> None:
    done = loaded(order)
    assert done.returncode == REFUSED
    (refusal,) = said(done)
    assert refusal["event"] == "refused"
    assert reason in refusal["reason"]
