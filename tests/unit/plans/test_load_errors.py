"""Every mistake in a plan is reported with its file, line, column, the value and what is allowed.

The mistakes and what is said about them stand in ``mistakes/``, as a reader would see them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plans.load import find, load, load_tree, scenarios
from plans.reading.document import Document, Problem, parse
from protocol.errors import PlanError

Complain = Callable[[str], str]

MISTAKES = Path(__file__).parent / "mistakes"
EMPTY = "plan.yaml:1:1: the file is empty; it must begin with `name:`"
CREATE = "- create: {client: writer, ledger: main}\n"
GOOD = """\
name: try/it
source: {document: BP-46}
about: A plan for tests.
cluster: {bookies: 3}
clients: [writer]
modes: [protected]
control: {nothing: a test}
steps: [{heal: {}}]
expect: {protected: [holds], unprotected: [{breaks: {property: durability}}]}
"""


def _blocks(name: str) -> Iterator[list[str]]:
    for block in (MISTAKES / name).read_text(encoding="utf-8").strip().split("\n\n"):
        yield block.split("\n")


def _stripped(lines: list[str], mark: str) -> str:
    return "\n".join(line[2:] for line in lines if line.startswith(mark))


def step_mistakes(name: str) -> list[Any]:
    """A step, then what is said about it after ``>``."""
    return [pytest.param(lines[0], _stripped(lines, ">"), id=lines[0]) for lines in _blocks(name)]


def head_mistakes() -> list[Any]:
    """What is taken out after ``-``, what is put in after ``+``, what is said after ``>``."""
    return [
        pytest.param(_stripped(lines, "-"), _stripped(lines, "+"), _stripped(lines, ">"), id=lines[1])
        for lines in _blocks("heads.txt")
    ]


@pytest.mark.parametrize(("step", "message"), step_mistakes("steps.txt"))
def test_a_wrong_step(step_complaint: Complain, step: str, message: str) -> None:
    assert step_complaint(step) == message


@pytest.mark.parametrize(("step", "message"), step_mistakes("steps_after_create.txt"))
def test_a_wrong_step_after_create(step_complaint: Complain, step: str, message: str) -> None:
    assert step_complaint(CREATE + step) == message


@pytest.mark.parametrize(("old", "new", "message"), head_mistakes())
def test_a_wrong_head(complaint: Complain, old: str, new: str, message: str) -> None:
    assert GOOD.count(old) >= 1
    text = GOOD.replace(old, new.replace("<TAB>", "\t").replace("<NUL>", "\0"), 1)
    assert complaint(text) == message


def test_the_head_without_a_mistake_loads(load_text: Callable[..., Any]) -> None:
    assert load_text(GOOD).name == "try/it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", EMPTY),
        ("# only a comment\n", EMPTY),
        ("- a\n- b\n", "plan.yaml:1:1: a plan is a mapping, not a list"),
        ("truncation\n", "plan.yaml:1:1: a plan is a mapping, not `truncation`"),
    ],
)
def test_what_is_no_plan_at_all(complaint: Complain, text: str, message: str) -> None:
    assert complaint(text) == message


def test_a_text_with_too_many_brackets_is_no_plan(complaint: Complain) -> None:
    assert complaint("a: " + "[" * 3000).startswith(
        "plan.yaml: this is no YAML text: maximum recursion depth"
    )


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(complaint: Complain) -> None:
    text = GOOD.replace("bookies: 3", "bookies: x").replace("{heal: {}}", "{kil: {}}, {heal: 3}")
    text += "allowance: {protected: {each: -1}}\n"
    assert complaint(text).split("\n")[0] == "plan.yaml has 4 problems"
    places = [line.strip().split(": ")[0] for line in complaint(text).split("\n")[1:]]
    assert places == ["plan.yaml:4:20", "plan.yaml:8:10", "plan.yaml:8:27", "plan.yaml:10:31"]


def test_a_mistake_in_a_branch_of_together(step_complaint: Complain) -> None:
    steps = """\
    - together:
        - - heal: {}
          - kill: {target: b4}
        - - chaos:
              for_s: 5
              every_s: [1, 2]
              restart_after_s: [1, 2]
              faults:
                - cut: {from: any-client, to: any-client}
    """
    assert step_complaint(steps) == (
        "plan.yaml has 2 problems\n"
        "  plan.yaml:13:24: unknown server `b4`; allowed: b1, b2, b3, reader, writer, zk1\n"
        "  plan.yaml:19:43: `any-client` cannot stand here; allowed placeholders: any-bookie"
    )


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(b"name: \xff\xfe")
    with pytest.raises(PlanError, match=r"plan\.yaml: the file cannot be read as UTF-8 text"):
        load(path, {})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"there is no plan file .*absent\.yaml"):
        load(tmp_path / "absent.yaml", {})


def test_a_value_that_repeats_itself() -> None:
    with pytest.raises(PlanError, match=r"f\.yaml:1:4: this alias stands inside the value it repeats"):
        parse("a: &a\n  - b\n  - *a\n", "f.yaml")


def test_a_saved_plan_names_the_path_where_there_are_no_lines(words: Any) -> None:
    with pytest.raises(PlanError) as caught:
        load_tree({"steps": [{"start": {"target": "b1", "timeout_s": 0}}], "expect": {}}, words)
    assert "run.json: at steps[0].start.timeout_s: `timeout_s` is 0" in str(caught.value)


def test_a_problem_without_a_place_of_its_own_gets_that_of_what_it_stands_in() -> None:
    document = parse("a:\n  b: {c: 1}\n", "f.yaml")
    assert document.where(Problem(("a", "b", "c"), "")) == "f.yaml:2:10"
    assert document.where(Problem(("a", "b", "c"), "", at_key=True)) == "f.yaml:2:7"
    assert document.where(Problem(("a", "b", "missing"), "")) == "f.yaml:2:6"
    assert Document("f.json", {}).where(Problem((), "")) == "f.json"


def test_an_unknown_scenario_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "bp46").mkdir()
    (tmp_path / "bp46" / "truncation.yaml").write_text(GOOD)
    assert scenarios(tmp_path) == ["bp46/truncation"]
    assert find("bp46/truncation", root=tmp_path) == tmp_path / "bp46" / "truncation.yaml"
    with pytest.raises(PlanError, match="unknown scenario `bp46/trunkation`; did you mean `bp46/truncat"):
        find("bp46/trunkation", root=tmp_path)
    with pytest.raises(PlanError, match=r"there is no plan file .*/mine\.yaml"):
        find("mine.yaml", root=tmp_path)


def test_a_large_plan_loads_in_time(load_steps: Callable[..., Any]) -> None:
    began = time.monotonic()
    plan = load_steps("- heal: {}\n" * 500)
    assert len(plan.steps) == 500
    assert time.monotonic() - began < 10
