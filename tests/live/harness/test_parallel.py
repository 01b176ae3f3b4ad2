"""``fencepost run --parallel`` live: two runs at a time, both judged, and none survives an end by force."""

from __future__ import annotations

import signal

import pytest

from tests.live.running import Start, assert_as_stated, command_line, document_in

TWO = ("run", "fencing/figure", "--mode", "unprotected", "--rounds", "1", "--times", "2", "--parallel", "2")


def test_two_runs_at_a_time_are_judged_and_counted(fencepost: Start) -> None:
    run = fencepost(*TWO, "--seed", "7", "--json")
    run.wait_for_two_clusters()
    code, text = run.finish()
    runs = assert_as_stated(code, text)
    assert [one["seed"] for one in runs] == [7, 8]
    assert [(one["of"], one["as_stated"]) for one in document_in(text)["series"]] == [(2, 2)]
    run.assert_nothing_left()
    before = {path: path.read_bytes() for path in run.results.rglob("verdict.json")}
    assert len(before) == 4
    fencepost("check", *(one["folder"] for one in runs), "--quiet").ends(0)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_survives_the_end_of_the_command(number: signal.Signals, fencepost: Start) -> None:
    run = fencepost(*TWO)
    run.wait_for_two_clusters()
    run.send(number)
    code, text = run.finish()
    assert code == (130 if number is signal.SIGINT else -signal.SIGKILL), text
    run.assert_nothing_left()


def test_a_worker_that_is_killed_ends_the_command_with_its_error(fencepost: Start) -> None:
    run = fencepost(*TWO)
    run.wait_for_two_clusters()
    workers = [one for one in run.seen if "harness.experiments.worker" in command_line(one)]
    assert len(workers) == 2
    workers[0].kill()
    text = run.ends(1, "the worker died (code -9)")
    assert text.count("can be judged: ") == 2
    run.assert_nothing_left()
