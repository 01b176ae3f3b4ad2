"""What the narrator prints, and what it logs."""

from __future__ import annotations

import io
from pathlib import Path

from harness.narrator import Narrator


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
