"""What report.html holds of a run, and that nothing in the evidence can act in it."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from evidence.codes import NEVER
from reports.document import ASSETS
from reports.explain.moments import Event, Moment
from reports.explain.story import story_of
from reports.issue import issue_markdown
from reports.page import proof as proofs
from reports.page.diagram import diagram
from reports.page.proof import Proof, proof_of, shortened, without_later_deaths
from reports.page.stored import stored_modes
from reports.page.timeline import timeline
from reports.page.writing import page, write_page
from tests.unit.reports.stored_run import BEGAN, HOSTILE, S, stored_run


def test_the_verdict_comes_first_and_the_lost_entry_has_its_picture(tmp_path: Path) -> None:
    text = write_page(stored_run(tmp_path)).read_text()
    places = [text.index(word) for word in ("1 of 50 acknowledged", "Findings", "The life of", "Over time")]
    assert places == sorted(places)
    assert "The life of main (ledger 4) entry 49" in text
    assert "recovery read: ENOENTRY" in text
    assert "fencepost run bp46/truncation --seed 7 --bookkeeper 4.18.0" in text


def test_nothing_in_the_evidence_becomes_markup(tmp_path: Path) -> None:
    text = write_page(stored_run(tmp_path, hostile=HOSTILE)).read_text()
    assert "onerror" in text
    assert "<img" not in text
    assert text.count("</script>") == text.count("<script")


def test_a_page_asks_nothing_of_anybody(tmp_path: Path) -> None:
    text = write_page(stored_run(tmp_path)).read_text()
    assert "default-src 'none'" in unescape(text)
    assert not re.search(r"<(img|iframe|object|embed|base|form)\b", text)
    outside = re.sub(r"(?s)<(script|style).*?</\1>", "", text)
    assert not re.search(r"""(src|href|action)="(?!#)""", outside)
    assert not re.search(r"@import|url\((?!#)", text)


def test_no_asset_can_end_its_element() -> None:
    for path in ASSETS.rglob("*.[cj]s*"):
        assert not re.search(r"</(script|style)", path.read_text(), re.IGNORECASE), path


def test_a_run_that_lost_nothing_shows_how_its_last_entry_lived(tmp_path: Path) -> None:
    (mode,) = stored_modes(stored_run(tmp_path, modes=["protected"]))
    proof = proof_of(mode)
    assert proof is not None
    assert proof.subject == "main:49"
    assert proof.why.startswith("no finding")
    assert proof.lanes == ["writer", "b1", "b2", "b3", "recoverer", "metadata"]


def test_a_run_that_was_never_judged_is_shown_as_unknown_with_the_next_step(tmp_path: Path) -> None:
    found = stored_run(tmp_path, modes=["protected"])
    (found.path / "verdict.json").unlink()
    folder = found.modes[0]
    folder.verdict_json.unlink()
    (folder.tables / "collected.json").unlink()
    text = page(stored_modes(found))
    assert "? unknown" in text
    assert "not judged to its end; `fencepost check` does that" in text
    assert "what it rests on" not in text, "a table of nothing"
    assert "No pictures" in text


def test_findings_are_told_also_where_the_tables_are_gone(tmp_path: Path) -> None:
    found = stored_run(tmp_path, modes=["unprotected"])
    shutil.rmtree(found.modes[0].tables)
    text = page(stored_modes(found))
    assert "writer got ok for entry 49" in text
    assert "No pictures" in text


def test_deaths_of_a_bookie_that_had_lost_the_entry_already_are_left_out_until_it_acts() -> None:
    end, gone, begun = Event.KILLED, Event.LACKED, Event.BEGAN
    events = [end, gone, begun, end, gone, begun, None, end]
    moments = [Moment(number, 0, "b1", "words", event=event) for number, event in enumerate(events)]
    assert [one.at_ns for one in without_later_deaths(moments)] == [0, 1, 2, 6, 7]


def test_a_shortened_story_keeps_what_decided_and_says_where_it_has_gaps() -> None:
    moments = [Moment(number, 0, "nemesis", f"fault {number}") for number in range(100)]
    for number in (50, 51):
        moments[number] = Moment(number, 0, "b2", "recovery read: ENOENTRY", "reader", decides=True)
    moments[52] = Moment(52, 0, "metadata", "words", decides=True, event=Event.CLOSED)
    kept, gaps = shortened(moments, 9)
    assert [one.at_ns for one in kept] == [0, 1, 2, 50, 51, 52, 97, 98, 99]
    assert gaps == {3: 47, 6: 44}
    assert shortened(moments, 100) == (moments, {})


def test_of_very_many_answers_those_nearest_to_the_close_are_kept() -> None:
    moments = [Moment(number, 0, "b2", "recovery read: EOK", "r", decides=True) for number in range(100)]
    moments[40] = Moment(40, 0, "metadata", "words", decides=True, event=Event.CLOSED)
    kept, gaps = shortened(moments, 8)
    assert [one.at_ns for one in kept] == [37, 38, 39, 40, 41, 42]
    assert gaps == {0: 37, 6: 57}


def test_a_gap_is_drawn_where_moments_are_left_out() -> None:
    moments = [Moment(1, 0, "writer", "add: ok"), Moment(9, 0, "metadata", "version 2: CLOSED at 0")]
    drawn = diagram(Proof("t", "main:1", "why", ["writer", "metadata"], moments, {1: 3}), 0)
    assert drawn.index("add: ok") < drawn.index("3 moments left out") < drawn.index("CLOSED at 0")


def test_a_drawing_does_not_depend_on_the_words_of_a_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mode,) = stored_modes(stored_run(tmp_path, modes=["unprotected"]))
    drawn = proof_of(mode)
    assert drawn is not None
    assert {one.tone for one in drawn.moments} >= {"good", "bad", "fault"}
    story = story_of(mode, 4, 49)
    words = {
        what: f"words {number}"
        for number, what in enumerate(dict.fromkeys(one.what for one in story.moments))
    }
    reworded = replace(story, moments=[replace(one, what=words[one.what]) for one in story.moments])
    monkeypatch.setattr(proofs, "story_of", lambda *_: reworded)
    other = proof_of(mode)
    assert other is not None
    pictures = [
        re.sub(r"<span>.*?</span></p>", "", str(diagram(one, mode.began_ns))) for one in (drawn, other)
    ]
    assert pictures[0] == pictures[1]


def test_an_arrow_goes_to_each_receiver_and_a_fault_lies_between_its_ends() -> None:
    moments = [
        Moment(1, 0, "writer", "add", "b3, b1", join=True),
        Moment(2, 0, "nemesis", "words", targets=("writer", "b2")),
        Moment(3, 0, "b1 boot 2", "begins"),
    ]
    drawn = diagram(Proof("t", "main:1", "why", ["writer", "b1", "b2", "b3"], moments, {}), 0)
    assert drawn.count('class="arrow"') == 2
    assert drawn.count('class="cut"') == 1
    assert drawn.count('class="cross"') == 2
    assert 'x1="12.50%" x2="87.50%"' in drawn


def test_the_timeline_has_boots_faults_and_the_flagged_ledger(tmp_path: Path) -> None:
    (mode, _) = stored_modes(stored_run(tmp_path))
    tree: Any = timeline(mode)
    lanes = {lane["name"]: lane for lane in tree["servers"]}
    assert [bar[3] for bar in lanes["b1"]["bars"] if bar[3]] == ["boot 1", "boot 2"]
    assert tree["faults"] == [[3.0, 4.0, "fault", "kill b1", "fault 1 (kill b1)"]]
    assert [lane["name"] for lane in tree["ledgers"] if lane["flagged"]] == ["main"]
    assert tree["ledgers"][0]["bars"][-1][3] == "closed at 48"
    assert tree["ledgers"][0]["marks"][0][4] == "b1 boot 2 -> recoverer: recovery read of entry 49: ENOENTRY"
    assert tree["shown"] == tree["acted"]
    assert tree["end"] == 9.0
    assert NEVER > BEGAN


def test_a_step_that_could_not_be_carried_out_stands_in_the_timeline_with_its_error(tmp_path: Path) -> None:
    found = stored_run(tmp_path, modes=["unprotected"])
    fields = {"step": "wait_for", "planned": "ok", "error": "b1 is silent"}
    fields |= {"began_ns": BEGAN, "ended_ns": BEGAN}
    with found.modes[0].steps.open("a") as file:
        file.write(json.dumps(fields) + "\n")
    (mode,) = stored_modes(found)
    assert timeline(mode)["steps"][-1][2:] == ["step odd", "wait_for", "b1 is silent"]


def test_a_run_of_several_rounds_shows_the_round_of_its_finding(tmp_path: Path) -> None:
    found = stored_run(tmp_path, modes=["unprotected"])
    with found.modes[0].steps.open("a") as file:
        for number, (began, ended) in enumerate(((0, 8), (20, 30)), start=1):
            step = {"step": "kill", "planned": "ok", "outcome": "ok", "text": f"kill of round {number}"}
            times = {"round": number, "began_ns": BEGAN + began * S, "ended_ns": BEGAN + ended * S}
            file.write(json.dumps(step | times) + "\n")
    (mode,) = stored_modes(found)
    assert mode.round_of(4) == (BEGAN, BEGAN + 8 * S)
    assert timeline(mode)["shown"] == [0.0, 8.0]
    text = issue_markdown(found)
    assert "Round 1 of 2" in text
    assert "kill of round 1" in text
    assert "kill of round 2" not in text
