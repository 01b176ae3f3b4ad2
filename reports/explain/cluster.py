"""What happened around a ledger, as lines: metadata, faults, boots of bookies, their disks, the census."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from evidence.codes import NEVER, Holding, Place
from evidence.schemas import CensusRow, FaultRow, HoldingRow, LedgerRow, ServerRow
from evidence.shapes import EventDetail
from protocol.addresses import name_of_id
from protocol.metadata import LedgerState
from protocol.wording import counted
from reports.explain.moments import METADATA, NEMESIS, Event, Moment, Tone
from reports.explain.rows import Names, fault_name

EVENTS = {
    "unclean_shutdown": "finds that its last end was unclean",
    "mark_limbo": "puts the ledger in limbo",
    "recover_limbo_ledger": "begins to recover the ledger from limbo",
    "full_check_start": "begins its full check",
    "full_check_end": "ends its full check",
    "clear_limbo_error": "cannot end the ledger's limbo",
    "clear_integcheck_flag": "needs no further check",
    "auditor_started": "is the auditor",
    "ledger_marked": "has the ledger marked as lacking copies",
    "ledger_unmarked": "has the ledger marked no longer",
    "repair_disabled": "lets no ledger be repaired",
    "repair_enabled": "lets ledgers be repaired again",
    "ledger_replicated": "has made the copies that the ledger lacked",
}
"""Events of servers that are shown: BP-46's steps at boot, and repair."""

_BOOT_STEPS = ("unclean_shutdown", "recover_limbo_ledger", "full_check_start")
_LIMBO = ("mark_limbo", "recover_limbo_ledger", "clear_limbo_error")
_READ, _UNREADABLE = "disk_read", "disk_unreadable"

_OF_STATE: Mapping[int, Tone] = {LedgerState.CLOSED: "good", LedgerState.IN_RECOVERY: "doubt"}
_OF_HOLDING: Mapping[int, Tone] = {Holding.PRESENT: "good", Holding.UNKNOWN: "doubt"}
BootKey = tuple[int, int]


def metadata_moments(versions: Iterable[LedgerRow], entry: int | None) -> Iterator[Moment]:
    """Each version of the ledger's metadata."""
    for row in versions:
        gone = "there is none" if row["put_back"] else "deleted"
        state = gone if row["state"] == 0 else LedgerState(row["state"]).name
        closed = row["state"] == LedgerState.CLOSED
        below = closed and entry is not None and row["last_entry"] < entry
        end = f" at {row['last_entry']}{', below this entry' if below else ''}" if closed else ""
        ensembles = "; ".join(
            f"from {fragment['first_entry']}: {' '.join(fragment['bookies'])}"
            for fragment in row["fragments"] or ()
        )
        text = f"version {row['version']}: {state}{end}" + (f" ({ensembles})" if ensembles else "")
        if row["put_back"]:
            text = f"put back by a fault to {text}" if row["state"] else f"put back by a fault: {state}"
        bad = below or (row["state"] == 0 and not row["put_back"])
        tone: Tone = "bad" if bad else _OF_STATE.get(row["state"], "plain")
        event = Event.CLOSED if closed else None
        names = {name_of_id(one) for fragment in row["fragments"] or () for one in fragment["bookies"]}
        moment = Moment(row["earliest_ns"], 0, METADATA, text, decides=True, tone=tone, event=event)
        yield replace(moment, targets=tuple(sorted(names)))


def faults_during(faults: Iterable[FaultRow], ledger: str, first_ns: int, until_ns: int) -> list[FaultRow]:
    """Faults in force at some time between the two that do not only hit another ledger's messages."""
    return [
        row
        for row in faults
        if row["injected_ns"] <= until_ns
        and (row["healed_ns"] == NEVER or row["healed_ns"] >= first_ns)
        and json.loads(row["params"]).get("ledger") in (None, ledger)
    ]


def fault_moments(faults: Iterable[FaultRow]) -> Iterator[Moment]:
    """The injection and the healing of each fault."""
    for row in faults:
        targets = tuple(re.split(r"[\s,>-]+", row["target"]))
        yield Moment(row["injected_ns"], 0, NEMESIS, fault_name(row), tone="fault", targets=targets)
        if row["healed_ns"] != NEVER:
            text = f"{fault_name(row)} healed{_acted(row)}"
            yield Moment(row["healed_ns"], 0, NEMESIS, text, event=Event.HEALED, targets=targets)


def _acted(fault: FaultRow) -> str:
    """How often a message fault's rule acted, as its healing found it."""
    acted = (json.loads(fault["proof"]).get("healed") or {}).get("acted")
    if acted is None:
        return ""
    return f", its rule acted on {counted(acted, 'message')}" if acted else ", its rule never acted"


def server_moments(
    servers: Iterable[ServerRow], names: Names, ledger: int, first_ns: int, until_ns: int
) -> Iterator[Moment]:
    """Boots of bookies, BP-46's steps at their boots, repair and admin commands, between two times."""
    numbers = {name: number for number, name in names.numbers.items()}
    for row in servers:
        detail: EventDetail = json.loads(row["detail"])
        if not first_ns <= row["latest_ns"] <= until_ns or detail.get("ledgerId") not in (None, ledger):
            continue
        text, who = _event(row, detail), row["server"]
        if text and (who in numbers or row["event"] in EVENTS):
            who = names.boot(numbers[who], row["boot"]) if who in numbers else who
            event = _of_boot(row["event"], detail)
            tone: Tone = "bad" if event is Event.KILLED else "doubt" if row["event"] in _LIMBO else "plain"
            yield Moment(row["latest_ns"], 0, who, text, tone=tone, event=event)


def _of_boot(name: str, detail: EventDetail) -> Event | None:
    if name == "exit":
        return Event.KILLED if detail.get("signal") else Event.ENDED
    return Event.BEGAN if name == "started" else Event.BOOTING if name in _BOOT_STEPS else None


def _event(row: ServerRow, detail: EventDetail) -> str:
    if row["event"] == "exit":
        how = f"signal {detail['signal']}" if detail.get("signal") else f"exit code {detail.get('code')}"
        return f"ends with {how}"
    if row["event"] == "started":
        return "begins" if row["boot"] > 1 else ""
    if row["event"] == "command":
        return " ".join(["runs", detail["command"], *([detail["target"]] if detail.get("target") else [])])
    missing = detail.get("missing") if row["event"] == "ledger_marked" else None
    return EVENTS.get(row["event"], "") + (f" of {', '.join(missing)}" if missing else "")


def census_moments(census: Iterable[CensusRow], names: Names, entry: int | None) -> Iterator[Moment]:
    """What each bookie said in each pass: about one entry, or how many entries of the ledger."""
    groups: dict[tuple[int, int, int], list[int]] = {}
    for row in census:
        if entry is None or row["entry"] == entry:
            key = row["pass_number"], row["bookie"], row["holding"]
            groups.setdefault(key, []).append(row["answered_ns"])
    for (number, bookie, holding), times in groups.items():
        many = "" if entry is not None else f"{counted(len(times), 'entry', 'entries')} "
        text = f"census {number}: {many}{Holding(holding).name.lower()}"
        who, tone = names.of_number(bookie), _OF_HOLDING.get(holding, "bad")
        yield Moment(max(times), 0, who, text, join=True, tone=tone, census_pass=number)


def disk_moments(
    servers: Iterable[ServerRow],
    holdings: Iterable[HoldingRow],
    names: Names,
    entry: int | None,
    until_ns: int,
    *,
    first_ns: int = 0,
) -> Iterator[Moment]:
    """A line for each disk that was copied between two times; ``holdings`` are rows of one ledger."""
    servers = list(servers)
    bookies = {name: number for number, name in names.numbers.items()}
    held = _held(holdings, entry)
    ends = {(row["server"], row["boot"]): row["latest_ns"] for row in servers if row["event"] == "exit"}
    for row in servers:
        boot = bookies.get(row["server"], 0), row["boot"]
        at_ns = row["latest_ns"] or ends.get((row["server"], row["boot"]), 0)
        if row["event"] in (_READ, _UNREADABLE) and first_ns <= at_ns <= until_ns:
            yield _disk(at_ns, names.boot(*boot), row, held.get(boot, {}), entry)


def _held(holdings: Iterable[HoldingRow], entry: int | None) -> dict[BootKey, dict[Place, int]]:
    """Boot -> how many entries (of all, or of the one) each place of its disk held."""
    found: dict[BootKey, dict[Place, int]] = {}
    for row in holdings:
        if entry is None or row["entry"] <= entry <= row["last"]:
            places = found.setdefault((row["bookie"], row["boot"]), {})
            place = Place(row["place"])
            places[place] = places.get(place, 0) + row["last"] - row["entry"] + 1
    return found


def _disk(at_ns: int, who: str, row: ServerRow, places: Mapping[Place, int], entry: int | None) -> Moment:
    if row["event"] == _UNREADABLE:
        text = f"what its disk held is not known: {json.loads(row['detail']).get('why')}"
        return Moment(at_ns, 0, who, text, tone="doubt")
    if not places:
        text = "its disk held nothing of it" if entry is None else "its disk did not hold it"
        event = Event.BOOTING if entry is None else Event.LACKED
        return Moment(at_ns, 0, who, text, tone="bad", event=event)
    held = [(counted(places[place], "entry", "entries"), place.name.lower()) for place in sorted(places)]
    if entry is not None:
        text = f"its disk held it ({' and '.join(where for _, where in held)})"
        return Moment(at_ns, 0, who, text, tone="good", event=Event.BOOTING)
    text = f"its disk held {' and '.join(f'{number} in the {where}' for number, where in held)}"
    return Moment(at_ns, 0, who, text, event=Event.BOOTING)
