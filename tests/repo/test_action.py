"""The action for CI says only what the command line knows, and the workflows only call the action."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from cli.campaign import command
from harness.verbs import VERBS
from plans.campaign import campaigns
from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def test_the_action_uses_options_that_there_are() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    known = {option for parameter in command.params for option in parameter.opts}
    used = set(re.findall(r"(--[a-z]+)\b", text))
    assert used
    assert used <= known


def test_an_input_reaches_the_shell_as_a_variable_only() -> None:
    for step in read(ROOT / "action.yml")["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an input in a script could be a script"


def test_a_night_that_cannot_begin_shows_no_report_of_another(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    program(tmp_path / ".venv" / "bin" / "fencepost", "exit 2")
    for name in ("junit.xml", "summary.md"):
        (results / name).write_text("as expected")
    steps = read(ROOT / "action.yml")["runs"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("id") == "campaign")
    given = {"GITHUB_ACTION_PATH": tmp_path, "GITHUB_OUTPUT": tmp_path / "output", "RESULTS": results}
    inputs = {"CAMPAIGN": "gate", "BOOKKEEPER": "", "JARS": "", "SHARD": "1/1", "UNKNOWN": "fail", "VERB": ""}
    env = {"PATH": os.environ["PATH"], **{key: str(value) for key, value in given.items()}, **inputs}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], env={**env, "AS_ROOT": "false"})
    assert (done.returncode, list(results.iterdir())) == (2, [])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_only_calls_the_action_with_inputs_that_it_has(path: Path) -> None:
    inputs = read(ROOT / "action.yml")["inputs"]
    for job in read(path)["jobs"].values():
        checkout, action = job["steps"]
        assert checkout["uses"].startswith("actions/checkout@")
        if "run" in action:
            command, *words = action["run"].split()
            assert (ROOT / command).is_file()
            assert command != ".ci/run" or (ROOT / "tests" / words[-1]).is_dir()
            continue
        assert action["uses"] == "./"
        assert set(action["with"]) <= set(inputs)
        assert action["with"].get("campaign", "gate") in campaigns()
        assert action["with"].get("verb", "run").split()[0] in VERBS
