"""What can be refused is refused before there is a folder, a process or a jar to fetch."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness import preparing
from harness.experiments.series import _repeated
from harness.preparing import Prepared, prepare, require_follower
from harness.request import RunRequest
from harness.vocabulary import words
from plans.exploring.seeds import HIGHEST_SEED
from plans.load import find, load
from protocol.errors import IncapableError, PlanError, UsageError
from tests.unit.plans.small import plan_of

SOAK = "soak/kill9"


@pytest.fixture(autouse=True)
def _untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is not looked at before the request has been."""

    def looked(_: Path) -> None:
        raise AssertionError("the machine was looked at")

    monkeypatch.setattr(preparing, "checks", looked)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"settings": (("for_s", "2000"),)}, "the plan soak/kill9 needs run_s 2000, its limit is 900"),
        ({"seed": -1}, "the seed -1 is outside"),
    ],
)
def test_what_the_plan_cannot_be_is_refused_at_once(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        prepare(RunRequest(scenario=SOAK, **wanted))


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("breaks: {property: durability, kind: losst}", "kind of durability `losst`; did you mean `lost`"),
        (
            "measures: {property: order, figure: folowed, at_least: 1, document: reads}",
            "figure of order `folowed`; did you mean `followed`",
        ),
    ],
)
def test_an_expected_name_that_no_checker_has_is_refused_with_the_nearest(
    stated: str, message: str, tmp_path: Path
) -> None:
    plan_of(tmp_path)
    file = tmp_path / "plan.yaml"
    file.write_text(file.read_text().replace("breaks: {property: durability}", stated))
    with pytest.raises(UsageError, match=f"unknown {message}") as refused:
        prepare(RunRequest(scenario=str(file)))
    assert refused.value.remedy == "correct `expect` of try/it"


@pytest.mark.parametrize("content", [b"=false\n", b"a=\xff\xfe\n"])
def test_so_are_settings_of_ones_own_that_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    conf = tmp_path / "bk.conf"
    conf.write_bytes(content)
    with pytest.raises(UsageError, match=r"bk\.conf"):
        prepare(RunRequest(scenario=SOAK, bookie_conf=conf))


@pytest.mark.parametrize(("named", "found"), [("elsewhere", "elsewhere"), ("", "results")])
def test_results_are_where_the_environment_says(
    named: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_RESULTS", named)
    assert RunRequest(SOAK).results == Path(found)


def test_a_second_server_of_zookeeper_is_refused_in_containers() -> None:
    plan = load(find("durability/metadata-behind"), words())
    require_follower(plan, "local")
    with pytest.raises(IncapableError, match="needs zk2, which the backend docker does not support"):
        require_follower(plan, "docker")


def test_a_mode_that_is_named_twice_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "checks", lambda _: [])
    monkeypatch.setattr(preparing, "backend", lambda _: SimpleNamespace(prepare=lambda *_: None))
    monkeypatch.setattr("cluster.releases.artifacts.class_path", lambda _: None)
    assert prepare(RunRequest(scenario=SOAK, modes=("journal", "journal"))).modes == ("journal",)


def test_so_is_the_last_run_of_a_series_before_the_first() -> None:
    plan = load(find(SOAK), words())
    first = Prepared(RunRequest(scenario=SOAK), plan, HIGHEST_SEED, ("protected",), "4.18.0")
    with pytest.raises(PlanError, match="the seed"):
        _repeated([first], 2)
