"""``scripts/compare-elle``: what Elle prints beside what we find. Elle is a script here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.logs.elle import WANTED, compare, our_name, parse
from evidence.exchange.jepsen import jepsen_lines
from evidence.findings import Verdict
from protocol.errors import JudgementError, UsageError
from tests.histories.log_story import append, ok, read, story
from tests.programs import program

STALE = ok(append("x", 1)).by(1).at(0, 1), ok(read("x")).by(2).at(2, 3), ok(read("x", 1)).by(2).at(4, 5)


def compared(tmp_path: Path, elle: str, run_by: str = "java") -> Result:
    """One history in which an append is missing from a later read, judged by both."""
    history, jar = tmp_path / "stale.edn", tmp_path / "elle.jar"
    history.write_text("\n".join(jepsen_lines(story(*STALE))) + "\n")
    (tmp_path / "said").write_text(elle)
    program(tmp_path / "java", f'echo "$@" > {tmp_path}/asked\ncat {tmp_path}/said')
    jar.touch()
    arguments = [str(history), "--jar", str(jar), "--java", str(tmp_path / run_by)]
    return CliRunner().invoke(compare, arguments, standalone_mode=False)


def elle(valid: Any, *classes: str) -> str:
    return "warming up\n" + json.dumps(
        {"valid?": valid, "anomaly-types": list(classes), "anomalies": {}}, indent=1
    )


@pytest.mark.parametrize(
    ("output", "code", "text"),
    [
        (elle(False, "G-single-item-realtime"), 0, "same"),
        (elle(False, "G2-item-realtime"), 3, "classes differ"),
        (elle(True), 4, "verdicts differ"),
        (elle("unknown"), 4, "verdicts differ"),
    ],
)
def test_the_code_says_what_differs(tmp_path: Path, output: str, code: int, text: str) -> None:
    done = compared(tmp_path, output)
    assert done.return_value == code
    row = done.output.splitlines()[-1]
    assert row.startswith("| stale.edn | anomaly: G-single-realtime | ")
    assert f"| {text} |" in row
    asked = (tmp_path / "asked").read_text()
    assert "--model list-append --output json --consistency-models strict-serializable" in asked


def test_what_cannot_be_read_is_an_error_with_what_elle_said(tmp_path: Path) -> None:
    done = compared(tmp_path, "java.lang.OutOfMemoryError\n")
    assert isinstance(done.exception, JudgementError)
    assert "OutOfMemoryError" in str(done.exception)


@pytest.mark.parametrize("jar", [None, "nowhere.jar"])
def test_without_the_jar_it_says_where_to_get_it(tmp_path: Path, jar: str | None) -> None:
    history = tmp_path / "history.edn"
    history.touch()
    arguments = [str(history), *(["--jar", jar] if jar else [])]
    done = CliRunner(env={"ELLE_CLI_JAR": None}).invoke(compare, arguments, standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert done.exception.remedy == WANTED


def test_a_java_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert isinstance(compared(tmp_path, "", run_by="nothing").exception, UsageError)


@pytest.mark.parametrize(
    ("elles", "ours"),
    [
        ("G-single-item", "G-single"),
        ("G-nonadjacent-item-process", "G-nonadjacent-process"),
        ("G2-item-realtime", "G2-item-realtime"),
        (":G0", "G0"),
        ("incompatible-order", "incompatible-order"),
    ],
)
def test_names_are_told_in_ours(elles: str, ours: str) -> None:
    assert our_name(elles) == ours


def test_a_keyword_is_no_verdict_but_unknown() -> None:
    assert parse(elle("unknown")) == (Verdict.UNKNOWN, frozenset())
    assert parse("no json") is None
