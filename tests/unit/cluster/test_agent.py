"""The agent on BookKeeper's own classes: each declared defect and cure fits, anything else is refused."""

from __future__ import annotations

import json
import subprocess

import pytest

from cluster.releases import artifacts
from cluster.releases.versions import DEFAULT_VERSION
from plans.defects import cures, defects
from plans.versions import within
from protocol.errors import PrerequisiteError
from protocol.java import java
from tests.length import quick_and_long

REFUSED = 86
QUICK = ("4.15.0", "4.16.6", DEFAULT_VERSION)
"""Each change is declared for at least one of these."""


def declared_for(version: str) -> dict[str, str]:
    """The changed class of every defect and cure whose declaration names this release."""
    changes = {**defects(), **cures()}
    return {name: one.type for name, one in changes.items() if within(version, one.releases)}


def loaded(
    *orders: str, types: tuple[str, ...] = (), version: str = DEFAULT_VERSION
) -> subprocess.CompletedProcess[str]:
    """A JVM with these changes and this release that loads ``types`` and ends."""
    if version != DEFAULT_VERSION and not artifacts.is_cached(version):
        pytest.skip(f"the jars of {version} are not fetched")
    try:
        jar = artifacts.agent_jar()
    except PrerequisiteError as error:
        pytest.skip(str(error))
    agents = [f"-javaagent:{jar}={order}" for order in orders]
    flags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m"]
    argv = [str(java()), *flags, *agents, "-cp", artifacts.class_path(version).class_path]
    return subprocess.run(
        [*argv, "fencepost.agent.Check", *types], capture_output=True, text=True, timeout=300, check=False
    )


def said(done: subprocess.CompletedProcess[str]) -> list[dict[str, str]]:
    mark = "fencepost-agent "
    return [json.loads(line.removeprefix(mark)) for line in done.stderr.splitlines() if line.startswith(mark)]


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Why the agent ended the process."""
    (refusal,) = said(done)
    assert (done.returncode, refusal["event"]) == (REFUSED, "refused")
    return refusal["reason"]


RELEASES = [one for one in artifacts.locked_versions() if declared_for(one)]


def test_every_defect_and_cure_is_tried_without_the_long_tests() -> None:
    assert set().union(*map(declared_for, QUICK)) == set().union(*map(declared_for, RELEASES))


@pytest.mark.parametrize("version", quick_and_long(RELEASES, set(RELEASES) - set(QUICK)))
def test_every_defect_and_cure_changes_its_class_of_each_release_that_it_names(version: str) -> None:
    declared = declared_for(version)
    done = loaded(*declared, types=tuple(declared.values()), version=version)
    assert done.returncode == 0, done.stderr
    changed = {one["defect"]: one["type"] for one in said(done) if one["event"] == "changed"}
    assert changed == declared


def test_a_release_without_the_method_is_refused() -> None:
    assert "ReadOpBase" in refused(loaded("recovery-one-negative", version="4.16.6"))


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("no-such-defect", "no defect and no cure has this name"),
        ("fence-ignored,sometimes=1", "a trigger has no key sometimes"),
        ("fence-ignored,every=x", "a trigger's value is no number"),
        ("fence-ignored,every=0", "every is at least 1"),
    ],
)
def test_what_the_agent_cannot_do_ends_the_process(order: str, reason: str) -> None:
    assert reason in refused(loaded(order))
