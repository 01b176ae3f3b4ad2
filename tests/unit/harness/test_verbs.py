"""What is printed, and that a reader can paste a command from it into the current shell."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import verbs
from harness.narrator import Narrator
from harness.verbs import typed
from tests.programs import program

Started = Callable[[str], Path]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """Starts `fencepost` as a file below the working directory, with nothing on PATH."""

    def start(place: str) -> Path:
        script = program(tmp_path / place / "fencepost", "echo ran")
        monkeypatch.setattr(sys, "argv", [str(script), "run"])
        verbs._program.cache_clear()
        return script

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    yield start
    verbs._program.cache_clear()


def test_a_command_is_spelled_by_the_path_of_the_program_that_runs(started: Started) -> None:
    started("checkout/.venv/bin")
    assert (
        typed("repeat:  fencepost run a --seed 1") == "repeat:  checkout/.venv/bin/fencepost run a --seed 1"
    )
    assert typed("`fencepost check` judges") == "`checkout/.venv/bin/fencepost check` judges"


def test_from_far_away_the_whole_path_is_the_shorter_one(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = started("bin")
    far = tmp_path.joinpath(*"abcdefghijklmnop" * 4)
    far.mkdir(parents=True)
    monkeypatch.chdir(far)
    assert typed("fencepost check latest") == f"{script} check latest"


@pytest.mark.parametrize("place", ["my tools/bin", "."])
def test_a_shell_runs_what_was_printed(started: Started, place: str) -> None:
    started(place)
    words = shlex.split(typed("fencepost list runs"))
    assert words[1:] == ["list", "runs"]
    assert (
        subprocess.run(["/bin/sh", "-c", typed("fencepost list runs")], capture_output=True).stdout
        == b"ran\n"
    )


def test_the_name_alone_where_path_leads_to_this_program_and_only_there(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = started("other").parent
    script = started("bin")
    monkeypatch.setenv("PATH", str(other))
    assert typed("fencepost run a") == "bin/fencepost run a"
    verbs._program.cache_clear()
    monkeypatch.setenv("PATH", f"{script.parent}:{other}")
    assert typed("fencepost run a") == "fencepost run a"


def test_other_words_and_paths_stay(started: Started) -> None:
    started("bin")
    for text in ("fencepost: interrupted", "results/fencepost run", "fencepost runs", "fencepost/proxy"):
        assert typed(text) == text


def test_quiet_keeps_lines_from_the_stream_but_not_from_the_log(tmp_path: Path) -> None:
    stream = io.StringIO()
    narrator = Narrator(stream, quiet=True)
    with narrator.logging_to(tmp_path / "harness.log"):
        narrator.event("kill b1")
    assert stream.getvalue() == ""
    assert "kill b1" in (tmp_path / "harness.log").read_text()


def test_no_colour_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    Narrator(stream).line("lost", style="red")
    assert stream.getvalue() == "lost\n"
