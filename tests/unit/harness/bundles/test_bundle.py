"""A bundle has the run but no private information; omitted files are named; the seal stays correct."""

from __future__ import annotations

import base64
import getpass
import json
import os
import socket
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.collect.sealing import damage_to_seal
from evidence.folder import FoundRun, RunFolder, read_json, scratch_name
from evidence.recorders import ledger_names
from harness.bundles.reading import opened
from harness.bundles.writing import FACTS, README, write_bundle
from plans.models import Plan
from protocol.errors import EvidenceError
from reports.redaction import Redactor
from search.replay import Again
from tests.unit.reports.stored_run import stored_run

HOME = "/" + "home/mallory"  # in parts: no committed file holds such a path
LOG = """1 INFO Main - Using configuration file {confFile=%s/servers/b1/boot-1.conf}
2 INFO ZooKeeper - Client environment:user.name=mallory
3 INFO ZooKeeper - Client environment:host.name=build-7.example.org
4 INFO Main - mallory at build-7.example.org (10.1.2.3, fe80::1:2) reads /ledgers/00/0000/L0000 on 127.4.0.1
"""
LAST = f"5 INFO Main - {HOME}/.cache/x.jar at 12:30:45\n"


@pytest.fixture
def run(tmp_path: Path) -> FoundRun:
    found = stored_run(tmp_path / "results", modes=["protected"])
    folder = found.modes[0]
    host = {
        "system": "Linux",
        "kernel": "6.8.0",
        "cores": 2,
        "memory_bytes": 1 << 33,
        "java": "21.0.8",
        "root": True,
    }
    named = {"argv": ["run", f"{HOME}/plan.yaml"], "source": f"{HOME}/p.yaml", "host": host}
    folder.run_json.write_text(json.dumps(read_json(folder.run_json) | named))
    server = folder.server("b1")
    server.mkdir()
    (server / "boot-1.log").write_text(LOG % folder.path + LAST)
    (server / "data").mkdir()
    (server / "data" / "entries.log").write_bytes(b"\0" * 1000)
    folder.operations.joinpath("writer-001-000001.hist").write_bytes(bytes(range(256)) * 4000)
    folder.faults.write_text(json.dumps({"proof": {"image": f"{folder.path}/servers/b1/disks/a"}}) + "\n")
    folder.end_json.unlink()
    folder.write_end({"complete": True, "closed_ns": 9_000_000_000, "wire": {"path": f"{folder.raw}/frames"}})
    return found


def texts(bundle: Path) -> str:
    with zipfile.ZipFile(bundle) as archive:
        return "\n".join(archive.read(name).decode(errors="replace") for name in archive.namelist())


def test_no_host_user_path_or_environment_is_in_it(
    run: FoundRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "malvolio")  # some containers have users without a name
    bundle = write_bundle(run, tmp_path / "b.zip", full=False)
    result = texts(bundle.path)
    secrets = ["mallory", "example.org", "10.1.2.3", "fe80", "environment:u", str(tmp_path), "/home"]
    names = {socket.gethostname(), getpass.getuser()}
    assert [one for one in (*secrets, *names) if len(one) > 2 and one in result] == []
    assert "RUN/protected/servers/b1/boot-1.conf" in result
    assert "/ledgers/00/0000/L0000 on 127.4.0.1" in result
    assert "12:30:45" in result
    with zipfile.ZipFile(bundle.path) as archive:
        tree = json.loads(archive.read("protected/run.json"))
    assert (tree["argv"], tree["seed"]) == ([], 7)
    assert tree["host"] == {"kernel": "6.8.0", "cores": 2, "memory_bytes": 1 << 33, "java": "21.0.8"}


def test_what_is_in_it(run: FoundRun, tmp_path: Path) -> None:
    bundle = write_bundle(run, tmp_path / "b.zip", full=False)
    with zipfile.ZipFile(bundle.path) as archive:
        names = set(archive.namelist())
        readme = archive.read(README).decode()
        assert (readme.count("\n"), "commit" in readme) == (2, True)
    assert {README, FACTS, "report.html", "verdict.json"} <= names
    assert {f"protected/{name}" for name in ("run.json", "verdict.json", "servers/b1/boot-1.log")} <= names
    assert not [name for name in names if "/data/" in name or "/tables/" in name]
    full = write_bundle(run, tmp_path / "full.zip", full=True)
    with zipfile.ZipFile(full.path) as archive:
        assert "protected/servers/b1/data/entries.log" in archive.namelist()


def test_the_same_run_makes_the_same_bytes(run: FoundRun, tmp_path: Path) -> None:
    one, other = (
        write_bundle(run, tmp_path / name, full=False).path.read_bytes() for name in ("a.zip", "b.zip")
    )
    assert one == other


def test_redacted_evidence_still_fits_its_seal_and_the_original_sums_are_told(
    run: FoundRun, tmp_path: Path
) -> None:
    bundle = write_bundle(run, tmp_path / "b.zip", full=False)
    with opened(tmp_path / "elsewhere", str(bundle.path)) as found:
        folder = found.modes[0]
        assert damage_to_seal(folder, folder.end()) == {}
        assert ledger_names(folder) == {4: "main"}
        assert read_json(found.path / "verdict.json")["met"] is True
    assert {"protected/run.json", "protected/raw/faults/faults.jsonl"} <= bundle.redacted.keys()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_reader_removes_what_a_killed_one_unpacked(run: FoundRun, tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = scratch_name(".bundle-").replace(str(os.getpid()), str(ended.pid))
    (tmp_path / "elsewhere" / f"{left}x" / "run").mkdir(parents=True)
    bundle = write_bundle(run, tmp_path / "b.zip", full=False)
    with opened(tmp_path / "elsewhere", str(bundle.path)):
        assert len(list((tmp_path / "elsewhere").iterdir())) == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_redaction_does_not_heal_evidence_that_was_changed(run: FoundRun, tmp_path: Path) -> None:
    folder = run.modes[0]
    with folder.faults.open("a") as log:
        log.write(json.dumps({"more": str(folder.path)}) + "\n")
    bundle = write_bundle(run, tmp_path / "b.zip", full=False)
    with opened(tmp_path / "elsewhere", str(bundle.path)) as found:
        damage = damage_to_seal(found.modes[0], found.modes[0].end())
    assert list(damage.values()) == [
        "faults: faults.jsonl: it is not what it was when the evidence was closed"
    ]


def test_what_does_not_fit_is_left_out_by_name_and_missed_by_judging(run: FoundRun, tmp_path: Path) -> None:
    noise = run.modes[0].operations / "writer-001-000002.hist"
    noise.write_bytes(__import__("random").Random(1).randbytes(3_000_000))
    run.modes[0].end_json.unlink()
    run.modes[0].write_end({"complete": True, "closed_ns": 1})
    bundle = write_bundle(run, tmp_path / "b.zip", full=False, limit_bytes=1_000_000)
    assert list(bundle.left_out) == ["protected: clients' histories"]
    assert bundle.size_bytes < 1_000_000
    assert "left out" in texts(bundle.path)
    with opened(tmp_path / "elsewhere", str(bundle.path)) as found:
        damage = damage_to_seal(found.modes[0], found.modes[0].end())
    assert {path.name for path in damage} == {"writer-001-000001.hist", "writer-001-000002.hist"}


def test_a_bundle_that_lost_a_mode_is_not_opened_without_it(tmp_path: Path) -> None:
    write_bundle(stored_run(tmp_path / "results"), tmp_path / "whole.zip", full=False)
    with zipfile.ZipFile(tmp_path / "whole.zip") as whole, zipfile.ZipFile(tmp_path / "b.zip", "w") as less:
        for name in whole.namelist():
            if name != "unprotected/run.json":
                less.writestr(name, whole.read(name))
    with (
        pytest.raises(EvidenceError, match=r"lacks run\.json of the mode unprotected"),
        opened(tmp_path, str(tmp_path / "b.zip")),
    ):
        pass


def test_a_folder_is_opened_where_it_is(run: FoundRun, tmp_path: Path) -> None:
    with opened(tmp_path / "results", "bp46/truncation") as found:
        assert found.path == run.path


REDACTOR = Redactor(recorded=("/srv/fences/results/x",), names={"carthage": "HOST"}, tops=("srv", "home"))


def line(data: bytes) -> str:
    return json.dumps({"op": "create", "data": base64.b64encode(data).decode()}, separators=(",", ":"))


def inner(text: str) -> bytes:
    return base64.b64decode(json.loads(text)["data"])


def test_a_cookie_tells_no_path_and_no_host() -> None:
    cookie = (
        b'5\nbookieHost: "b1:3181"\njournalDir: "/srv/fences/results/x/b1"\nledgerDirs: "1\\t/home/me/d"\n'
    )
    clean = inner(REDACTOR.text(line(cookie + b"at carthage")))
    assert clean == b'5\nbookieHost: "b1:3181"\njournalDir: "RUN/b1"\nledgerDirs: "1\\tPATH"\nat HOST'


@given(st.binary(max_size=200))
def test_what_tells_nothing_stays_as_it_is(data: bytes) -> None:
    telling = any(word in data for word in (b"/", b"carthage", b":", b"environment")) or b"." in data
    if not telling:
        assert REDACTOR.text(line(data)) == line(data)
    json.loads(REDACTOR.text(line(data)))


def test_a_bundle_is_named_with_its_mode_and_a_folder_by_itself(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "protected")
    plan = Plan.model_construct()
    again = Again(folder, plan, 1, "protected", "4.18.0", frozenset(), measured=True)
    assert again.words == (str(folder.path),)
    bundled = replace(again, bundle=tmp_path / "b.zip")
    assert bundled.words == (str(tmp_path / "b.zip"), "--mode", "protected")
