"""The completions that a shell gets for the Tab key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def asked(*arguments: str, words: str = "") -> str:
    """The output of the command as the shell's script calls it."""
    script = "import sys; sys.argv[0] = 'fencepost'; from cli.main import main; main()"
    shell = {"_FENCEPOST_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, **(shell if words else {})},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("fencepost ca", "campaign"),
        ("fencepost run bp46/tr", "bp46/truncation"),
        ("fencepost campaign ga", "gate"),
        ("fencepost run --pau", "--pause-on"),
        ("fencepost run --pause-on an", "anomaly"),
        ("fencepost run --mode prot", "protected"),
        ("fencepost campaign --bookkeeper 4.16.", "4.16.4"),
        ("fencepost run --cure preboot", "preboot-awaited"),
    ],
)
def test_what_was_begun_is_completed(words: str, offered: str) -> None:
    assert f"plain,{offered}" in asked(words=words).splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    assert f"_FENCEPOST_COMPLETE={shell}_complete" in asked("completion", shell)
