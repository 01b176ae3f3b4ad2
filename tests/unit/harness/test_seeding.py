"""A run with a seeded defect or a cure: which processes load it, what its reports say, who refuses it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from cli.explain import command as explain
from cluster.processes.settings import RunSpec
from cluster.processes.site import JavaProgram, agent_options
from cluster.releases import artifacts
from evidence.folder import FORMAT, FoundRun, RunFolder, write_json
from evidence.seeding import releases_text
from harness.bundles import reading
from harness.preparing import require_changeable, with_changes
from harness.vocabulary import words
from plans.load import find, load
from plans.models import Plan, plan_tree
from protocol.errors import IncapableError, UsageError
from protocol.modes import MODES
from reports.explain import story
from reports.results import repeat_command
from reports.seeded import seeded_lines
from search import replay
from search.replay import Again

DEFECT = "ack-quorum-minus-one"
CURE = "preboot-awaited"
ACTED = f'fencepost-agent {{"event":"acted","defect":"{DEFECT}","number":1,"ledger":-1}}'
INSTALLED = f'fencepost-agent {{"event":"installed","defect":"{DEFECT}"}}'


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSpec:
    monkeypatch.setattr(artifacts, "agent_jar", lambda: Path("/agent.jar"))
    folder = RunFolder.create(tmp_path, "protected")
    write_json(folder.run_json, {"format": FORMAT, "plan": {"cluster": {"seed_defects": [DEFECT]}}})
    return RunSpec(folder, MODES["protected"], clients=("writer",), changes=(DEFECT, "fence-ignored"))


@pytest.mark.parametrize(
    ("changes", "loaded"),
    [
        ((), {}),
        ((DEFECT, "fence-ignored"), {"writer": DEFECT, **dict.fromkeys(("b1", "b2"), "fence-ignored")}),
        (("fence-ignored,process=b2,every=3",), {"b2": "fence-ignored,every=3"}),
        (("none",), dict.fromkeys(("writer", "b1", "b2", "ar1"), "none")),
    ],
)
def test_only_the_processes_of_a_defect_load_the_agent(
    spec: RunSpec, changes: tuple[str, ...], loaded: dict[str, str]
) -> None:
    for name in ("writer", "b1", "b2", "ar1", "observer", "zk1", "admin"):
        program = JavaProgram("Main", "4.18.0", Path("/run") / name, 2, "role")
        orders = [f"-javaagent:/agent.jar={loaded[name]},boot=2"] if name in loaded else []
        assert agent_options(replace(spec, changes=changes), program) == orders, name


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ([INSTALLED, ACTED, ACTED, "fencepost-agent {cut off"], "acted (writer 2 times)"),
        ([INSTALLED, f"a client wrote {ACTED}"], "never acted; the run says nothing about it"),
        (["started"], "was not installed"),
    ],
)
def test_reports_say_how_often_a_defect_acted(spec: RunSpec, log: list[str], says: str) -> None:
    server = spec.folder.servers / "writer"
    server.mkdir()
    (server / "boot-1.log").write_text("\n".join(log) + "\n")
    (line,) = seeded_lines(spec.folder)
    assert line.startswith(f"MODIFIED BookKeeper, not a release: seeded defect {DEFECT} {says}")


def test_a_run_without_defects_has_no_such_line(spec: RunSpec) -> None:
    write_json(spec.folder.run_json, {"format": FORMAT, "plan": {"cluster": {}}})
    assert seeded_lines(spec.folder) == []


def figure(*defects: str) -> Plan:
    """A plan of three bookies and the clients writer and recoverer, with these defects."""
    return with_changes(load(find("fencing/figure"), words()), defects, ())


def test_defects_are_refused_on_other_backends_and_releases(spec: RunSpec) -> None:
    require_changeable(figure(), ["4.14.7"], "docker")
    require_changeable(figure(DEFECT), ["4.15.0", "4.18.0"], "local")
    with pytest.raises(IncapableError, match="backend docker"):
        require_changeable(figure(DEFECT), ["4.18.0"], "docker")
    with pytest.raises(UsageError, match=r"needs BookKeeper >=4.15, not 4.14.7"):
        require_changeable(figure(DEFECT), ["4.18.0", "4.14.7"], "local")


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("fence-ignored,process=b9", "unknown process `b9`"),
        ("fence-ignored,process=writer", "unknown process `writer`"),
        (f"{DEFECT},process=b1", "unknown process `b1`"),
    ],
)
def test_a_process_that_cannot_have_the_defect_is_refused(spec: RunSpec, order: str, reason: str) -> None:
    require_changeable(figure("fence-ignored,process=b3", f"{DEFECT},process=writer"), ["4.18.0"], "local")
    with pytest.raises(UsageError, match=reason):
        require_changeable(figure(order), ["4.18.0"], "local")


def test_the_agent_alone_changes_no_release(spec: RunSpec) -> None:
    require_changeable(figure("none"), ["4.14.7", "4.18.0"], "local")
    facts = {"versions": {"b1": "4.18.0"}, "bookies": ["b1"], "plan": {"cluster": {"seed_defects": ["none"]}}}
    assert releases_text(facts) == "4.18.0 with the agent, unchanged"
    write_json(spec.folder.run_json, {"format": FORMAT, **facts})
    assert seeded_lines(spec.folder) == ["Unchanged BookKeeper with the agent (loaded in no boots)"]
    for boot in (1, 2):
        log = spec.folder.servers / "b1" / f"boot-{boot}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text('fencepost-agent {"event":"installed","defect":"none"}\n')
    assert seeded_lines(spec.folder) == ["Unchanged BookKeeper with the agent (loaded in 2 boots)"]


def test_a_modified_release_is_not_named_like_a_release() -> None:
    facts = {"versions": {"b1": "4.18.0", "b2": "4.18.0", "zk1": "x"}, "bookies": ["b1", "b2"]}
    assert releases_text(facts) == "4.18.0"
    seeded = {**facts, "plan": {"cluster": {"seed_defects": [DEFECT]}}}
    assert releases_text(seeded) == f"4.18.0 MODIFIED ({DEFECT})"
    cured = {**facts, "plan": {"cluster": {"cures": [CURE]}}}
    assert releases_text(cured) == f"4.18.0 MODIFIED (cure {CURE})"


def test_explain_begins_with_what_was_changed(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    found = FoundRun(spec.folder.path.parent, (spec.folder,))
    monkeypatch.setattr(reading, "opened", lambda *_, **__: nullcontext(found))
    monkeypatch.setattr(story, "in_planned_order", list)
    monkeypatch.setattr(story, "_explain_mode", lambda *_: iter(["main (ledger 1)"]))
    done = CliRunner().invoke(explain, ["run", "1"])
    first, second = done.output.splitlines()
    assert first.startswith(f"MODIFIED BookKeeper, not a release: seeded defect {DEFECT} was not installed")
    assert second == "main (ledger 1)"


def test_a_replay_begins_with_what_its_run_changed(spec: RunSpec) -> None:
    lines: list[str] = []
    again = Again(spec.folder, figure(DEFECT), 1, "protected", "4.18.0", frozenset(), measured=True)
    status: Any = SimpleNamespace(line=lambda text, **_: lines.append(text))
    replay._introduce(again, 1, status)
    assert lines[0] == f"MODIFIED BookKeeper, not a release: seeded defect {DEFECT}"
    assert replay._json(again, [])["modified"] == lines[:1]
    assert replay._json(replace(again, plan=figure()), [])["modified"] == []


def test_a_cure_is_added_to_the_plan_and_the_run_says_so_and_how_to_repeat_it(spec: RunSpec) -> None:
    plan = with_changes(load(find("fencing/figure"), words()), (), (CURE,))
    tree = plan_tree(plan)
    assert tree["cluster"]["cures"] == [CURE]
    write_json(spec.folder.run_json, {"format": FORMAT, "plan": tree})
    (line,) = seeded_lines(spec.folder)
    assert line.startswith(f"MODIFIED BookKeeper, not a release: cure {CURE} was not installed")
    facts = {"source": "x", "seed": 1, "bookkeeper": "4.18.0", "mode": "protected", "plan": tree}
    assert repeat_command([facts]).endswith(f" --cure {CURE}")
    with pytest.raises(UsageError, match="unknown cure `fence-ignored`"):
        with_changes(plan, (), ("fence-ignored",))
