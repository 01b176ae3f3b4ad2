"""The run folder: the description, evidence and verdict of one run of one mode.

``results/<scenario>/<UTC stamp>-<seed>/`` is a whole run, each mode that ran a folder in it.
Defines the paths and the two JSON files that frame a run (``run.json`` first, ``end.json`` last);
does not read the raw files and tables.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from evidence.seal import is_whole, sealed
from evidence.shapes import EndTree, RunTree
from protocol.addresses import is_under_test
from protocol.errors import EvidenceError, UsageError

LATEST = "latest"
DEFAULT_BACKEND = "local"
"""What ran the servers of a run whose ``run.json`` names no backend."""
FORMAT = 1
_RUN_NAME = re.compile(r"\d{8}T\d{6}Z(\.\d+)?-\d+")
_REPLACED_BY = {
    "run.json": "the mode cannot be judged without it: take it from a bundle, or remove the folder",
    "verdict.json": "`fencepost check` writes it again",
}
_RAW = ("operations", "faults", "servers", "ledgers", "steps")


@dataclass(init=False, unsafe_hash=True)
class RunFolder:
    """The paths of one mode's folder; ``path`` is that folder, and never changes."""

    path: Path

    def __init__(self, path: Path) -> None:
        raw = path / "raw"
        self.path, self.mode = path, path.name
        self.run_json = path / "run.json"  # what was going to happen; written once at the start
        self.raw = raw  # everything that was recorded, one folder for each table
        self.operations = raw / "operations"  # clients' histories, ``<client>-<boot>-<segment>.hist``
        self.faults = raw / "faults" / "faults.jsonl"  # planned, injected, confirmed, healed: a line each
        self.events = raw / "servers" / "events.jsonl"  # starts, exits and others of servers and clients
        self.frames = raw / "frames"  # the wire log; missing when no log was kept
        self.holdings = raw / "holdings"  # disks at unclean deaths; missing when nothing was copied
        self.transactions = raw / "ledgers" / "transactions.jsonl"  # ZooKeeper's, under ``/ledgers``
        self.steps = raw / "steps" / "steps.jsonl"  # the executed steps of the plan, the names of ledgers
        self.end_json = raw / "end.json"  # how it ended; written last, when the evidence is closed
        self.servers = path / "servers"  # one folder a server: logs, configuration, directories
        self.tables = path / "tables"  # the Parquet files that collection makes of ``raw``
        self.verdict_json = path / "verdict.json"  # the verdict with its judgements
        self.findings = path / "findings.parquet"  # all findings; missing where ``verdict.json`` has them all
        self.harness_log = path / "harness.log"  # the run's output, as the user saw it
        self.scratch = path / ".scratch"  # temporary, such as a copy judged while the run goes on

    @classmethod
    def create(cls, run: Path, mode: str) -> RunFolder:
        """Make a fresh folder for ``mode`` in the whole run's folder ``run``.

        Raises ``EvidenceError`` when it is there already: evidence is never written over.
        """
        folder = cls(run / mode)
        try:
            folder.path.mkdir(parents=True)
            for name in _RAW:
                (folder.raw / name).mkdir(parents=True)
            folder.servers.mkdir()
        except FileExistsError:
            raise EvidenceError(
                f"{folder.path} exists already", remedy="every run takes a new folder; name another"
            ) from None
        except OSError as error:
            raise _unwritable(folder.path, error) from error
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The existing folder of one mode; ``EvidenceError`` when ``path`` is no such folder."""
        folder = cls(path)
        if not path.is_dir():
            raise EvidenceError(f"{path} is no folder", remedy="`fencepost list runs` shows what there is")
        if not folder.run_json.is_file():
            raise EvidenceError(
                f"{path} has no run.json: it is not the folder of one mode",
                remedy="name the folder of one mode, for example results/latest/protected",
            )
        return folder

    def server(self, name: str) -> Path:
        """The folder of one server or client."""
        return self.servers / name

    def write_run(self, facts: Mapping[str, object]) -> None:
        """Write ``run.json``, once; a second time is an ``EvidenceError``."""
        _write_once(self.run_json, {"format": FORMAT, **facts})

    def write_end(self, facts: Mapping[str, object]) -> None:
        """Write ``end.json``, once, with the sums of all evidence: from here on it is closed."""
        try:
            tree = sealed(facts, self.path, [self.run_json, *self.raw_files(), *self.boot_logs()])
        except OSError as error:
            raise EvidenceError(f"cannot seal {self.raw}: {error}") from error
        _write_once(self.end_json, tree)

    def raw_files(self) -> list[Path]:
        """Everything recorded up to now, ``end.json`` not included; sorted."""
        return sorted(path for path in self.raw.rglob("*") if path.is_file() and path != self.end_json)

    def boot_logs(self) -> list[Path]:
        """The logs that are evidence, one for each boot of a bookie or of autorecovery; sorted."""
        logs = self.servers.glob("*/boot-*.log")
        return sorted(one for one in logs if is_under_test(one.parent.name))

    def run(self) -> RunTree:
        """The tree of ``run.json``; ``EvidenceError`` when missing, damaged or of another format."""
        tree: RunTree = read_json(self.run_json)
        if tree.get("format") != FORMAT:
            raise EvidenceError(
                f"{self.run_json} has format {tree.get('format')!r}, this version reads {FORMAT}",
                remedy="judge it with the version that recorded it (its commit is in run.json)",
            )
        return tree

    def end(self) -> EndTree | None:
        """The tree of ``end.json``, or None when the run never closed its evidence or it is damaged."""
        try:
            tree: EndTree = read_json(self.end_json)
        except EvidenceError:
            return None
        return tree if is_whole(tree) else None


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run that a user named: its whole folder, and the modes that were meant, by name."""

    path: Path
    modes: tuple[RunFolder, ...]

    def chosen(self, mode: str | None) -> tuple[RunFolder, ...]:
        """The folder of ``mode``, all folders for None; ``UsageError`` for a mode that is not here."""
        folders = tuple(folder for folder in self.modes if mode in (None, folder.mode))
        if not folders:
            raise UsageError(f"the run has no mode {mode!r}, only {self._names()}")
        return folders

    def one(self, mode: str | None) -> RunFolder:
        """The folder of ``mode``, the only one for None; ``UsageError`` where None could mean several."""
        folders = self.chosen(mode)
        if len(folders) > 1:
            raise UsageError(f"the run has the modes {self._names()}", remedy="choose one with --mode")
        return folders[0]

    def _names(self) -> str:
        return ", ".join(folder.mode for folder in self.modes)


def new_run(results: Path, scenario: str, seed: int, *, at: datetime | None = None) -> Path:
    """Make the folder of a whole run, ``results/<scenario>/<UTC stamp>-<seed>``, and return it.

    Two runs of one second and seed get different names. ``at`` is now unless given.
    """
    stamp = (at or datetime.now(UTC)).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    for attempt in range(1000):
        again = f".{attempt}" if attempt else ""
        path = results / scenario / f"{stamp}{again}-{seed}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise _unwritable(path, error) from error
        return path
    raise EvidenceError(f"{path} and all names like it are taken")


def point_latest(results: Path, run: Path) -> None:
    """Let ``results/latest`` be ``run``; readers see the old or the new one, never none."""
    link = results / LATEST
    fresh = results / f".{LATEST}-{os.getpid()}"
    try:
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(os.path.relpath(run, results), target_is_directory=True)
        fresh.replace(link)
    except OSError as error:
        raise _unwritable(link, error) from error


def remove_run(results: Path, run: Path) -> None:
    """Remove a whole run; where it was ``results/latest``, that is the newest one which is left, or goes."""
    link = results / LATEST
    was_latest = link.resolve() == run.resolve()
    shutil.rmtree(run)
    if not was_latest:
        return
    left = max(every_run(results), key=lambda path: path.name, default=None)
    if left is None:
        link.unlink()
    else:
        point_latest(results, left)


def scratch_name(prefix: str) -> str:
    """The name for a scratch folder of this process, or the beginning of one: ``<prefix><pid>@<host>@``."""
    return f"{prefix}{os.getpid()}@{os.uname().nodename}@"


def left_scratch(folder: Path, prefix: str) -> list[Path]:
    """The scratch folders (:func:`scratch_name`) of processes of this host that are gone; sorted.

    Other machines, or containers, may use the same results folder. Their processes cannot be seen here.
    """
    found = sorted(folder.glob(f"{prefix}*@{os.uname().nodename}@*"))
    owners = [left.name.removeprefix(prefix).partition("@")[0] for left in found]
    return [left for left, pid in zip(found, owners, strict=True) if not Path("/proc", pid).exists()]


def find_run(results: Path, reference: str = LATEST) -> FoundRun:
    """The run that ``reference`` names: ``latest``, a path, or a scenario (then its newest run).

    A path may be a whole run or one mode of it, and may be relative to ``results``. Raises
    ``UsageError`` when nothing fits.
    """
    places = [results / reference] if reference == LATEST else [Path(reference), results / reference]
    tried = dict.fromkeys(places)
    for place in tried:
        path = place.resolve()
        if not path.is_dir():
            continue
        if (path / "run.json").is_file():
            return FoundRun(path.parent, (RunFolder(path),))
        run = path if modes_of(path) else _newest_run(path)
        if run is not None:
            return FoundRun(run, modes_of(run))
    raise UsageError(
        f"no run found at {' or '.join(map(str, tried))}",
        remedy="`fencepost list runs` shows what there is; --results names another folder",
    )


def every_run(results: Path) -> list[Path]:
    """The folders of all whole runs below ``results``, those of campaigns included; sorted."""
    return sorted({mode.path.parent for mode in every_mode(results)})


def every_mode(results: Path) -> list[RunFolder]:
    """The folders of all modes of all runs below ``results``; sorted.

    Links (``latest``) are not followed, and no mode's own folders are looked into. Folders may come and go
    meanwhile.
    """
    found = []
    for place, folders, files in os.walk(results):
        if "run.json" in files:
            found.append(Path(place))
            folders.clear()
        folders[:] = [name for name in folders if not name.startswith(".")]
    return [RunFolder(path) for path in sorted(found)]


def modes_of(run: Path) -> tuple[RunFolder, ...]:
    """The modes that ran in a whole run's folder, sorted by name."""
    return tuple(RunFolder(found.parent) for found in sorted(run.glob("*/run.json")))


def write_json(path: Path, tree: Mapping[str, object]) -> None:
    """Write a tree (:func:`json_text`) whole or not at all; ``EvidenceError`` when the disk refuses."""
    write_text(path, json_text(tree))


def json_text(tree: Mapping[str, object]) -> str:
    """The tree as JSON, its keys sorted: the same tree gives the same bytes."""
    return json.dumps(tree, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a text as :func:`write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, synced to disk; ``EvidenceError`` when the disk refuses."""
    fresh = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def damaged(path: Path, why: str) -> EvidenceError:
    """The error for a damaged JSON file of a run or a campaign, with what replaces it."""
    return EvidenceError(f"{path} is damaged: {why}", remedy=_REPLACED_BY.get(path.name, ""))


class _Object(dict[str, Any]):
    """The object in a JSON file; a key that is read and missing is damage, ``EvidenceError``."""

    def __init__(self, path: Path, tree: Mapping[str, Any]) -> None:
        super().__init__(tree)
        self._path = path

    def __missing__(self, key: str) -> NoReturn:
        raise damaged(self._path, f"it has no `{key}`")


def read_json(path: Path) -> Any:
    """The object in a JSON file, whose shape the caller declares.

    ``EvidenceError`` when it is missing, damaged or no object, and for a missing key when that is read.
    """
    try:
        tree = json.loads(path.read_bytes())
    except OSError as error:
        raise EvidenceError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise damaged(path, f"{error}") from error
    if not isinstance(tree, dict):
        raise damaged(path, f"it holds a {type(tree).__name__}, not an object")
    return _Object(path, tree)


def _newest_run(scenario: Path) -> Path | None:
    runs = [path for path in scenario.iterdir() if _RUN_NAME.fullmatch(path.name) and modes_of(path)]
    return max(runs, key=lambda path: path.name, default=None)


def _write_once(path: Path, tree: Mapping[str, object]) -> None:
    if path.exists():
        raise EvidenceError(f"{path} is written already and never changes")
    write_json(path, tree)


def sync_folder(path: Path) -> None:
    """Put the names in a folder on the disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _unwritable(path: Path, error: OSError) -> EvidenceError:
    return EvidenceError(
        f"cannot write {path}: {error.strerror}",
        remedy="free space there or name another folder with --results",
    )
