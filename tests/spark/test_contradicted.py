"""A record that disagrees with itself is damage, also when it was closed like that: nothing is valid then."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from evidence.raw.history import SLOT_BYTES
from tests import inline
from tests.doctoring import Doctor, cut_behind, no_faults, of_the_writer, torn
from tests.spark.rawfolder import Story, make

STORY = Story({4: 50})
SLOTS = 52  # create, adds, close
PLAN = {"steps": [{"kill": {"target": "b1"}}]}
KILLED = {"server": "b1", "boot": 1, "event": "exit", "code": None, "signal": 9, "at_ns": 2}
ENDED = [
    {"server": "writer", "boot": 1, "event": "recorded", "slots": SLOTS, "ended": SLOTS, "at_ns": 10**12},
    {"server": "observer", "boot": 1, "event": "recorded", "slots": 1, "ended": 1, "at_ns": 10**12},
    *(
        {"server": name, "boot": 1, "event": "exit", "code": 0, "at_ns": 10**12}
        for name in ("writer", "observer")
    ),
]


def judged(path: Path, doctored: Doctor, *, reported: bool = True) -> RunVerdict:
    events = [KILLED, *(ENDED if reported else ENDED[2:])]
    folder = make(path, STORY, plan=PLAN, events=events, doctored=doctored)
    return inline.judged(folder)


def last_add_without_end(content: bytearray) -> None:
    end = (2 + 50) * SLOT_BYTES
    content[end - SLOT_BYTES // 2 : end] = bytes(SLOT_BYTES // 2)


def second_boot(folder: RunFolder) -> None:
    with folder.events.open("a") as events:
        events.write('{"server":"writer","boot":2,"event":"answering","at_ns":999999999999}\n')


def no_start(folder: RunFolder) -> None:
    lines = folder.events.read_text().splitlines(keepends=True)
    folder.events.write_text("".join(line for line in lines if '"b2"' not in line))


def no_report(folder: RunFolder) -> None:
    lines = folder.events.read_text().splitlines(keepends=True)
    folder.events.write_text(
        "".join(line for line in lines if '"observer", "boot": 1, "event": "rec' not in line)
    )


def no_log(folder: RunFolder) -> None:
    (folder.server("b2") / "boot-1.log").unlink()


def no_copy(folder: RunFolder) -> None:
    with folder.events.open("a") as events:
        events.write('{"server":"b1","boot":2,"event":"started","at_ns":3}\n')


def no_steps(folder: RunFolder) -> None:
    folder.steps.write_text("")


def half_a_step(folder: RunFolder) -> None:
    """The disk was full in the middle of a line, and had room again for the next one."""
    with folder.steps.open("a") as lines:
        lines.write('{"step":"named","led\n{"step":"named","ledger":4,"name":"late","at_ns":9}\n')


def test_a_record_that_agrees_is_valid(tmp_path: Path) -> None:
    verdict = judged(tmp_path, lambda _: None)
    assert (verdict.verdict, verdict.damage) == (Verdict.VALID, ())


@pytest.mark.parametrize(
    ("doctored", "damage"),
    [
        (
            torn([20]),
            [
                "operations: writer boot 1 exited with 0, and 1 halves of its slots are torn",
                "operations: writer boot 1 reported 52 outcomes at its end, its files hold 51",
            ],
        ),
        (
            torn(range(SLOTS)),
            [
                "operations: writer boot 1 exited with 0, and 52 halves of its slots are torn",
                "operations: writer boot 1 reported 52 outcomes at its end, its files hold 0",
            ],
        ),
        (
            of_the_writer(last_add_without_end),
            ["operations: writer boot 1 reported 52 outcomes at its end, its files hold 51"],
        ),
        (
            no_report,
            ["histories: observer boot 1 exited with 0, and what it reported at its end is not recorded"],
        ),
        (no_log, ["servers: the log of b2 boot 1 is missing"]),
        (half_a_step, ["record: steps.jsonl line 3 is damaged"]),
        (no_steps, ["record: the plan has 1 step, 0 are recorded"]),
        (cut_behind(22), ["operations: writer boot 1 reported 52 slots at its end, its files hold 22"]),
        (second_boot, ["operations: no history of writer, boot 2"]),
        (no_start, ["servers: the start of b2 boot 1 is not recorded"]),
        (
            no_faults,
            [
                "faults: b1 boot 1 ended with signal 9, and the fault log does not say why",
                "faults: the plan injects `kill b1` 1 times, the fault log holds 0",
            ],
        ),
    ],
)
def test_a_part_that_went_before_the_evidence_was_closed_is_missed(
    tmp_path: Path, doctored: Doctor, damage: list[str]
) -> None:
    verdict = judged(tmp_path, doctored)
    assert verdict.verdict is Verdict.UNKNOWN
    assert list(verdict.damage) == damage


def test_a_copy_of_a_disk_that_went_is_missed(tmp_path: Path) -> None:
    """Only with a wire log anything rests on it."""
    verdict = judged(tmp_path, no_copy)
    assert list(verdict.damage) == ["holdings: the copy of the disk of b1 boot 1 is missing"]


def test_a_run_of_a_client_that_reported_nothing_is_judged_as_ever(tmp_path: Path) -> None:
    assert judged(tmp_path, lambda _: None, reported=False).verdict is Verdict.VALID
