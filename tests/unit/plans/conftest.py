"""Faults, a workload and a small plan to try the loader on, independent of the registries of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Literal

import pytest
from pydantic import Field, model_validator

from harness.vocabulary import words as every
from plans.grammar.names import PLACEHOLDERS, ClientName, DestinationName, Params, ServerName, SourceName
from plans.grammar.sequence import Vocabulary
from plans.grammar.steps import Load
from plans.load import load
from plans.models import Plan
from protocol.errors import PlanError
from tests.unit.plans.small import HEAD


class Hit(Params):
    target: ServerName


class Cut(Params):
    source: SourceName = Field(alias="from")
    destination: DestinationName = Field(alias="to")
    way: Literal["requests", "answers", "both"] = "both"

    @model_validator(mode="after")
    def _two_ends(self) -> Cut:
        if self.source == self.destination and self.source not in PLACEHOLDERS:
            raise ValueError("a link has two ends")
        return self


class Append(Load):
    clients: tuple[ClientName, ...]
    rate_per_s: float = 100


FAULTS = {"cut": Cut, "isolate": Hit, "kill": Hit, "pause": Hit, "slow": Cut, "stop": Hit}
WORKLOADS = {"append": Append}


@pytest.fixture(scope="session")
def words() -> Vocabulary:
    return replace(every(), faults=FAULTS, workloads=WORKLOADS)


@pytest.fixture
def load_text(tmp_path: Path, words: Vocabulary) -> Callable[..., Plan]:
    """Loads a plan from its whole text, with settings for its parameters."""

    def load_it(text: str, **settings: object) -> Plan:
        path = tmp_path / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path, words, settings=settings)

    return load_it


@pytest.fixture
def load_steps(load_text: Callable[..., Plan]) -> Callable[..., Plan]:
    """Loads a plan with a good head and the given steps (from line 11 on)."""

    def load_it(steps: str, **settings: object) -> Plan:
        return load_text(HEAD + dedent(steps), **settings)

    return load_it


@pytest.fixture
def complaint(load_text: Callable[..., Plan], tmp_path: Path) -> Callable[[str], str]:
    """What the loader says about a whole text, the folder left out."""

    def complain(text: str) -> str:
        with pytest.raises(PlanError) as caught:
            load_text(text)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return complain


@pytest.fixture
def step_complaint(complaint: Callable[[str], str]) -> Callable[[str], str]:
    """What the loader says about steps under a good head (the first is line 11)."""

    def complain(steps: str) -> str:
        return complaint(HEAD + dedent(steps))

    return complain
