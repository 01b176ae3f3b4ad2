"""The sensitivity table live: one defect is caught, the other never acts, and neither is run again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.live.running import Start

ONE_RUN = """\
name: short
runs: [{scenarios: [fencing/figure], modes: [unprotected], rounds: 1}]
"""


def test_a_table_says_which_defects_a_campaign_finds(fencepost: Start, tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(ONE_RUN, encoding="utf-8")
    markdown = tmp_path / "table.md"
    defects = ("--defect", "fence-ignored", "--defect", "auditor-skips-ledger")
    wanted = ("sensitivity", "--campaign", str(file), *defects)
    limits = ("--scenario", "fencing/figure", "--for", "1h", "--parallel", "2")
    first = fencepost(*wanted, *limits, "--markdown", str(markdown))
    code, text = first.finish()
    first.assert_nothing_left()
    assert (code, "2 defects: 1 caught, 1 never acted" in text) == (0, True), text
    rows = [line.split(" | ") for line in markdown.read_text().splitlines() if line.startswith("| f")]
    assert [(row[2], row[3].startswith("fencing/figure unprotected")) for row in rows] == [("caught", True)]
    assert "fencing" in rows[0][4].split(", ")
    assert "not expected: fencing (accepted_when_fenced) on main" in rows[0][5]
    (state,) = first.results.glob("sensitivity/short/*/campaign.json")
    done = json.loads(state.read_text())["done"]
    assert sorted(one["acted"] > 0 for one in done.values()) == [False, True]
    assert (state.parent / "sensitivity.html").is_file()
