"""What happened around the operations, over time: steps, faults, boots of servers, lives of ledgers.

Lanes of bars and marks for the page's timeline. Times are seconds since the run began; an open end is None.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow.compute as pc

from evidence.codes import NEVER, Direction
from evidence.recorders import ledger_name, read_lines
from evidence.schemas import FaultRow, FrameRow, LedgerRow, ServerRow
from evidence.shapes import StepLine
from protocol.faults import UNPLANNED
from protocol.metadata import LedgerState
from reports.explain.cluster import EVENTS
from reports.explain.rows import Names, Tables, fault_name
from reports.explain.wire import DECIDING, frame_moments
from reports.page.stored import StoredMode

MOST_LEDGERS = 40
MOST_FAULTS = 400
MOST_STEPS = 400
MOST_MARKS = 1500

Clock = Callable[[int | None], float | None]
"""From the run's clock to seconds since the run began; None for no time."""
Bar = list[float | str | None]
"""``[from, to or None, class, label, detail]``; a mark has ``from`` alone."""


def timeline(mode: StoredMode) -> dict[str, object]:
    """The tree of all lanes; ``acted`` is the part of the run with steps, ``shown`` what is in view first.

    In a run of several rounds that is the round of the most serious finding: faults of other rounds are
    outside the life of its ledger.
    """
    clock = partial(_seconds, mode.began_ns)
    steps: list[StepLine] = [one for one in read_lines(mode.folder.steps).records if "began_ns" in one]
    servers = mode.rows(ServerRow)
    end = mode.folder.end() or {}
    last_s = clock(end.get("closed_ns")) or max((clock(row["latest_ns"]) or 0 for row in servers), default=1)
    flagged = [finding.ledger for finding in mode.findings if finding.ledger >= 0]
    own_round = mode.round_of(flagged[0]) if flagged else None
    ledgers = mode.rows(LedgerRow)
    faults = sorted(mode.rows(FaultRow), key=lambda row: row["planned_ns"])
    acted = [clock(steps[0]["began_ns"]) or 0 if steps else 0, last_s]
    return {
        "end": last_s,
        "acted": acted,
        "shown": [clock(at_ns) for at_ns in own_round] if own_round else acted,
        "steps": [_step(one, clock) for one in steps[:MOST_STEPS]],
        "faults": [_fault(row, clock) for row in faults[:MOST_FAULTS]],
        "servers": _boots(servers, clock, [*mode.run["bookies"], *mode.run["clients"]]),
        "ledgers": _ledger_bars(ledgers, clock, mode.ledgers, _answers(mode, clock, set(flagged))),
        "hidden": {
            "steps": max(0, len(steps) - MOST_STEPS),
            "faults": max(0, len(faults) - MOST_FAULTS),
            "ledgers": max(0, len({row["ledger"] for row in ledgers}) - MOST_LEDGERS),
        },
    }


def _seconds(began_ns: int, at_ns: int | None) -> float | None:
    return None if at_ns is None or at_ns in (NEVER, 0) else round((at_ns - began_ns) / 1e9, 6)


def _step(one: StepLine, clock: Clock) -> Bar:
    """A step that could not run has an error where others have an outcome and a text."""
    outcome, text = one.get("outcome"), one.get("error") or one.get("text", "")
    kind = "step" if outcome and one["planned"] in (outcome, "any") else "step odd"
    return [clock(one["began_ns"]), clock(one["ended_ns"]), kind, one["step"], str(text)]


def _fault(row: FaultRow, clock: Clock) -> Bar:
    """From its injection to its healing; from its planning if it never took effect."""
    began = row["injected_ns"] if row["injected_ns"] != NEVER else row["confirmed_ns"]
    unsure = row["confirmed_ns"] == NEVER
    kind = "fault unplanned" if row["kind"] == UNPLANNED else "fault unsure" if unsure else "fault"
    at_s = clock(began if began != NEVER else row["planned_ns"])
    doubt = ", never confirmed" if unsure else ""
    return [at_s, clock(row["healed_ns"]), kind, f"{row['kind']} {row['target']}", fault_name(row) + doubt]


def _boots(servers: Sequence[ServerRow], clock: Clock, shown: Collection[str]) -> list[dict[str, object]]:
    """A lane for each server and client: one bar a boot, and marks for what it said of itself."""
    names = dict.fromkeys(row["server"] for row in servers)
    lanes: list[dict[str, object]] = []
    left = MOST_MARKS
    for name in sorted(
        names, key=lambda one: (one not in shown, list(shown).index(one) if one in shown else 0)
    ):
        rows = [row for row in servers if row["server"] == name]
        marks = list(_marks(rows, clock))[:left]
        left -= len(marks)
        lanes.append({"name": name, "bars": list(_boot_bars(rows, clock)), "marks": marks})
    return lanes


def _boot_bars(rows: Sequence[ServerRow], clock: Clock) -> Iterator[Bar]:
    for boot in dict.fromkeys(row["boot"] for row in rows):
        of_boot = [row for row in rows if row["boot"] == boot]
        times = {row["event"]: row["latest_ns"] for row in of_boot}
        if "started" not in times:
            continue
        ready, ended = clock(times.get("answering")), clock(times.get("exit"))
        began = clock(times["started"])
        how = next((_ending(row) for row in of_boot if row["event"] == "exit"), "")
        label = f"boot {boot}"
        if ready is not None:
            text = f"{label} starts, ready after {ready - (began or 0):.2f} s"
            yield [began, ready, "boot starting", "", text]
        yield [ready or began, ended, "boot", label, label + how]


def _ending(row: ServerRow) -> str:
    detail = json.loads(row["detail"])
    return (
        f", ends with signal {detail['signal']}" if detail.get("signal") else f", exit {detail.get('code')}"
    )


def _marks(rows: Iterable[ServerRow], clock: Clock) -> Iterator[Bar]:
    for row in rows:
        if row["event"] == "exit" and json.loads(row["detail"]).get("signal") == 9:
            yield [clock(row["latest_ns"]), None, "mark death", "", f"boot {row['boot']} ends with signal 9"]
        elif row["event"] in EVENTS:
            text = f"boot {row['boot']} {EVENTS[row['event']]}"
            yield [clock(row["latest_ns"]), None, "mark", "", text]


def _answers(tables: Tables, clock: Clock, flagged: Collection[int]) -> dict[int, list[Bar]]:
    """Ledger with a finding -> marks for the answers on which its recoveries decided."""
    marks: dict[int, list[Bar]] = {ledger: [] for ledger in flagged}
    if not flagged:
        return marks
    names = Names.of(tables.run, tables.rows(ServerRow), tables.rows(FaultRow))
    deciding = pc.field("ledger").isin(list(flagged)) & pc.field("kind").isin(DECIDING)
    rows = tables.rows(FrameRow, deciding & (pc.field("way") == Direction.ANSWER))
    for row in sorted(rows, key=lambda row: (row["received_ns"], row["seq"]))[:MOST_MARKS]:
        (moment,) = frame_moments([row], names, None)
        text = f"{moment.subject}: {moment.what}"
        marks[row["ledger"]].append([clock(row["received_ns"]), None, "mark", "", text])
    return marks


def _ledger_bars(
    versions: Sequence[LedgerRow], clock: Clock, names: Mapping[int, str], flagged: Mapping[int, list[Bar]]
) -> list[dict[str, object]]:
    """A lane for each ledger, those with findings first, in the order of their numbers; with their marks."""
    groups: dict[int, list[LedgerRow]] = {}
    for row in versions:
        groups.setdefault(row["ledger"], []).append(row)
    chosen = sorted(sorted(groups, key=lambda one: (one not in flagged, one))[:MOST_LEDGERS])
    return [
        {
            "name": ledger_name(names, ledger),
            "flagged": ledger in flagged,
            "bars": list(_states(sorted(groups[ledger], key=lambda row: row["earliest_ns"]), clock)),
            "marks": flagged.get(ledger, []),
        }
        for ledger in chosen
    ]


def _states(rows: Sequence[LedgerRow], clock: Clock) -> Iterator[Bar]:
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        if row["state"] == 0:
            continue
        state = LedgerState(row["state"])
        name = state.name.lower()
        label = f"closed at {row['last_entry']}" if state is LedgerState.CLOSED else name.replace("_", " ")
        until = clock(following["earliest_ns"]) if following else None
        detail = f"version {row['version']}: {label}"
        yield [clock(row["earliest_ns"]), until, f"ledger {name}", label, detail]
