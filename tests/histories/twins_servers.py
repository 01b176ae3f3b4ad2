"""``servers`` once more, in obvious lines over lists; shares nothing with the checker but the facts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from evidence.codes import NEVER
from tests.histories.twins import Things, TwinResult

HARMLESS = ("cut", "kill", "stop", "power_loss")


def servers(history: list[Any], run: Any) -> TwinResult:
    boots = _boots(run)
    if run.damage or any(_up(one) and _unread(one, boots, run) for one in boots):
        return Counter(), "unknown"
    found: Things = Counter()
    tried = 0
    metadata = [row for table, row in history if table == "ledgers"]
    frames = [row for table, row in history if table == "frames"] if run.wire else []
    for boot in boots:
        before = [one for one in boots if one["bookie"] == boot["bookie"] and one["number"] < boot["number"]]
        denials = _first(frames, boot)
        for rule in (_unclean, _clean, _unchecked, _available, _denied, _flag, _full, _stamp):
            for kind, ledger in rule(boot, before, denials, run):
                tried += 1
                found[kind, ledger, -1] += bool(kind)
        for rule in (_unmarked, _cleared, _lost):
            for kind, ledger in rule(boot, before, denials, run, metadata):
                tried += 1
                found[kind, ledger, -1] += bool(kind)
        for ledger in _uncopied(boot, frames, run, metadata):
            tried += 1
            found["denied_repaired", ledger, -1] += 1
    found = Counter({key: number for key, number in found.items() if key[0]})
    found["repair_ended", -1, -1] = len(_gone(run))
    found += Counter()  # without zeros
    if found:
        return found, "anomaly"
    return found, "valid" if tried else "unknown" if "servers" in run.required else "not judged"


def _boots(run: Any) -> list[dict[str, Any]]:
    boots = []
    started = {(row["server"], row["boot"]) for row in run.servers if row["event"] == "started"}
    for number in sorted(one for one in started if one[0] in run.bookies):
        rows = [row for row in run.servers if (row["server"], row["boot"]) == number]
        start = [row for row in rows if row["event"] == "started"]
        end = [row for row in rows if row["event"] == "exit"]
        boots.append(
            {
                "bookie": number[0],
                "number": number[1],
                "rows": sorted(rows, key=lambda row: (row["earliest_ns"], row["latest_ns"])),
                "names": {row["event"] for row in rows},
                "began": start[0]["earliest_ns"],
                "killed": bool(end) and json.loads(end[0]["detail"])["signal"] == 9,
                "ended": bool(end),
                "ends": end[0]["latest_ns"] if end else NEVER,
            }
        )
    return boots


def _gone(run: Any) -> list[Any]:
    """The ends of autorecovery with code 0 that nothing explains."""
    gone = []
    for end in run.servers:
        boot, how = (end["server"], end["boot"]), json.loads(end["detail"])
        if end["event"] != "exit" or boot[0][:2] != "ar" or (how["signal"], how["code"]) != (None, 0):
            continue
        mine = [row for row in run.servers if (row["server"], row["boot"]) == boot]
        lost = [row["earliest_ns"] for row in mine if row["event"] == "session_lost"]
        died = [row["latest_ns"] for row in mine if row["event"] == "worker_died"]
        defect = bool(died) and min(died) < min(lost, default=NEVER)
        near = False
        for fault in run.faults:
            of_it = "ar1" in fault["target"] or "zk1" in fault["target"]
            over = fault["healed_ns"] + (0 if fault["kind"] in ("stop", "kill") else 120 * 10**9)
            near |= of_it and NEVER != fault["injected_ns"] <= end["latest_ns"] <= over
        read = any(row["event"] == "log_read" for row in mine)
        earlier = [row for row in _exits(run, boot[0]) if row["boot"] < boot[1]]
        if len(earlier) >= run.may_end.get(boot[0], 0) and (defect or not (lost or near or not read)):
            gone.append(end)
    return gone


def _exits(run: Any, server: str) -> list[Any]:
    """The ends of a server with code 0."""
    ends = [row for row in run.servers if (row["server"], row["event"]) == (server, "exit")]
    return [end for end in ends if json.loads(end["detail"])["code"] == 0]


def _up(boot: dict[str, Any]) -> bool:
    return bool({"registered", "answering"} & boot["names"])


def _unread(boot: dict[str, Any], boots: list[dict[str, Any]], run: Any) -> bool:
    """Whether its log should have been read, and was not."""
    ours = [one for one in boots if one["bookie"] == boot["bookie"] and "log_read" in one["names"]]
    return "log_read" not in boot["names"] and (bool(ours) or boot["bookie"] in run.guarded)


def _of(boot: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    return [row for row in boot["rows"] if row["event"] in names]


def _ledger(row: dict[str, Any]) -> int:
    return int(json.loads(row["detail"])["ledgerId"])


def _available_ns(boot: dict[str, Any]) -> int:
    return min((row["latest_ns"] for row in _of(boot, "registered", "answering")), default=NEVER)


def _checking_ns(boot: dict[str, Any]) -> int:
    return max((row["earliest_ns"] for row in _of(boot, "preboot_start", "mark_limbo")), default=0)


def _changed(boot: dict[str, Any], run: Any, earlier: dict[str, Any]) -> bool:
    """Whether a fault may have changed the disk between the earlier boot's begin and this one's end."""
    for fault in run.faults:
        harmless = fault["kind"] in HARMLESS or fault["injected_ns"] == NEVER
        if harmless or (fault["target"] != boot["bookie"] and fault["target"] in run.bookies):
            continue
        over = fault["injected_ns"] if fault["kind"] == "wipe" else fault["healed_ns"]
        if fault["injected_ns"] <= boot["ends"] and over >= earlier["began"]:
            return True
    return False


def _touched(boot: dict[str, Any], run: Any, since: int, until: int) -> bool:
    """Whether a fault may have changed the disk between two times."""
    return _changed({**boot, "ends": until}, run, {**boot, "began": since})


def _suspects(boot: dict[str, Any], run: Any) -> bool:
    return boot["bookie"] in run.guarded and bool({"unclean_shutdown", "cookie_mismatch"} & boot["names"])


def _first(frames: list[Any], boot: dict[str, Any]) -> dict[int, Any]:
    """Ledger -> the first explicit negative of the boot to a read of an entry."""
    mine = [
        row
        for row in frames
        if f"b{row['bookie']}" == boot["bookie"]
        and row["boot"] == boot["number"]
        and row["kind"] in (READ, RECOVERY_READ)
        and row["entry"] >= 0
        and row["status"] in (402, 403)
    ]
    first: dict[int, Any] = {}
    for row in sorted(mine, key=lambda row: (row["received_ns"], row["asked_ns"])):
        first.setdefault(row["ledger"], row)
    return first


def _unclean(boot, before, denials, run):
    marked = None
    for one in reversed(before):
        if not one["killed"]:
            break
        if {"dirty_created", "dirty_kept"} & one["names"]:
            marked = one
            break
    if marked and not _changed(boot, run, marked) and {"dirty_created", "dirty_kept"} & boot["names"]:
        yield ("" if "unclean_shutdown" in boot["names"] else "unclean_unseen"), -1


def _clean(boot, before, denials, run):
    if not before or _changed(boot, run, before[-1]):
        return
    last = before[-1]
    up = {"dirty_created", "dirty_kept", "unclean_shutdown"} & boot["names"]
    if last["ended"] and not last["killed"] and "component_started" in last["names"] and up:
        yield ("clean_seen_unclean" if "unclean_shutdown" in boot["names"] else ""), -1


def _unchecked(boot, before, denials, run):
    if _suspects(boot, run) and _available_ns(boot) != NEVER:
        good = "preboot_start" in boot["names"]
        if "preboot_error" in boot["names"] and "preboot_end" not in boot["names"]:
            good = False
        yield ("" if good else "unchecked"), -1


def _available(boot, before, denials, run):
    if _suspects(boot, run) and _available_ns(boot) != NEVER and "preboot_start" in boot["names"]:
        yield ("available_unchecked" if _available_ns(boot) < _checking_ns(boot) else ""), -1


def _denied(boot, before, denials, run):
    if _suspects(boot, run) and "preboot_start" in boot["names"] and denials:
        early = [ledger for ledger, row in denials.items() if row["received_ns"] < _checking_ns(boot)]
        if not early:
            yield "", -1
        for ledger in early:
            yield "denied_unchecked", ledger


def _flag(boot, before, denials, run):
    cleared = _of(boot, "clear_integcheck_flag")
    if cleared:
        good = any(
            json.loads(row["detail"])["ledgersToRetry"] == 0 and row["earliest_ns"] <= cleared[0]["latest_ns"]
            for row in _of(boot, "full_check_end")
        )
        yield ("" if good else "flag_cleared_early"), -1


def _full(boot, before, denials, run):
    begun = _of(boot, "full_check_init", "full_check_start")
    if begun and "preboot_start" in boot["names"]:
        yield ("full_check_early" if begun[0]["latest_ns"] < _checking_ns(boot) else ""), -1


def _stamp(boot, before, denials, run):
    stamped = _of(boot, "cookie_stamped")
    if stamped and "cookie_mismatch" in boot["names"]:
        early = stamped[0]["latest_ns"] < _checking_ns(boot) or "preboot_end" not in boot["names"]
        yield ("stamped_unchecked" if early else ""), -1


def _uncopied(boot, frames, run, metadata):
    """The ledgers of which the boot denied an entry that its full check should have copied."""
    cleared, began = _of(boot, "clear_integcheck_flag"), _of(boot, "preboot_start")
    if not cleared:
        return
    marked = {_ledger(row) for row in _of(boot, "mark_limbo")}
    for ledger in sorted({row["ledger"] for row in metadata}):
        chain, whole, gone = _chain(metadata, ledger)
        closed = [row for row in chain if row["state"] == 3]
        by = min((row["latest_ns"] for row in closed), default=NEVER)
        before = began and by < began[0]["earliest_ns"] < gone
        last = max(row["latest_ns"] for row in cleared)
        if not whole or not by < cleared[0]["latest_ns"] < gone or not (ledger in marked or before):
            continue
        denials = [
            row
            for row in frames
            if row["ledger"] == ledger
            and (f"b{row['bookie']}", row["boot"]) == (boot["bookie"], boot["number"])
            and row["kind"] in (READ, RECOVERY_READ)
            and row["status"] in (402, 403)
            and row["asked_ns"] > last
            and all(
                0 <= row["entry"] <= version["last_entry"]
                and boot["bookie"] in {name.split(":")[0] for name in version["fragments"][0]["bookies"]}
                for version in closed
            )
        ]
        if denials:
            first = min(denials, key=lambda row: (row["received_ns"], row["asked_ns"]))
            touched = _touched(boot, run, cleared[0]["earliest_ns"], first["received_ns"])
            if not touched and first["received_ns"] < gone:
                yield ledger


def _chain(metadata, ledger):
    chain = sorted(
        (row for row in metadata if row["ledger"] == ledger and row["state"]), key=lambda row: row["version"]
    )
    whole = [row["version"] for row in chain] == list(range(len(chain))) and bool(chain)
    gone = [row["earliest_ns"] for row in metadata if row["ledger"] == ledger and not row["state"]]
    return chain, whole, min(gone, default=NEVER)


def _then(chain, since, until):
    for at, row in enumerate(chain):
        over = at + 1 < len(chain) and chain[at + 1]["latest_ns"] < since
        if row["earliest_ns"] <= until and not over:
            yield row


def _names(row, bookie):
    return f"{bookie}:3181" in row["fragments"][-1]["bookies"]


def _open_at(metadata, ledger, at):
    chain, whole, gone = _chain(metadata, ledger)
    closed = [row["earliest_ns"] for row in chain if row["state"] == 3]
    return whole and at < min(closed, default=NEVER) and at < gone


def _unmarked(boot, before, denials, run, metadata):
    starts, ends = _of(boot, "preboot_start"), _of(boot, "preboot_end")
    if not starts or not ends or boot["bookie"] not in run.guarded:
        return
    since, until = starts[0]["earliest_ns"], ends[0]["latest_ns"]
    for ledger in sorted({row["ledger"] for row in metadata}):
        chain, whole, gone = _chain(metadata, ledger)
        if not whole or chain[0]["latest_ns"] >= since or gone <= until:
            continue
        if all(row["state"] != 3 and _names(row, boot["bookie"]) for row in _then(chain, since, until)):
            marked = any(_ledger(row) == ledger for row in _of(boot, "mark_limbo"))
            yield ("", -1) if marked else ("unmarked", ledger)


def _marks(boot):
    marks: dict[int, Any] = {}
    for row in _of(boot, "mark_limbo"):
        marks.setdefault(_ledger(row), row)
    return marks


def _cleared(boot, before, denials, run, metadata):
    for ledger, mark in _marks(boot).items():
        signs = []
        copies = [row for row in _of(boot, "ledger_check_and_copy_start") if _ledger(row) == ledger]
        if copies and copies[0]["earliest_ns"] > mark["latest_ns"]:
            signs.append(copies[0]["latest_ns"])
        if ledger in denials and denials[ledger]["asked_ns"] > mark["latest_ns"]:
            signs.append(denials[ledger]["received_ns"])
        if signs:
            early = any(_open_at(metadata, ledger, at) for at in signs)
            yield ("cleared_unrecovered", ledger) if early else ("", -1)


def _lost(boot, before, denials, run, metadata):
    if not before or not before[-1]["killed"] or boot["bookie"] not in run.guarded:
        return
    if _changed(boot, run, before[-1]):
        return
    for ledger, mark in _marks(before[-1]).items():
        if _available_ns(boot) == NEVER or not _open_at(metadata, ledger, boot["began"]):
            continue
        denial = denials.get(ledger)
        if denial is None or not _open_at(metadata, ledger, denial["received_ns"]):
            yield "", -1
            continue
        then = _then(_chain(metadata, ledger)[0], mark["latest_ns"], denial["received_ns"])
        if all(_names(row, boot["bookie"]) for row in then):
            yield "protection_lost", ledger


READ, RECOVERY_READ = 5, 4
