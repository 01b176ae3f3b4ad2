"""BP-46's scenario 2 through the command line: three modes, judged, judged again, explained."""

from __future__ import annotations

import zipfile

from tests.live.running import Fencepost, Start, assert_as_stated


def test_unprotected_loses_acknowledged_entries_and_the_others_do_not(fencepost: Start) -> None:
    run = fencepost("run", "bp46/truncation", "--json")
    run.look()
    modes = assert_as_stated(*run.finish())[0]["modes"]
    assert {mode: result["judgements"]["durability"]["verdict"] for mode, result in modes.items()} == {
        "unprotected": "anomaly",
        "protected": "valid",
        "journal": "valid",
    }
    lost = [
        one for one in modes["unprotected"]["judgements"]["durability"]["findings"] if one["kind"] == "lost"
    ]
    assert [(one["first_entry"], one["last_entry"], one["count"]) for one in lost] == [(0, 49, 50)]
    # b3 acknowledged them too and never died: the close cut them off, no crash explains that.
    assert all(one["loss"] == "unexplained" for one in lost)
    closed = modes["unprotected"]["judgements"]["closing"]["findings"]
    assert [one["kind"] for one in closed] == ["closed_below"]
    run.assert_nothing_left()
    _the_same_verdict_again(fencepost, run)
    _explained(fencepost, run)
    _given_to_others(fencepost, run)


def _the_same_verdict_again(fencepost: Start, run: Fencepost) -> None:
    before = {path: path.read_bytes() for path in run.results.rglob("verdict.json")}
    assert len(before) == 4
    fencepost("check", "latest", "--quiet").ends(0)
    assert {path: path.read_bytes() for path in before} == before


def _explained(fencepost: Start, run: Fencepost) -> None:
    text = fencepost("explain", str(next(run.results.rglob("unprotected"))), "main:49").ends(0)
    for result in ("add: ok", "CLOSED at -1, below this entry", "kill b1", "census 2: absent"):
        assert result in text


def _given_to_others(fencepost: Start, run: Fencepost) -> None:
    """The page is there, and the bundle, judged elsewhere, brings the same verdicts without our paths."""
    assert "50 of 50 acknowledged entries lost" in (run.results / "latest" / "report.html").read_text()
    bundle = run.results.parent / "given.zip"
    fencepost("bundle", "latest", "-o", str(bundle)).ends(0)
    with zipfile.ZipFile(bundle) as archive:
        traitors = [name for name in archive.namelist() if bytes(run.results) in archive.read(name)]
    assert traitors == []
    fencepost("check", str(bundle)).ends(0, "byte for byte")
    fencepost("explain", str(bundle), "main:49").ends(0, "CLOSED at -1, below this entry")
    fencepost("report", str(bundle)).ends(0)
    assert "50 of 50 acknowledged entries lost" in bundle.with_suffix(".html").read_text()
