"""``fencepost check --history`` says what a file shows, and ends with the code that goes with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.check import command
from evidence.exchange.jepsen import jepsen_lines
from protocol.errors import EvidenceError
from tests.histories.log_story import Txn, append, ok, read, story

FRESH = ok(append("x", 1)).by(1).at(0, 1), ok(read("x", 1)).by(2).at(2, 3)
STALE = ok(append("x", 1)).by(1).at(0, 1), ok(read("x")).by(2).at(2, 3), ok(read("x", 1)).by(2).at(4, 5)
UNREAD = (ok(append("x", 1)).by(1).at(0, 1),)


def history(tmp_path: Path, *rows: Txn) -> str:
    path = tmp_path / "history.edn"
    path.write_text("\n".join(jepsen_lines(story(*rows))) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("rows", "code", "last"),
    [
        (FRESH, 0, "valid; exit 0: nothing contradicts strict-serializable"),
        (UNREAD, 3, "unknown; exit 3: not enough to judge by; it takes for strict-serializable"),
        (STALE, 4, "anomaly; exit 4: not strict-serializable: G-single-realtime (1)"),
    ],
)
def test_the_last_line_says_the_code_and_why(
    tmp_path: Path, rows: tuple[Txn, ...], code: int, last: str
) -> None:
    done = CliRunner().invoke(command, ["--history", history(tmp_path, *rows)], standalone_mode=False)
    assert done.return_value == code
    assert done.output.splitlines()[-1].startswith(last)


def test_a_weaker_model_may_allow_it(tmp_path: Path) -> None:
    arguments = ["--history", history(tmp_path, *STALE), "--model", "serializable", "--quiet"]
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert done.return_value == 0
    assert len(done.output.splitlines()) == 1


def test_the_judgement_comes_as_json(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        command, ["--history", history(tmp_path, *STALE), "--json"], standalone_mode=False
    )
    result = json.loads(done.output)
    assert (result["exit"], result["verdict"], result["counts"]) == (4, "anomaly", {"G-single-realtime": 1})
    assert result["findings"][0]["proof"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "serializable"], "--model goes with --history"),
        (["--history", "HERE", "latest"], "leave out latest"),
    ],
)
def test_options_that_contradict_are_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    path = history(tmp_path, *FRESH)
    done = CliRunner().invoke(command, [path if one == "HERE" else one for one in arguments])
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize("name", ["h.edn", "h.json"])
@pytest.mark.parametrize("text", ["[" * 5000, "9" * 5000, '{":type": ' + "[" * 5000])
def test_a_form_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text("\n" + text)
    done = CliRunner().invoke(command, ["--history", str(path)])
    assert isinstance(done.exception, EvidenceError), done.exception
    assert f"{name}, line" in str(done.exception)
