"""docs/plans.md and the generated reference name every key, step and condition; examples are plans."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from harness import vocabulary
from plans.cluster import ClusterSpec, Disks
from plans.expected.expectations import EXPECTATIONS, PROPERTIES
from plans.grammar.names import PLACEHOLDERS
from plans.grammar.sequence import CHOSEN, Chaos
from plans.grammar.steps import Load
from plans.load import read
from plans.models import Control, Limits, Plan, Source
from plans.reading.document import parse
from plans.reading.mistakes import keys_of
from plans.reading.walk import MODIFIERS
from protocol.modes import MODES

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = (DOCS / "plans.md").read_text(encoding="utf-8")
TEXT = GUIDE + (DOCS / "plan-language.md").read_text(encoding="utf-8")
STEPS, CONDITIONS = vocabulary.words().steps, vocabulary.words().conditions
MODELS = [Plan, ClusterSpec, Disks, Control, Limits, Source, Chaos]
MODELS += [*STEPS.values(), *CONDITIONS.values(), *EXPECTATIONS.values()]


def examples() -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", GUIDE, flags=re.M | re.S)


@pytest.mark.parametrize("name", [*STEPS, *CHOSEN, "together", *CONDITIONS, *EXPECTATIONS, *MODIFIERS])
def test_every_name_stands_in_the_document(name: str) -> None:
    assert f"`{name}`" in TEXT or f"\n### {name}\n" in TEXT


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_stands_in_the_document(model: Any) -> None:
    missing = [key for key in keys_of(model) if f"`{key}`" not in TEXT]
    assert missing == []


@pytest.mark.parametrize("word", [*PROPERTIES, *MODES, *PLACEHOLDERS, *keys_of(Load)])
def test_every_word_stands_in_the_document(word: str) -> None:
    assert f"`{word}`" in TEXT


def test_the_whole_plan_is_a_plan(words: Any) -> None:
    page = (DOCS / "how-to" / "write-a-scenario.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^ *```yaml\n( *name: .*?)^ *```$", page, flags=re.M | re.S)
    plan = read(parse(dedent(example), "write-a-scenario.md"), words, modes=tuple(MODES))
    assert plan.name == "mine/first"


def test_the_chaos_example_is_a_step(load_steps: Callable[..., Plan]) -> None:
    (chaos,) = [example for example in examples() if example.startswith("- chaos")]
    assert load_steps(chaos).steps
